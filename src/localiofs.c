/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * localiofs and mount.localiofs: one program with two calling conventions.
 *
 *	localiofs SPEC DIR [-o OPTIONS] [-f]            returns when the mount answers; with -f at its end
 *	mount.localiofs SPEC DIR [-sfnv] [-o OPTIONS]   the interface of mount(8); -f checks and does not mount
 *
 * A child process serves the mount. The parent returns 0 when the kernel has accepted the mount and the child answers
 * requests. If mounting fails, the child prints the reason and the parent returns an exit status of mount(8). A signal
 * that ends the parent earlier also ends the child and its mount.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "command.h"
#include "fuse/daemon.h"
#include "handover/fuse_fd.h"
#include "handover/handover.h"
#include "localiofs/control.h"
#include "base/log.h"
#include "base/text.h"
#include "mount_lock.h"
#include "mount/mountinfo.h"
#include "process.h"
#include "remount.h"
#include "table/id_map.h"

#define HANDOVER_TIMEOUT_MS 120000

/* The topmost mount on the directory. */
enum there {
	THERE_NO_LOCALIOFS,
	THERE_OTHER,
	THERE_SAME
};

static int what_mount(const struct mountinfo *m, void *arg)
{
	const struct command *c = arg;

	if (strcmp(m->type, MOUNTINFO_TYPE) != 0)
		return THERE_NO_LOCALIOFS;
	return mount_spec_equal(m->source, c->spec_text) ? THERE_SAME : THERE_OTHER;
}

/* True if the daemon of a localiofs mount has ended. Sends no request to the server. */
static bool has_ended(const char *directory)
{
	_cleanup_close_ int fd = open(directory, CONTROL_OPEN_FLAGS);

	return fd < 0 && errno == ENOTCONN;
}

/* True if another program has mounted already. */
static bool is_handed(const struct command *c)
{
	return c->fuse_socket || c->fuse_fd >= 0;
}

/*
 * Checks the mount point as mount(2) does for a filesystem in the kernel. Returns a negative errno and a sentence.
 * Another mount on the directory, such as an automount point, is no error: the new mount covers it.
 */
static int check_directory(const struct command *c, char *sentence, size_t size)
{
	int there = mountinfo_at(c->directory, what_mount, (void *)c);
	struct stat st;
	int r = 0;

	/* The kernel may answer stat(2) from its cache. */
	if (there > THERE_NO_LOCALIOFS && has_ended(c->directory)) {
		r = -ENOTCONN;
	} else if (there == THERE_SAME) {
		r = -EBUSY;
	} else if (stat(c->directory, &st) < 0) {
		r = -errno;
	} else if (!S_ISDIR(st.st_mode)) {
		r = -ENOTDIR;
	}
	if (r == -EBUSY)
		(void)snprintf(sentence, size, SHORT ": " SHORT " is already mounted there", SHORTEN(c->directory, 200),
			SHORTEN(c->spec_text, 200));
	else if (r == -ENOTCONN)
		(void)snprintf(sentence, size,
			SHORT ": the daemon of the mount on this directory has ended; unmount it first",
			SHORTEN(c->directory, 200));
	else if (r < 0)
		(void)snprintf(sentence, size, "mount point " SHORT ": %s", SHORTEN(c->directory, 200), strerror(-r));
	return r;
}

/* The child's way to report to the parent. */
struct reporter {
	int fd;   /* the write end of a pipe to the parent; -1 in the foreground */
	int lock; /* the lock of the mount point, released when the mount exists or waits in the background */
	const struct command *command;
	bool waited; /* with bg: another mount may have taken the mount point meanwhile */
};

/* Lets the parent end with success, and makes this process a daemon. In the foreground only the lock is released. */
static int detach(struct reporter *reporter)
{
	char ok = EXIT_OK;
	int null;

	reporter->lock = close_fd(reporter->lock);
	if (reporter->fd < 0)
		return 0;
	/* After the mount, since only processes in the automounter's process group may mount on an automount point. */
	(void)setsid();
	if (write(reporter->fd, &ok, 1) != 1)
		return -EPIPE; /* the parent was killed */
	reporter->fd = close_fd(reporter->fd);
	/* The daemon keeps no descriptor or directory of the caller busy. In the log it has the same name always. */
	log_open("localiofs");
	log_to(LOG_TO_SYSLOG);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		(void)dup2(null, fd);
	if (null > 2)
		(void)close(null);
	(void)!chdir("/");
	return 0;
}

