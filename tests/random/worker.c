/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker.h"

#include <grp.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/util.h"

struct worker {
	pthread_t thread;
	const struct user *user;
	const char *root;
	void (*fn)(void *arg);
	void *arg;
	int error;
	sem_t asked, done;
};

/* System calls, because the functions of the C library change all threads of the process. */
static int become(const struct user *u)
{
	if (syscall(SYS_setgroups, u->ngroups, u->groups) < 0 || syscall(SYS_setresgid, u->gid, u->gid, u->gid) < 0 ||
		syscall(SYS_setresuid, u->uid, u->uid, u->uid) < 0)
		return -errno;
	/* Otherwise /proc/self/fd would belong to root. */
	return prctl(PR_SET_DUMPABLE, 1) < 0 ? -errno : 0;
}

static int enter(const struct worker *w)
{
	if (unshare(CLONE_FS) < 0 || chroot(w->root) < 0 || chdir("/") < 0)
		return -errno;
	return become(w->user);
}

static void wait_for(sem_t *s)
{
	while (sem_wait(s) < 0)
		;
}

static void *run(void *arg)
{
	struct worker *w = arg;

	w->error = enter(w);
	(void)sem_post(&w->done);
	if (w->error < 0)
		return NULL;
	for (;;) {
		wait_for(&w->asked);
		if (!w->fn)
			return NULL;
		w->fn(w->arg);
		(void)sem_post(&w->done);
	}
}

int worker_new(const struct user *user, const char *root, struct worker **ret)
{
	struct worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->user = user;
	w->root = root;
	(void)sem_init(&w->asked, 0, 0);
	(void)sem_init(&w->done, 0, 0);
	r = -pthread_create(&w->thread, NULL, run, w);
	if (r == 0) {
		wait_for(&w->done);
		r = w->error;
		if (r < 0)
			(void)pthread_join(w->thread, NULL);
	}
	if (r < 0) {
		free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void worker_run(struct worker *w, void (*fn)(void *arg), void *arg)
{
	w->fn = fn;
	w->arg = arg;
	(void)sem_post(&w->asked);
	wait_for(&w->done);
}

struct worker *worker_free(struct worker *w)
{
	if (!w)
		return NULL;
	w->fn = NULL;
	(void)sem_post(&w->asked);
	(void)pthread_join(w->thread, NULL);
	(void)sem_destroy(&w->asked);
	(void)sem_destroy(&w->done);
	free(w);
	return NULL;
}
