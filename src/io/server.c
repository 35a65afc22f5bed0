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

int server_call(struct server *t, struct nfs_call *call)
{
	struct waiting_call w = {.call = *call};

	(void)sem_init(&w.answered, 0, 0);
	w.call.done = wake_waiter;
	server_submit(t, &w.call);
	while (sem_wait(&w.answered) < 0)
		;
	(void)sem_destroy(&w.answered);
	*call = w.call;
	return call->error;
}

const char *nfs_proc_name(enum nfs_proc proc)
{
	static const char *const names[NFS_PROC_COUNT] = {"NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK",
		"READ", "WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK", "READDIR",
		"READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT", "GETACL", "SETACL"};

	return proc < NFS_PROC_COUNT ? names[proc] : "unknown";
}
