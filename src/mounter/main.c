/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * localiofs-mounter: mounts, and hands the FUSE descriptor to a daemon that has no privilege (handover/handover.h).
 *
 * Without --stay it ends after the handover. With --stay it waits for the daemon's end, unmounts, and mounts anew for
 * the next daemon; SIGTERM unmounts and ends it. Until a daemon has the descriptor, all accesses to the mount wait.
 */
#include <cap-ng.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/text.h"
#include "handover/handover.h"
#include "mount/mount_spec.h"
#include "mount/options.h"
#include "mounter/fuse_mount.h"
#include "table/id_map.h"

#define TIMEOUT_S 120

enum exit_code { /* mount(8), EXIT STATUS */
	EXIT_OK = 0,
	EXIT_USAGE = 1,
	EXIT_FAIL = 32,
};

struct mounter {
	struct fuse_mount_options mount;
	struct mount_options options;
	const char *socket;
	unsigned timeout_s; /* 0: wait for ever */
	bool stay;
	int signals; /* signalfd(2) of SIGTERM, SIGINT and SIGHUP */
};

static void usage(void)
{
	(void)printf("usage: localiofs-mounter --socket=PATH [SWITCH...] SERVER:/EXPORT DIR\n"
		     "       localiofs-mounter --help | --version\n\n"
		     "  --socket=PATH      wait there for the daemon\n"
		     "  --uid=UID          the daemon's uid; no other user gets the descriptor (default: 0)\n"
		     "  --gid=GID          the daemon's gid (default: the same number)\n"
		     "  --timeout=SECONDS  unmount when no daemon has come for so long; 0 waits for ever (default: "
		     "%d)\n"
		     "  --stay             unmount at the daemon's end, and mount anew for the next one\n"
		     "  -o OPTIONS         mount options; only those of the kernel's mount have an effect (ro, noexec "
		     "...)\n",
		TIMEOUT_S);
}

static int take_number(const char *name, const char *text, uint64_t max, uint64_t *ret)
{
	if (parse_u64(text, 0, max, ret) < 0)
		return log_error_as(EXIT_USAGE, "--%s=" SHORT ": expected a number from 0 to %llu", name,
			SHORTEN(text, 80), (unsigned long long)max);
	return EXIT_OK;
}

struct numbers {
	uint64_t uid, gid, timeout;
	bool has_gid;
};

static int take_switch(struct mounter *m, struct numbers *n, int opt, const char *word)
{
	char sentence[512];

	switch (opt) {
	case 's':
		m->socket = optarg;
		return EXIT_OK;
	case 'u':
		return take_number("uid", optarg, UINT32_MAX - 1, &n->uid);
	case 'g':
		n->has_gid = true;
		return take_number("gid", optarg, UINT32_MAX - 1, &n->gid);
	case 't':
		return take_number("timeout", optarg, 86400, &n->timeout);
	case 'S':
		m->stay = true;
		return EXIT_OK;
	case 'o':
		return options_parse(&m->options, optarg, false, sentence, sizeof(sentence)) < 0
			       ? log_error_as(EXIT_USAGE, "%s", sentence)
			       : EXIT_OK;
	case 'h':
		usage();
		exit(EXIT_OK);
	case 'V':
		(void)printf(
			"localiofs-mounter " LOCALIOFS_VERSION "\nlibcap-ng " BUILT_WITH_LIBCAP_NG " (when built)\n");
		exit(EXIT_OK);
	case ':':
		return log_error_as(EXIT_USAGE, SHORT ": a value is missing", SHORTEN(word, 80));
	default:
		return log_error_as(EXIT_USAGE, SHORT " is no switch; localiofs-mounter --help lists all",
			SHORTEN(word, 80));
	}
}