static int mount_is_ready(void *arg)
{
	return detach(arg);
}

/* With bg the parent ends with success, and this process tries again. */
static int mount_goes_on_waiting(void *arg, const char *sentence)
{
	struct reporter *reporter = arg;

	log_warning("%s; trying again in the background", sentence);
	reporter->waited = true;
	return detach(reporter);
}

static int mount_begins(void *arg, char *sentence, size_t size)
{
	struct reporter *reporter = arg;

	if (!reporter->waited || is_handed(reporter->command))
		return 0;
	reporter->lock = mount_lock(reporter->command->directory);
	return check_directory(reporter->command, sentence, size);
}

/*
 * Takes over the mount of another program, if there is one. *ret_connection is to its mounter, or -1. The pid namespace
 * of a mount that came as /dev/fd/N is not known; its ids are taken for those of this process's user namespace.
 */
static int take_mount(const struct command *c, struct daemon_options *options, int *ret_connection, char *sentence,
	size_t size)
{
	struct handover h;

	options->fuse_fd = c->fuse_fd;
	options->foreign_pids = c->fuse_fd >= 0;
	if (!c->fuse_socket)
		return c->fuse_fd < 0 ? 0 : fuse_fd_check(c->fuse_fd, sentence, size);
	*ret_connection = handover_take(c->fuse_socket, HANDOVER_TIMEOUT_MS, &h, sentence, size);
	if (*ret_connection < 0)
		return *ret_connection;
	options->fuse_fd = h.fuse_fd;
	options->foreign_users = h.foreign_users;
	options->foreign_pids = h.foreign_pids;
	return 0;
}

static int run_mount(const struct command *c, struct reporter *reporter)
{
	char sentence[1024] = "";
	struct daemon_options options = {.mount = &c->options,
		.spec = &c->spec,
		.spec_text = c->spec_text,
		.defaults = c->defaults,
		.directory = c->directory,
		.ready = mount_is_ready,
		.waiting = mount_goes_on_waiting,
		.begin = mount_begins,
		.arg = reporter};
	int connection = -1, r;

	process_prepare();
	r = take_mount(c, &options, &connection, sentence, sizeof(sentence));
	if (r == 0)
		r = daemon_run(&options, sentence, sizeof(sentence));
	(void)close_fd(connection); /* tells the mounter that this daemon has ended */
	if (r < 0)
		log_error("%s", sentence[0] ? sentence : strerror(-r));
	return r == 0 ? EXIT_OK : r == -EPERM ? EXIT_USAGE : r == -ENOMEM ? EXIT_SYSTEM : EXIT_FAIL;
}

/* The parent's exit status if the child has ended without a byte in the pipe. status: of waitpid(2). */
static int exit_code_of(int status)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (WIFEXITED(status) && WEXITSTATUS(status) != EXIT_OK)
		return WEXITSTATUS(status); /* the child has printed the reason */
	switch (number) {
	case SIGHUP:
	case SIGINT:
	case SIGTERM:
		log_error("interrupted; nothing is mounted");
		return EXIT_INTERRUPTED;
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGSEGV:
		log_error("the daemon failed (%s) before the mount was ready; this is a bug", strsignal(number));
		return EXIT_INTERNAL;
	default:
		log_error("the daemon ended (%s) before the mount was ready", number ? strsignal(number) : "no error");
		return EXIT_SYSTEM;
	}
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	interrupted = number;
}

static const int interrupts[] = {SIGHUP, SIGINT, SIGTERM};

/*
 * Catches the signals, which stay blocked except in wait_for_child()'s ppoll(2), so that no signal is lost. A signal
 * that the caller ignores, by nohup(1) for example, stays ignored.
 */
