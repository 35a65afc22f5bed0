/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/setter/setter.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/fs/convert.h"
#include "handle/nfs_handle.h"
#include "setattr/access_acl.h"
#include "setattr/names_open.h"
#include "setattr/setattr.h"

struct setter {
	pthread_t thread;
	pid_t number;
	sem_t started;
	bool able; /* the thread can act as others, and has no groups; constant from `started` on */
	/* The user of the last change, whom the thread goes on to be; the thread's alone. */
	uid_t uid;
	gid_t gid;
	bool lost; /* it is not known whom */

	pthread_mutex_t lock;
	sem_t wake;              /* once per job, and for the end */
	struct setter_job *next; /* that the thread has to take, or NULL */
	bool changing;           /* the thread is changing a file, and may wait */
	bool stopping;
};

/* ---- the user, of this thread alone ---- */

/* setfsuid(2) and setfsgid(2) tell no errors; a call with -1 changes nothing and returns the present value. */
static bool is_user(uid_t uid, gid_t gid)
{
	return (gid_t)setfsgid((gid_t)-1) == gid && (uid_t)setfsuid((uid_t)-1) == uid;
}

static int become(struct setter *s, uid_t uid, gid_t gid)
{
	if (!s->lost && s->uid == uid && s->gid == gid)
		return 0;
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	s->lost = !is_user(uid, gid);
	s->uid = uid;
	s->gid = gid;
	return s->lost ? -EPERM : 0;
}

/* What the thread needs to become others, and what an unsquashed root may do to attributes; no other capabilities. */
static int raise_capabilities(void)
{
	static const unsigned needed[] = {CAP_SETUID, CAP_SETGID, CAP_CHOWN, CAP_FOWNER};

	capng_clear(CAPNG_SELECT_CAPS);
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		(void)capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, needed[i]);
	return capng_apply(CAPNG_SELECT_CAPS) < 0 ? -EPERM : 0;
}

/* True for a change that the daemon may make, of a file with these attributes. */
static bool may_change(const struct setter_job *job, const struct stat *st)
{
	if (job->naming) /* groups and ACLs have no say about the owner */
		return st->st_uid == job->file->setting.as_uid;
	/* A file without a name has lost its handle, perhaps: the server's answer would be ESTALE. */
	return S_ISREG(st->st_mode) && st->st_nlink > 0 && setattr_leaves_set_id(&job->body, st->st_mode);
}

/* MKDIR, REMOVE, RMDIR, or RENAME inside the directory. */
static int change_name(int dir, const struct nfs_call *call, bool replaces)
{
	int r;

	if (call->proc == NFS_MKDIR)
		r = mkdirat(dir, call->name, call->args.sattr.mode);
	else if (call->proc == NFS_RENAME)
		r = renameat2(dir, call->name, dir, call->name2, replaces ? 0 : RENAME_NOREPLACE);
	else
		r = unlinkat(dir, call->name, call->proc == NFS_RMDIR ? AT_REMOVEDIR : 0);
	return r < 0 ? -errno : 0;
}

static int change(struct setter *s, struct setter_job *job)
{
	const struct granted_file *g = job->file;
	int r;

	if (fstat(g->file.fd, &job->before) < 0)
		return -errno;
	if (!may_change(job, &job->before))
		return -EOPNOTSUPP;
	r = become(s, g->setting.as_uid, g->setting.as_gid);
	if (r < 0)
		return r;
	return job->naming ? change_name(g->file.fd, job->naming, job->replaces)
			   : setattr_apply(g->file.fd, &job->body);
}

/*
 * The directory that has the new name now; what else may have it, the client looks up. Whoever has put another
 * directory there since, or a name into it, is told of by a notice (lease.h). The ACL comes after the attributes: a
 * later one changes those.
 */
