/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * localiofs-sidecar: runs beside an NFS server, sees the server's files, reads its exports, and gives the localiofs
 * daemons on the same host access to the files without the network.
 *
 * The main thread owns signals, the configuration and the broker's list of sessions. The other threads are the RPC
 * thread (rpc_server), the thread for host names (name_thread), and one thread per session (session). A session has up
 * to four more threads for fsync and so on (file_jobs), which start with the first such request.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/log.h"
#include "sidecar/broker/broker.h"
#include "sidecar/control/control.h"
#include "sidecar/control/view_metrics.h"
#include "sidecar/exports/exports_watch.h"
#include "sidecar/host/name_thread.h"
#include "sidecar/notify.h"
#include "sidecar/notices/notices.h"
#include "sidecar/registry_watch.h"
#include "sidecar/registry/registry_make.h"
#include "sidecar/probes/rpc_server.h"
#include "sidecar/server_kinds.h"
#include "sidecar/session/session.h"
#include "sidecar/sidecar_options.h"
#include "sidecar/backing/thread_cred.h"
#include "base/util.h"

#define FILES_WANTED 65536U

struct sidecar {
	struct export_store exports;
	struct exports_watch watch;
	struct registry_watch registries;
	struct account account; /* of all registries */
	struct counters counters;
	struct notices *notices; /* NULL: there are none */
	struct broker brokers[SIDECAR_REGISTRIES];
	unsigned nbrokers;
	struct rpc_server *rpc;
	struct view view;
	struct control *control;   /* NULL: there is no control socket */
	struct exporter *exporter; /* NULL: no --metrics= */
	bool faulty;               /* the last look at the exports' file found an error */
	struct notify_status status;
	int signals;
};

/* Sets the kind of server, and the file with its exports, if the command line does not. */
static int find_server(struct sidecar_options *o)
{
	struct conf_error error;

	if (o->server == NULL)
		o->server = server_kinds_find(o->config, &error);
	if (o->server == NULL) {
		log_error("%s", error.text);
		return -ENOENT;
	}
	if (o->config == NULL)
		o->config = o->server->default_config;
	return 0;
}

static int check(const struct sidecar_options *o)
{
	struct export_table *t = NULL;
	struct conf_error error;

	if (o->server->load(o->config, &t, &error) < 0) {
		log_error("%s", error.text);
		return EXIT_FAILURE;
	}
	exports_print(t, o->config);
	(void)export_table_unref(t);
	return EXIT_SUCCESS;
}

/*
 * A descriptor for signals. Blocks the signals before the first thread starts, so that all threads have them blocked.
 */
