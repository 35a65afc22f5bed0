/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl ready: true if each mount answers. For startup probes, and for units that need a mount. */
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/util.h"
#include "ctl/mounts/ask.h"
#include "ctl/ctl_command.h"

#define ANSWER_MS 5000

/*
 * Asks in a child process, since an open(2) of a mount without a daemon waits, and only a fatal signal ends this wait.
 * Returns 0 if the mount answered in time.
 */
static int ask_in_time(const char *dir)
{
	_cleanup_close_ int child_fd = -1;
	struct pollfd p = {.events = POLLIN};
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (child == 0)
		_exit(ask_answers(dir) < 0);
	child_fd = (int)syscall(SYS_pidfd_open, child, 0);
	p.fd = child_fd;
	if (child_fd < 0 || poll(&p, 1, ANSWER_MS) <= 0) {
		log_error("%s: no answer within %d s: no daemon has the mount yet, or it hangs", dir, ANSWER_MS / 1000);
		(void)kill(child, SIGKILL);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int ready_command(const struct ctl_arguments *a)
{
	int failed = 0;

	if (a->mounts.count == 0) {
		log_error("no localiofs mount is there");
		return 1;
	}
	for (size_t n = 0; n < a->mounts.count; n++)
		if (ask_in_time(a->mounts.dirs[n]) < 0)
			failed = 1;
	return failed;
}