static void describe_made(struct setter_job *job)
{
	const struct granted_file *g = job->file;
	const struct broker_fh dir = request_broker_fh(&job->naming->fh);
	struct setter_made *made = &job->made;
	_cleanup_close_ int fd = names_open(g->file.fd, job->naming->name);
	struct nfs_handle handle;
	struct broker_fh fh;

	if (fd < 0 || granted_file_attributes_of(g->fs, fd, &made->attr) < 0 || !S_ISDIR(made->attr.mode) ||
		nfs_handle_read(fd, &handle) < 0 || nfs_handle_of_kernel(&dir, &handle, &fh) < 0)
		return;
	made->no_acl = access_acl_of_directory(fd) != 0;
	(void)nfs_fh_of_broker(&fh, &made->fh);
}

/* ---- the thread ---- */

/* The next job; NULL at the end. */
static struct setter_job *wait_for_job(struct setter *s)
{
	struct setter_job *job;

	while (sem_wait(&s->wake) < 0)
		;
	LOCKED(&s->lock);
	job = STEAL_PTR(s->next);
	s->changing = job != NULL;
	return job;
}

/* From here on the thread does not wait, and may have another job. */
static void changed(struct setter *s)
{
	LOCKED(&s->lock);
	s->changing = false;
}

static void make(struct setter *s, struct setter_job *job)
{
	struct granted_file *g = job->file;
	struct nfs_attr after;
	int r = change(s, job);
	bool known = r >= 0 && granted_file_attributes(g, &after) >= 0;

	if (r >= 0 && job->naming && job->naming->proc == NFS_MKDIR)
		describe_made(job);

	/* An ACL that is set later changes the attributes. */
	job->no_acl = known && job->naming && access_acl_of_directory(g->file.fd) != 0;

	changed(s);
	(void)work_begins();
	job->done(job, r, known ? &after : NULL); /* which may free the job */
	work_ends();
	(void)granted_file_unref(g);
}

static void *run(void *arg)
{
	struct setter *s = arg;
	struct setter_job *job;

	(void)prctl(PR_SET_NAME, "setter", 0, 0, 0);
	s->number = (pid_t)syscall(SYS_gettid);
	s->able = raise_capabilities() == 0 && is_user(0, 0) && getgroups(0, NULL) == 0 && unshare(CLONE_FS) == 0;
	(void)umask(0);
	(void)sem_post(&s->started);
	while ((job = wait_for_job(s)) != NULL)
		make(s, job);
	return NULL;
}

/* True if capabilities over files go when this process's filesystem uid becomes another than 0. */
static bool may_become_others(void)
{
	int bits = prctl(PR_GET_SECUREBITS);

	return geteuid() == 0 && bits >= 0 && (bits & SECBIT_NO_SETUID_FIXUP) == 0;
}

int setter_new(struct setter **ret)
{
	struct setter *s;
	int r;

	if (!may_become_others())
		return -EPERM;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)sem_init(&s->wake, 0, 0);
	(void)sem_init(&s->started, 0, 0);
	r = -pthread_create(&s->thread, NULL, run, s);
	if (r < 0) {
		free(s);
		return r;
	}
	while (sem_wait(&s->started) < 0)
		;
	*ret = s;
	if (s->able)
		return 0;
	*ret = setter_free(s);
	return -EPERM;
}

void setter_stop(struct setter *s)
{
	if (!s || s->stopping)
		return;
	{
		LOCKED(&s->lock);
		s->stopping = true;
	}
	(void)sem_post(&s->wake);
	(void)pthread_join(s->thread, NULL);
}

struct setter *setter_free(struct setter *s)
{
	if (!s)
		return NULL;
	setter_stop(s);
	(void)sem_destroy(&s->started);
	(void)sem_destroy(&s->wake);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

pid_t setter_thread(const struct setter *s)
{
	return s->number;
}

bool setter_take(struct setter *s, struct setter_job *job)
{
	{
		LOCKED(&s->lock);
		if (s->next || s->changing || s->stopping)
			return false;
		s->next = job;
	}
	(void)sem_post(&s->wake); /* without the lock, for which the thread would have to wait first */
	return true;
}