static int open_signals(void)
{
	sigset_t set;
	int fd;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* clients choose the size of files */
	(void)signal(SIGIO, SIG_IGN);   /* an open waits for one of our leases, which ends by itself (names/change.c) */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Makes registry number n, and starts its broker. */
static int start_broker(struct sidecar *s, const struct sidecar_options *o, unsigned n, uid_t uid, gid_t gid)
{
	const struct sidecar_registry *registry = &o->registries[n];
	struct broker_options options = {.exports = &s->exports,
		.account = &s->account,
		.counters = &s->counters,
		.notices = s->notices,
		.path = registry->path,
		.recheck_s = o->recheck_s,
		.claims_of_peer = registry->claims_of_peer,
		.run = session_thread};
	struct registry_fault fault;
	struct registry_made made;
	int r = registry_make(registry->path, uid, gid, &made, &fault);

	if (r < 0) {
		log_error("%s", fault.text);
		return r;
	}
	r = broker_start(&s->brokers[n], &options, &made);
	if (r < 0) {
		log_error("the broker of %s cannot start: %s", registry->path, strerror(-r));
		return r;
	}
	s->nbrokers++;
	registry_watch_add(&s->registries, &s->brokers[n], uid, gid);
	return 0;
}

/*
 * Starts the ways by which root looks at the sidecar. Without --control= the sidecar works without a control socket, if
 * the default cannot be made.
 */
static int start_views(struct sidecar *s, const struct sidecar_options *o)
{
	const char *path = o->control != NULL ? o->control : SIDECAR_CONTROL_DEFAULT;
	char sentence[512];
	int r;

	s->view = (struct view){.brokers = s->brokers,
		.nbrokers = s->nbrokers,
		.exports = &s->exports,
		.account = &s->account,
		.counters = &s->counters,
		.config = o->config,
		.started = time(NULL)};
	if (o->metrics != NULL) {
		r = view_metrics_start(o->metrics, &s->view, &s->exporter, sentence, sizeof(sentence));
		if (r < 0)
			return log_error_as(r, "--metrics=%s", sentence);
	}
	if (strcmp(path, "none") == 0)
		return 0;
	r = control_start(path, &s->view, &s->control, sentence, sizeof(sentence));
	if (r < 0 && o->control != NULL)
		return log_error_as(r, "--control=%s", sentence);
	if (r < 0)
		log_info("localioctl sidecar cannot ask this sidecar: %s", sentence);
	return 0;
}

static int start(struct sidecar *s, const struct sidecar_options *o)
{
	struct rlimit limit;
	uid_t uid;
	gid_t gid;
	int r;

	/* Each backing id needs a descriptor. Without CAP_SYS_RESOURCE the hard limit cannot be raised. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		struct rlimit more = {.rlim_cur = MAX(limit.rlim_max, FILES_WANTED),
			.rlim_max = MAX(limit.rlim_max, FILES_WANTED)};

		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &more) < 0)
			(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	r = sidecar_options_user(o, &uid, &gid);
	if (r < 0)
		return r;
	r = thread_cred_confine(o->probeport < 1024);
	if (r < 0) {
		log_error("capabilities cannot be dropped: %s", strerror(-r));
		return r;
	}
	r = exports_watch_start(&s->watch, o->server, o->config, &s->exports);
	if (r < 0)
		return r;
	account_init(&s->account);
	r = notices_new(&s->notices);
	if (r < 0)
		log_info("no change notices, so mounts ask again for names as NFS clients do: fanotify: %s",
			strerror(-r));
	r = registry_watch_start(&s->registries);
	if (r < 0)
		return log_error_as(r, "inotify: %s: the registries cannot be watched", strerror(-r));
	for (unsigned n = 0; n < o->nregistries; n++) {
		r = start_broker(s, o, n, uid, gid);
		if (r < 0)
			return r;
	}
	r = name_thread_start();
	if (r < 0) {
		log_error("no thread for host names: %s", strerror(-r));
		return r;
	}
	r = rpc_server_start(o->probeport, s->brokers, s->nbrokers, &s->exports, &s->rpc);
	return r < 0 ? r : start_views(s, o);
}

static void reload(struct sidecar *s, bool anew)
{
	s->faulty = !exports_watch_reload(&s->watch, anew);
	if (s->faulty)
		return;
	for (unsigned n = 0; n < s->nbrokers; n++)
		broker_exports_changed(&s->brokers[n]);
}

/* Handles signals; true if the sidecar is to end. */
static bool on_signal(struct sidecar *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGHUP)
			return true;
		(void)notify_reloading();
		reload(s, true);
		registry_watch_retry(&s->registries);
		(void)notify_send("READY=1");
	}
	return false;
}

/*
 * Ends the broker of a registry whose file a client has truncated. Returns a negative errno if no other registry is
 * left: the registries of other tenants go on.
 */
static int end_lost(struct sidecar *s, struct broker *b, const char *path)
{
	bool left = false;

	log_error("%s: the registry's file was cut short, by a process with CAP_DAC_OVERRIDE that sees the registry "
		  "writable: no mount can become local by it any more; containers must get the registry read-only",
		path);
	broker_begin_stop(b); /* loop() reaps its sessions; a session that hangs must not delay the other tenants */
	for (unsigned n = 0; n < s->nbrokers; n++)
		left |= s->brokers[n].listener >= 0 || s->brokers[n].renewing;
	return left ? 0 : -EFAULT;
}

/* Handles the events of one broker. A negative errno if the last registry is lost. */
static int serve_broker(struct sidecar *s, struct broker *b, const struct pollfd *fds, const char *path)
{
	if (fds[0].revents != 0)
		broker_reap(b);
	if (b->registry_lost && b->listener >= 0)
		return end_lost(s, b, path);
	if (fds[1].revents != 0)
		broker_accept(b);
	return 0;
}

