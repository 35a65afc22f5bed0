/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A session's operations on files that may take long: fsync, fallocate, seek, copy, truncate, the reading of
 * directories, changes of names. Worker threads perform them, so that the session can handle other requests in the
 * meantime. The workers share the session's descriptor table, and reply on the session's socket. Each job owns
 * duplicates of its descriptors; duplicates share the open file, which keeps write errors for fsync. A worker starts
 * when a job comes and no worker is idle, and stays until the session ends.
 *
 * One commit of a filesystem's journal serves all fsyncs that wait when it begins: 64 threads that write and fsync
 * files on a disk, without a mount, need 0.12 to 0.3 of the time with 16 syncs at once in place of 4. Through a mount
 * on two busy CPUs no gain was seen: other costs of a new file hide it. A syncfs(2) for all that wait would serve more
 * at once, but would wait for the dirty data of everybody else, too. All sessions together have a limit of workers
 * beyond the first few, so that no client takes the threads of others.
 *
 * A change of names needs the session, too: its descriptors, and its lock. So the session makes and answers such a
 * change, in a function that it gives to its workers. A change that need not become stable is made by the session's
 * keeper, where the keeper may leave for it (session.h).
 *
 * A job that changes a file has the credential with which the file's id was registered, like the kernel's writes to
 * that id: the kernel clears set-id bits, and checks reserved blocks and quotas, for that user. A truncation has the
 * credential of its request.
 *
 * The mutex guards the queue. It is never held across a system call on a file.
 *
 * The replies of a session have the order of its requests, except the replies to jobs. The number of a descriptor
 * serves as an id in the requests for jobs. After a REVOKE a change of a file is refused, although the kernel's own
 * writes to the id continue; waiting jobs are refused, too. When the sidecar stops, it tells its clients after the
 * running jobs.
 *
 * TRUNCATE has a handle and a credential instead of an id: the caller's right to write counts, not the id's. It does
 * the work of ACCESS and SETATTR for a caller who may write; the server decides for an owner without that right, and
 * for files with set-id bits. The daemon sends TRUNCATE only while the file is open locally for writing, and not with
 * the mount option sync: the writer's close makes the new size stable, while SETATTR is stable when it is answered.
 */
#pragma once

#include <stdint.h>

#include "localiofs/broker_protocol.h"
#include "base/util.h"
#include "sidecar/broker/counters.h"
#include "sidecar/names/change.h"
#include "sidecar/notices/notices.h"

#define FILE_JOBS_WORKERS 16
#define FILE_JOBS_OWN     4   /* workers that each session may have, whatever other sessions have */
#define FILE_JOBS_SHARED  256 /* workers beyond FILE_JOBS_OWN, of all sessions together */
#define FILE_JOBS_PENDING 256

struct file_job {
	uint32_t type; /* BROKER_COMMIT, FALLOCATE, SEEK, COPY, TRUNCATE, SYNC_DIR, DIGEST, those of struct name_change
			*/
	uint64_t request;
	int fd;                  /* the file to read or sync: COMMIT, SYNC_DIR, DIGEST, SEEK, COPY's source; else -1 */
	int target;              /* the file to change: FALLOCATE, COPY, TRUNCATE; else -1 */
	struct broker_cred cred; /* the credential for the change */
	union {
		struct broker_range range;
		struct broker_copy copy;
		uint64_t size;  /* TRUNCATE */
		bool data_only; /* COMMIT */
		struct {
			struct hash_key key;
			bool watched; /* the reply says so */
		} digest;
	};
	struct name_change *names; /* a change of names or attributes; else NULL. The job's, once it is added */
};

/* Makes the prepared change, and replies to the request. 0, or a negative errno: the session must end. */
typedef int (*file_jobs_change_fn)(void *session, struct name_change *c, uint64_t request);

struct file_jobs {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t workers[FILE_JOBS_WORKERS];
	unsigned nworkers, idle;                 /* idle: workers that wait for a job */
	struct file_job jobs[FILE_JOBS_PENDING]; /* a ring buffer */
	unsigned first, pending;
	bool stopping;
	int socket;                /* the session's, for replies */
	struct own_threads *own;   /* the session's; the workers add themselves */
	struct counters *counters; /* which count the replies */
	file_jobs_change_fn change;
	void *session; /* for change() */
};

/* change() is called by workers, with session. */
void file_jobs_init(struct file_jobs *q, int socket, struct own_threads *own, struct counters *counters,
	file_jobs_change_fn change, void *session);
/* Waits for the running jobs, and drops the others. */
void file_jobs_done(struct file_jobs *q);
/* After a REVOKE: drops the waiting jobs that change a file, and replies -EBADF to them. 0 or a negative errno. */
int file_jobs_withdraw(struct file_jobs *q);
/* Makes the job on the caller's thread, which may wait, and replies; closes its descriptors. Negative: nobody reads. */
int file_jobs_make(const struct file_jobs *q, struct file_job *job);
/* Adds a job, with duplicates of its descriptors; a worker will reply. -EAGAIN if too many jobs are waiting. */
int file_jobs_add(struct file_jobs *q, const struct file_job *job);
/* Replies with a negative errno to a job that is not added. */
int file_jobs_refuse(const struct file_jobs *q, const struct file_job *job, int error);