static void catch_interrupts(sigset_t *ret_old)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t n = 0; n < ARRAY_SIZE(interrupts); n++)
		(void)sigaddset(&set, interrupts[n]);
	(void)sigprocmask(SIG_BLOCK, &set, ret_old);
	for (size_t n = 0; n < ARRAY_SIZE(interrupts); n++) {
		struct sigaction new = {.sa_handler = interrupt}, old;

		if (sigaction(interrupts[n], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaction(interrupts[n], &new, NULL);
		(void)sigdelset(ret_old, interrupts[n]);
	}
}

static void default_interrupts(const sigset_t *mask)
{
	for (size_t n = 0; n < ARRAY_SIZE(interrupts); n++) {
		struct sigaction old;

		if (sigaction(interrupts[n], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)signal(interrupts[n], SIG_DFL);
	}
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
}

/* The parent waits for the child's byte or end. Returns the exit status of the program. */
static int wait_for_child(pid_t child, int fd, const sigset_t *mask)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int status;
	char code;

	while (!interrupted && ppoll(&p, 1, NULL, mask) < 0)
		if (errno != EINTR)
			return EXIT_SYSTEM;
	/* The child unmounts before it ends. A second ^C ends the parent. */
	if (interrupted)
		(void)kill(child, SIGTERM);
	else if (read(fd, &code, 1) == 1)
		return code;
	default_interrupts(mask);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_SYSTEM;
	return exit_code_of(interrupted ? SIGTERM : status);
}

/*
 * Until the first GETATTR the kernel takes uid 0 for the owner of the mount's root (fs/fuse/inode.c
 * fuse_get_root_inode). A user namespace that does not map uid 0 may then create no file there.
 */
static void tell_owner_of_root(const char *directory)
{
	struct id_map uids;
	struct stat st;

	if (id_map_read(&uids, "/proc/self/uid_map") == 0 && !id_map_is_plain(&uids))
		(void)stat(directory, &st);
}

/* Only the child keeps the lock of the mount point: its mount or its end releases the lock. */
static int run_in_background(const struct command *c, int lock)
{
	int fds[2], r;
	sigset_t mask;
	pid_t child;

	catch_interrupts(&mask);
	if (pipe2(fds, O_CLOEXEC) < 0 || (child = fork()) < 0) {
		log_error("cannot start the daemon: %s", strerror(errno));
		return EXIT_SYSTEM;
	}
	if (child == 0) {
		struct reporter reporter = {.fd = fds[1], .lock = lock, .command = c};

		(void)close(fds[0]);
		log_to(LOG_TO_CALLER);
		default_interrupts(&mask);
		(void)signal(SIGTERM, SIG_DFL); /* the parent ends the child by SIGTERM */
		exit(run_mount(c, &reporter));
	}
	(void)close(fds[1]);
	(void)close_fd(lock);
	r = wait_for_child(child, fds[0], &mask);
	(void)close(fds[0]);
	if (r == EXIT_OK && !is_handed(c))
		tell_owner_of_root(c->directory);
	return r;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];
	static struct command c;
	int r, lock = -1;

	/* The caller may have closed the descriptors 0 to 2; they must be open, since detach() replaces them. */
	do
		r = open("/dev/null", O_RDWR);
	while (r >= 0 && r <= 2);
	(void)close(r);
	c.helper = strncmp(name, "mount.", 6) == 0;
	log_open(c.helper ? "mount.localiofs" : "localiofs");
	/* libnfs writes to sockets that the server may have closed. */
	(void)signal(SIGPIPE, SIG_IGN);
	r = command_parse(&c, argc, argv);
	if (r == EXIT_OK && c.options.remount)
		return remount_run(&c);
	if (r == EXIT_OK && !is_handed(&c)) {
		char sentence[512];
		int error;

		lock = mount_lock(c.directory);
		error = check_directory(&c, sentence, sizeof(sentence));
		if (error < 0)
			log_error("%s", sentence);
		r = error == -EBUSY || error == -ENOTCONN ? EXIT_FAIL : error < 0 ? EXIT_USAGE : EXIT_OK;
	}
	if (r != EXIT_OK || c.fake)
		return r;
	log_set_debug(c.options.debug);
	if (c.foreground) {
		struct reporter reporter = {.fd = -1, .lock = lock, .command = &c};

		return run_mount(&c, &reporter);
	}
	return run_in_background(&c, lock);
}
