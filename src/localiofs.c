/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * localiofs and mount.localiofs: one program under two calling conventions.
 *
 *	localiofs SPEC DIR [-o OPTIONS] [-f]            returns when the mount answers; -f stays
 *	mount.localiofs SPEC DIR [-sfnv] [-o OPTIONS]   mount(8)'s contract; -f pretends
 *
 * The mount lives in a child process. The parent returns 0 when the kernel accepted the mount and
 * its requests are answered, or an exit code of mount(8) after the child said why not.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fuse/session.h"
#include "log.h"
#include "options.h"

/* mount(8), EXIT STATUS. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_USAGE = 1,
	EXIT_SYSTEM = 2,
	EXIT_FAIL = 32,
};

#define MAX_OPTION_LISTS 64 /* -o on one command line */

struct command {
	bool helper; /* called as mount.localiofs */
	bool foreground, fake, sloppy, debug;
	const char *spec_text;
	char directory[4096];
	struct mount_spec spec;
	struct mount_options options;
};

static void usage(FILE *to, const struct command *c)
{
	if (c->helper)
		(void)fprintf(to, "usage: mount.localiofs SERVER:/EXPORT DIR [-sfnv] [-o OPTION[,OPTION...]]\n");
	else
		(void)fprintf(to, "usage: localiofs SERVER:/EXPORT DIR [-o OPTION[,OPTION...]] [-f] [-d]\n"
				  "       localiofs --help | --version\n\n"
				  "  -f, --foreground  stay in the foreground, log to stderr\n"
				  "  -d, --debug       like -f, and log what happens\n");
	(void)fprintf(to, "\noptions:\n");
	options_usage(to);
}

static int wrong(const char *sentence)
{
	log_error("%s", sentence);
	return EXIT_USAGE;
}

static int parse_arguments(struct command *c, int argc, char **argv)
{
	static const struct option direct[] = {{"foreground", no_argument, NULL, 'f'},
		{"debug", no_argument, NULL, 'd'}, {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'}, {"options", required_argument, NULL, 'o'}, {0}};
	const char *words[2] = {NULL, NULL}, *lists[MAX_OPTION_LISTS];
	char sentence[512];
	int n = 0, nlists = 0, opt;

	while ((opt = getopt_long(argc, argv, c->helper ? "-o:sfnvt:N:hV" : "-o:fdhV", direct, NULL)) != -1) {
		switch (opt) {
		case 1: /* a word between the options: mount(8) puts them first */
			if (n == 2)
				return wrong("more than a server's export and a directory was given");
			words[n++] = optarg;
			break;
		case 'o':
			if (nlists == MAX_OPTION_LISTS)
				return wrong("-o was given too often; one list with commas does it");
			lists[nlists++] = optarg;
			break;
		case 'f':
			c->fake = c->helper;
			c->foreground = !c->helper;
			break;
		case 'd':
			c->foreground = true;
			c->debug = true;
			break;
		case 's':
			c->sloppy = true;
			break;
		case 'v': /* what there is to say is said */
		case 'n': /* no mtab is written anyway */
		case 't': /* the type mount(8) was asked for */
			break;
		case 'N':
			return wrong("-N: mounting in another namespace is done by mount(8) itself or nsenter(1)");
		case 'h':
			usage(stdout, c);
			exit(EXIT_OK);
		case 'V':
			(void)printf("localiofs %s\n", LOCALIOFS_VERSION);
			exit(EXIT_OK);
		default:
			usage(stderr, c);
			return EXIT_USAGE;
		}
	}
	/* Now that -s is known, wherever it stood. */
	options_init(&c->options);
	c->options.debug = c->debug;
	for (int i = 0; i < nlists; i++)
		if (options_parse(&c->options, lists[i], c->sloppy, sentence, sizeof(sentence)) < 0)
			return wrong(sentence);
	for (; optind < argc && n < 2; optind++)
		words[n++] = argv[optind];
	if (n < 2) {
		usage(stderr, c);
		return EXIT_USAGE;
	}
	if (optind < argc)
		return wrong("more than a server's export and a directory was given");
	c->spec_text = words[0];
	if (spec_parse(words[0], &c->spec, sentence, sizeof(sentence)) < 0)
		return wrong(sentence);
	if (!realpath(words[1], c->directory)) {
		log_error("mount point %s: %s", words[1], strerror(errno));
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

static int check_directory(const struct command *c)
{
	struct stat st;

	if (stat(c->directory, &st) == 0 && !S_ISDIR(st.st_mode)) {
		log_error("mount point %s is not a directory", c->directory);
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

/* How the child reports to the parent: the write end of a pipe, -1 in the foreground. */
struct reporter {
	int fd;
	bool done;
};

static void mount_is_ready(void *arg)
{
	struct reporter *reporter = arg;
	char ok = EXIT_OK;
	int null;

	reporter->done = true;
	if (reporter->fd < 0)
		return;
	(void)!write(reporter->fd, &ok, 1);
	reporter->fd = close_fd(reporter->fd);
	/* From here on a daemon: nothing of the caller's is kept open or busy. */
	log_to_syslog(true);
	log_close_stderr();
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		(void)dup2(null, fd);
	if (null > 2)
		(void)close(null);
	(void)!chdir("/");
}

static int run_mount(const struct command *c, struct reporter *reporter)
{
	char sentence[1024] = "";
	struct session_options options = {.mount = &c->options,
		.spec = &c->spec,
		.spec_text = c->spec_text,
		.directory = c->directory,
		.ready = mount_is_ready,
		.arg = reporter};
	int r = session_run(&options, sentence, sizeof(sentence));

	if (r < 0)
		log_error("%s", sentence[0] ? sentence : strerror(-r));
	return r < 0 ? EXIT_FAIL : EXIT_OK;
}

/* The parent's part: the child's byte, or its exit code when it ends without one. */
static int wait_for_child(pid_t child, int fd)
{
	char code;
	ssize_t n;
	int status;

	do
		n = read(fd, &code, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return code;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_SYSTEM;
	if (WIFEXITED(status) && WEXITSTATUS(status) != EXIT_OK)
		return WEXITSTATUS(status);
	log_error("the daemon ended before the mount was ready");
	return EXIT_SYSTEM;
}

static int run_in_background(const struct command *c)
{
	int fds[2], r;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0 || (child = fork()) < 0) {
		log_error("cannot start the daemon: %s", strerror(errno));
		return EXIT_SYSTEM;
	}
	if (child == 0) {
		struct reporter reporter = {.fd = fds[1]};

		(void)close(fds[0]);
		(void)setsid();
		exit(run_mount(c, &reporter));
	}
	(void)close(fds[1]);
	r = wait_for_child(child, fds[0]);
	(void)close(fds[0]);
	return r;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];
	static struct command c;
	int r;

	/* Whoever starts us may have closed them; mount_is_ready() replaces 0 to 2. */
	do
		r = open("/dev/null", O_RDWR);
	while (r >= 0 && r <= 2);
	(void)close(r);
	c.helper = strncmp(name, "mount.", 6) == 0;
	log_open(c.helper ? "mount.localiofs" : "localiofs");
	/* libnfs writes to sockets whose peer may be gone. */
	(void)signal(SIGPIPE, SIG_IGN);
	r = parse_arguments(&c, argc, argv);
	if (r == EXIT_OK)
		r = check_directory(&c);
	if (r != EXIT_OK || c.fake)
		return r;
	log_set_debug(c.options.debug);
	if (c.foreground) {
		struct reporter reporter = {.fd = -1};

		return run_mount(&c, &reporter);
	}
	return run_in_background(&c);
}
