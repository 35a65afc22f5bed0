/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/host/name_thread.h"

#include <semaphore.h>
#include <sys/prctl.h>

#include "base/list.h"
#include "base/util.h"

struct job {
	struct list node;
	void (*f)(void *arg);
	void *arg;
	sem_t done;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct list jobs; /* struct job.node */
	bool started;     /* written before the first other thread starts */
} names = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .jobs = {&names.jobs, &names.jobs}};

static struct job *next_job(void)
{
	struct job *j;

	LOCKED(&names.lock);
	while (list_empty(&names.jobs))
		(void)pthread_cond_wait(&names.more, &names.lock);
	j = CONTAINER_OF(names.jobs.next, struct job, node);
	list_remove(&j->node);
	return j;
}

static void *run(void *arg)
{
	(void)prctl(PR_SET_NAME, "names", 0, 0, 0);
	for (;;) {
		struct job *j = next_job();

		j->f(j->arg);
		(void)sem_post(&j->done);
	}
	return arg;
}

int name_thread_start(void)
{
	pthread_t thread;
	int r = -pthread_create(&thread, NULL, run, NULL);

	if (r == 0)
		(void)pthread_detach(thread);
	names.started = r == 0;
	return r;
}

void name_thread_run(void (*f)(void *arg), void *arg)
{
	struct job j = {.f = f, .arg = arg};

	if (!names.started) {
		f(arg);
		return;
	}
	(void)sem_init(&j.done, 0, 0);
	{
		LOCKED(&names.lock);
		list_append(&names.jobs, &j.node);
		(void)pthread_cond_signal(&names.more);
	}
	while (sem_wait(&j.done) < 0)
		;
	(void)sem_destroy(&j.done);
}