/* Tells the service manager the state, if it has changed. The time until the next call in milliseconds, or -1. */
static int tell_status(struct sidecar *s)
{
	char text[NOTIFY_STATUS_MAX];

	view_status(&s->view, s->faulty, text, sizeof(text));
	return notify_status(&s->status, text);
}

/* The time for poll(2): the smaller of two, of which -1 is none. */
static int sooner(int a, int b)
{
	return a < 0 ? b : b < 0 ? a : MIN(a, b);
}

#define FIRST_OF_BROKERS 4 /* in the array for poll(2) */

/* Runs until a signal ends the sidecar: 0. A negative errno if all registries are lost. */
static int loop(struct sidecar *s, const struct sidecar_options *o)
{
	for (;;) {
		struct pollfd fds[FIRST_OF_BROKERS + 2 * SIDECAR_REGISTRIES] = {{.fd = s->signals, .events = POLLIN},
			{.fd = s->watch.inotify_fd, .events = POLLIN},
			{.fd = s->registries.inotify_fd, .events = POLLIN},
			{.fd = s->registries.done.fd, .events = POLLIN}};
		struct pollfd *of_brokers = fds + FIRST_OF_BROKERS;
		int wait = sooner(tell_status(s), registry_watch_wait(&s->registries));

		for (unsigned n = 0; n < s->nbrokers; n++) {
			of_brokers[2 * n] = (struct pollfd){.fd = s->brokers[n].reap.fd, .events = POLLIN};
			of_brokers[2 * n + 1] = (struct pollfd){.fd = s->brokers[n].listener, .events = POLLIN};
		}
		if (poll(fds, FIRST_OF_BROKERS + 2 * s->nbrokers, wait) < 0)
			continue;
		log_left_out(false);
		if (fds[0].revents != 0 && on_signal(s))
			return 0;
		if (fds[1].revents != 0 && exports_watch_event(&s->watch))
			reload(s, false);
		for (unsigned n = 0; n < s->nbrokers; n++) {
			int r = serve_broker(s, &s->brokers[n], &of_brokers[2 * n], o->registries[n].path);

			if (r < 0)
				return r;
		}
		registry_watch_event(&s->registries); /* last: it closes and opens listeners */
	}
}

static int serve(const struct sidecar_options *o)
{
	static struct sidecar s;
	char missing[512];
	bool ended = true;
	uint64_t deadline;
	int r;

	if (thread_cred_check(missing, sizeof(missing)) < 0) {
		log_error("must run as root of the host; missing: %s", missing);
		return EXIT_FAILURE;
	}
	s.signals = open_signals();
	if (s.signals < 0)
		return EXIT_FAILURE;
	export_store_init(&s.exports);
	r = start(&s, o);
	if (r >= 0) {
		(void)notify_send("READY=1");
		r = loop(&s, o);
		(void)notify_send("STOPPING=1");
	}
	control_stop(s.control);
	s.exporter = exporter_stop(s.exporter);
	s.rpc = rpc_server_stop(s.rpc);
	for (unsigned n = 0; n < s.nbrokers; n++)
		broker_begin_stop(&s.brokers[n]);
	deadline = now_ms() + BROKER_STOP_MS;
	for (unsigned n = 0; n < s.nbrokers; n++)
		ended &= broker_wait_stopped(&s.brokers[n], deadline);
	/*
	 * Some threads did not end. The sidecar does not wait for them, and skips exit handlers, whose locks they may
	 * hold.
	 */
	if (ended)
		s.notices = notices_free(s.notices);
	log_left_out(true);
	if (s.rpc != NULL || !ended)
		_exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct sidecar_options o;
	int r;

	log_open("localiofs-sidecar");
	r = sidecar_options_parse(argc, argv, &o);
	if (r != 0)
		return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	log_set_debug(o.debug);
	if (find_server(&o) < 0)
		return EXIT_FAILURE;
	return o.check ? check(&o) : serve(&o);
}
