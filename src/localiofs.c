/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * localiofs and mount.localiofs: one program under two calling conventions.
 *
 *	localiofs SPEC DIR [-o OPTIONS] [-f]            returns when the mount answers; -f stays
 *	mount.localiofs SPEC DIR [-sfnv] [-o OPTIONS]   mount(8)'s contract; -f pretends
 *
 * The mount lives in a child process. The parent returns 0 when the kernel accepted the mount and
 * its requests are answered, or an exit code of mount(8) after the child said why not. A signal that
 * ends the parent before that takes the child and what it mounted with it.
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
#include "localiofs/control.h"
#include "base/log.h"
#include "base/text.h"
#include "mount_lock.h"
#include "mount/mountinfo.h"
#include "process.h"
#include "remount.h"

static int take_same(const struct mountinfo *m, void *arg)
{
	const struct command *c = arg;

	return strcmp(m->type, MOUNTINFO_TYPE) == 0 && mount_spec_equal(m->source, c->spec_text);
}

/*
 * What mount(2) would say of a file system in the kernel, as a negative errno and a sentence. A mount of something
 * else, an automount trap for one, is mounted over.
 */
static int check_directory(const struct command *c, char *sentence, size_t size)
{
	struct stat st;
	int r = 0;

	if (mountinfo_at(c->directory, take_same, (void *)c) > 0) {
		_cleanup_close_ int fd = open(c->directory, CONTROL_OPEN_FLAGS); /* asks no server */

		r = fd < 0 && errno == ENOTCONN ? -ENOTCONN : -EBUSY;
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
			SHORT ": the daemon of what is mounted there has ended; unmount it first",
			SHORTEN(c->directory, 200));
	else if (r < 0)
		(void)snprintf(sentence, size, "mount point " SHORT ": %s", SHORTEN(c->directory, 200), strerror(-r));
	return r;
}

/* How the child reports to the parent: the write end of a pipe, -1 in the foreground. */
struct reporter {
	int fd;
	int lock; /* of the mount point, let go when the mount is there, or when it may come much later */
	const struct command *command;
	bool waited; /* bg: the mount point may be another one's by now */
};

/* Lets the parent end with success, and goes on as a daemon; nothing where there is no parent. */
static int detach(struct reporter *reporter)
{
	char ok = EXIT_OK;
	int null;

	reporter->lock = close_fd(reporter->lock);
	if (reporter->fd < 0)
		return 0;
	/* Not before the mount: only the process group of an automounter gets past its trap. */
	(void)setsid();
	if (write(reporter->fd, &ok, 1) != 1)
		return -EPIPE; /* the parent was killed */
	reporter->fd = close_fd(reporter->fd);
	/*
	 * From here on a daemon: nothing of the caller's is kept open or busy. Its log has one name, whoever started
	 * it.
	 */
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

/* bg: the parent is through, and this process goes on trying. */
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

	if (!reporter->waited)
		return 0;
	reporter->lock = mount_lock(reporter->command->directory);
	return check_directory(reporter->command, sentence, size);
}

static int run_mount(const struct command *c, struct reporter *reporter)
{
	char sentence[1024] = "";
	struct daemon_options options = {.mount = &c->options,
		.spec = &c->spec,
		.spec_text = c->spec_text,
		.directory = c->directory,
		.ready = mount_is_ready,
		.waiting = mount_goes_on_waiting,
		.begin = mount_begins,
		.arg = reporter};
	int r;

	process_prepare();
	r = daemon_run(&options, sentence, sizeof(sentence));
	if (r < 0)
		log_error("%s", sentence[0] ? sentence : strerror(-r));
	return r == 0 ? EXIT_OK : r == -EPERM ? EXIT_USAGE : r == -ENOMEM ? EXIT_SYSTEM : EXIT_FAIL;
}

/* What the child's end says when no byte came. */
static int exit_code_of(int status)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (WIFEXITED(status) && WEXITSTATUS(status) != EXIT_OK)
		return WEXITSTATUS(status); /* it said why */
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

/* They stay blocked but in wait_for_child(), so that none is lost. What nohup(1) ignores stays ignored. */
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

/* The parent's part: the child's byte, or its exit code when it ends without one. */
static int wait_for_child(pid_t child, int fd, const sigset_t *mask)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int status;
	char code;

	while (!interrupted && ppoll(&p, 1, NULL, mask) < 0)
		if (errno != EINTR)
			return EXIT_SYSTEM;
	/* What it has mounted already it unmounts. A second ^C ends us. */
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

/* The parent has no use for the lock: the child's end, or its mount, lets it go. */
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
		(void)signal(SIGTERM, SIG_DFL); /* the parent's way to end it */
		exit(run_mount(c, &reporter));
	}
	(void)close(fds[1]);
	(void)close_fd(lock);
	r = wait_for_child(child, fds[0], &mask);
	(void)close(fds[0]);
	return r;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];
	static struct command c;
	int r, lock = -1;

	/* Whoever starts us may have closed them; mount_is_ready() replaces 0 to 2. */
	do
		r = open("/dev/null", O_RDWR);
	while (r >= 0 && r <= 2);
	(void)close(r);
	c.helper = strncmp(name, "mount.", 6) == 0;
	log_open(c.helper ? "mount.localiofs" : "localiofs");
	/* libnfs writes to sockets whose peer may be gone. */
	(void)signal(SIGPIPE, SIG_IGN);
	r = command_parse(&c, argc, argv);
	if (r == EXIT_OK && c.options.remount)
		return remount_run(&c);
	if (r == EXIT_OK) {
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