static int parse(struct mounter *m, int argc, char **argv)
{
	static const struct option switches[] = {{"socket", required_argument, NULL, 's'},
		{"uid", required_argument, NULL, 'u'}, {"gid", required_argument, NULL, 'g'},
		{"timeout", required_argument, NULL, 't'}, {"stay", no_argument, NULL, 'S'},
		{"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'}, {0}};
	struct numbers n = {.timeout = TIMEOUT_S};
	struct mount_spec spec;
	char sentence[512];
	int opt, r = EXIT_OK;

	opterr = 0;
	options_init(&m->options);
	for (int at = optind; r == EXIT_OK && (opt = getopt_long(argc, argv, ":o:hV", switches, NULL)) != -1;
		at = optind)
		r = take_switch(m, &n, opt, argv[at]);
	if (r != EXIT_OK)
		return r;
	if (!m->socket)
		return log_error_as(EXIT_USAGE, "no --socket=PATH was given, where the daemon gets the descriptor");
	if (argc - optind != 2)
		return log_error_as(EXIT_USAGE, "%d arguments; expected SERVER:/EXPORT and a directory", argc - optind);
	if (mount_spec_parse(argv[optind], &spec, sentence, sizeof(sentence)) < 0)
		return log_error_as(EXIT_USAGE, "%s", sentence);
	if (n.uid == id_map_overflow_uid())
		return log_error_as(EXIT_USAGE,
			"--uid=%u: is also the uid of all users that this user namespace does not map; expected "
			"another user",
			(unsigned)n.uid);
	m->timeout_s = (unsigned)n.timeout;
	m->mount = (struct fuse_mount_options){.source = argv[optind],
		.directory = argv[optind + 1],
		.uid = (uid_t)n.uid,
		.gid = (gid_t)(n.has_gid ? n.gid : n.uid),
		.flags = options_mount_flags(&m->options)};
	return EXIT_OK;
}

/* Waits until the daemon closes its end. Returns -ECANCELED for a signal. */
static int wait_for_end(const struct mounter *m, int connection)
{
	struct pollfd p[2] = {{.fd = connection, .events = POLLIN}, {.fd = m->signals, .events = POLLIN}};
	char ignored[64];

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (p[1].revents)
			return -ECANCELED;
		if (p[0].revents && recv(connection, ignored, sizeof(ignored), MSG_DONTWAIT) <= 0)
			return 0;
	}
}

/* Mounts once. *ret_mount stays mounted after a success. */
static int serve_once(const struct mounter *m, int listener, char *sentence, size_t size)
{
	struct fuse_mount mount = FUSE_MOUNT_NONE;
	int r = fuse_mount(&m->mount, &mount, sentence, size);
	int connection;

	if (r < 0)
		return r;
	log_info_limited("%s is mounted on %s and waits for a daemon of uid %u at %s", m->mount.source,
		m->mount.directory, (unsigned)m->mount.uid, m->socket);
	connection = handover_give(listener, mount.fuse_fd, m->mount.uid,
		m->timeout_s == 0 ? -1 : (int)m->timeout_s * 1000, m->signals, sentence, size);
	if (connection < 0) {
		fuse_mount_end(&mount);
		return connection;
	}
	/* With a copy of the descriptor here, accesses to the mount of a dead daemon would wait for ever. */
	mount.fuse_fd = close_fd(mount.fuse_fd);
	log_info_limited("the daemon has the descriptor of %s", m->mount.directory);
	if (!m->stay) {
		(void)close_fd(connection);
		(void)close_fd(mount.mount_fd);
		return 0;
	}
	r = wait_for_end(m, connection);
	(void)close_fd(connection);
	fuse_mount_end(&mount);
	if (r == 0)
		log_info_limited("the daemon of %s has ended", m->mount.directory);
	return r;
}

/* Mounting needs CAP_SYS_ADMIN, and the path to the directory and the socket may need the DAC capabilities. */
static void drop_privileges(void)
{
	(void)!capng_get_caps_process(); /* cannot fail for the process itself */
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (cap != CAP_SYS_ADMIN && cap != CAP_DAC_OVERRIDE && cap != CAP_DAC_READ_SEARCH)
			(void)capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE, cap);
	(void)!capng_apply(CAPNG_SELECT_CAPS);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int main(int argc, char **argv)
{
	static struct mounter m;
	char sentence[512] = "";
	sigset_t signals;
	int listener, r;

	log_open("localiofs-mounter");
	r = parse(&m, argc, argv);
	if (r != EXIT_OK)
		return r;
	drop_privileges();
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	m.signals = signalfd(-1, &signals, SFD_CLOEXEC);
	if (m.signals < 0) {
		log_error("signalfd: %s", strerror(errno));
		return EXIT_FAIL;
	}
	m.mount.directory_fd = fuse_mount_open_directory(m.mount.directory, sentence, sizeof(sentence));
	if (m.mount.directory_fd < 0) {
		log_error("%s", sentence);
		return EXIT_FAIL;
	}
	listener = handover_listen(m.socket, sentence, sizeof(sentence));
	if (listener < 0) {
		log_error("%s", sentence);
		return EXIT_FAIL;
	}
	do
		r = serve_once(&m, listener, sentence, sizeof(sentence));
	while (r == 0 && m.stay);
	handover_end(listener, m.socket);
	if (r == -ECANCELED && m.stay)
		return EXIT_OK;
	if (r < 0)
		log_error("%s; nothing is mounted", sentence[0] ? sentence : strerror(-r));
	return r < 0 ? EXIT_FAIL : EXIT_OK;
}
