/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/server.h"

#include <semaphore.h>

struct waiting_call {
	struct nfs_call call;
	sem_t answered;
};

static void wake_waiter(struct nfs_call *call)
{
	(void)sem_post(&CONTAINER_OF(call, struct waiting_call, call)->answered);
}

int server_call(struct server *s, struct nfs_call *call)
{
	struct waiting_call w = {.call = *call};

	(void)sem_init(&w.answered, 0, 0);
	w.call.done = wake_waiter;
	server_submit(s, &w.call);
	while (sem_wait(&w.answered) < 0)
		;
	(void)sem_destroy(&w.answered);
	*call = w.call;
	return call->error;
}
