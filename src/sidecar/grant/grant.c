/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/grant/grant.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "localiofs/reason.h"
#include "sidecar/grant/claimable.h"
#include "sidecar/backing/fuse_device.h"
#include "sidecar/backing/thread_cred.h"
#include "base/util.h"

void grant_tell_attributes(const struct statx *s, struct broker_attr *ret)
{
	*ret = (struct broker_attr){
		.fileid = s->stx_ino,
		.size = s->stx_size,
		.used = s->stx_blocks * 512,
		.atime_sec = s->stx_atime.tv_sec,
		.mtime_sec = s->stx_mtime.tv_sec,
		.ctime_sec = s->stx_ctime.tv_sec,
		.atime_nsec = s->stx_atime.tv_nsec,
		.mtime_nsec = s->stx_mtime.tv_nsec,
		.ctime_nsec = s->stx_ctime.tv_nsec,
		.mode = s->stx_mode,
		.nlink = s->stx_nlink,
		.uid = s->stx_uid,
		.gid = s->stx_gid,
		.rdev_major = s->stx_rdev_major,
		.rdev_minor = s->stx_rdev_minor,
	};
}

int grant_attributes(int fd, struct statx *ret_stx, struct broker_attr *ret)
{
	int r = export_mount_attributes(fd, ret_stx);

	if (r >= 0)
		grant_tell_attributes(ret_stx, ret);
	return r;
}

/* The descriptor that the sidecar keeps: on the clone, unless the file may be changed. */
static int open_kept(const struct grant_context *g, bool writable)
{
	return export_mount_open_file(g->at->mount, &g->at->handle,
		writable ? EXPORT_MOUNT_READ : EXPORT_MOUNT_READ_ON_CLONE);
}

/* The id with the descriptor to keep, or a negative errno. Takes *made over if that is the descriptor to keep. */
static int make_id(const struct grant_context *g, const struct broker_cred *cred, bool writable, int *made,
	int *ret_kept)
{
	bool has = writable && made != NULL;
	_cleanup_close_ int opened = has ? -1 : open_kept(g, writable);
	int *kept = has ? made : &opened, id;

	if (*kept < 0)
		return *kept;
	id = thread_cred_become_registrar(cred);
	if (id >= 0)
		id = fuse_device_backing_open(g->fuse_fd, *kept);
	thread_cred_restore();
	if (id > 0)
		*ret_kept = steal_fd(kept);
	return id;
}

/*
 * A descriptor for the client. A descriptor for reading is on the clone, so that a client cannot open the file for
 * writing through it. Only a trusted client, which could change the file anyway, gets a descriptor for writing. Without
 * O_NONBLOCK, since io_uring does not wait for data on a descriptor that has it.
 */
static int make_descriptor(const struct grant_context *g, bool writable)
{
	_cleanup_close_ int fd = export_mount_open_file(g->at->mount, &g->at->handle,
		writable ? EXPORT_MOUNT_WRITE : EXPORT_MOUNT_READ_ON_CLONE);

	if (fd >= 0 && fcntl(fd, F_SETFL, 0) < 0)
		return -errno;
	return steal_fd(&fd);
}

static void fail(struct broker_open_reply *reply, int error, enum reason reason)
{
	*reply = (struct broker_open_reply){.error = error, .reason = reason};
}

/* Question (b): may the file be registered? A refusal is a reason in the reply, never an error. made: see judge(). */
static void register_file(const struct grant_context *g, const struct access_file *file, uint32_t flags, int *made,
	struct broker_open_reply *reply, struct grant *ret)
{
	bool may_read, may_write;
	int id = 0;

	if (!g->may_register) {
		reply->reason = REASON_LIMIT;
		return;
	}
	if (claimable_rights(g->server, file, &g->at->perms, &may_read, &may_write) < 0)
		may_read = may_write = false;
	if (g->own_rights) {
		may_read = may_read && (reply->access & (NFS_ACCESS_READ | NFS_ACCESS_EXECUTE)) != 0;
		may_write = may_write && (reply->access & NFS_ACCESS_MODIFY) != 0 &&
			    (reply->access & NFS_ACCESS_EXTEND) != 0;
	}
	if (!may_read) {
		reply->reason = REASON_UNREADABLE;
		return;
	}
	may_write = may_write && g->at->perms.write && !file->read_only;
	ret->writable = may_write;
	if ((flags & BROKER_OPEN_WANT_ID) != 0 && g->fuse_fd >= 0)
		id = make_id(g, &ret->cred, may_write, made, &ret->kept);
	if (id > 0) {
		reply->backing_id = id;
		reply->writable = may_write;
		return;
	}
	if ((flags & BROKER_OPEN_WANT_FD) == 0) {
		reply->reason = REASON_KERNEL_REFUSED;
		return;
	}
	if (may_write && g->trusted && (flags & BROKER_OPEN_WANT_WRITE) != 0)
		ret->given = make_descriptor(g, true);
	reply->writable = ret->given >= 0;
	if (ret->given < 0) /* also after a failure: a process executes the file, for example */
		ret->given = make_descriptor(g, false);
	if (ret->given >= 0)
		ret->kept = open_kept(g, may_write);
	if (ret->kept < 0) {
		close_fdp(&ret->given);
		reply->writable = false;
		reply->reason = REASON_KERNEL_REFUSED;
	}
}

/*
 * True if other groups of the caller could change an answer. They decide nothing for uid 0, which keeps the
 * capabilities that override permissions, and nothing if the squash drops all of them.
 */
static bool groups_matter(const struct grant_context *g, const struct broker_cred *wire,
	const struct broker_cred *squashed)
{
	struct broker_cred other = *wire, ret;

	if (squashed->uid == 0)
		return false;
	other.ngroups = 1;
	other.groups[0] = 1;
	return g->server->squash(&g->at->perms, &other, &ret) < 0 || ret.ngroups > 0;
}

int grant_squash_untold(const struct grant_context *g, const struct broker_cred *asked, struct broker_cred *ret,
	bool *ret_lacks, enum reason *ret_reason)
{
	bool untold = asked->ngroups == BROKER_GROUPS_UNTOLD;
	struct broker_cred wire = *asked;
	int managed;

	if (untold)
		wire.ngroups = 0;
	*ret_reason = REASON_EXPORT_OPTIONS;
	managed = g->server->managed_groups(&wire);
	if (managed == 0)
		return -EACCES;
	*ret_reason = REASON_CLIENT_DENIED;
	if (g->server->squash(&g->at->perms, &wire, ret) < 0)
		return -EACCES;
	*ret_lacks = untold && managed < 0 && groups_matter(g, &wire, ret);
	return 0;
}

int grant_squash(const struct grant_context *g, const struct broker_cred *asked, struct broker_cred *ret,
	enum reason *ret_reason)
{
	bool lacks;
	int r = grant_squash_untold(g, asked, ret, &lacks, ret_reason);

	if (r < 0 || !lacks)
		return r;
	*ret_reason = REASON_GROUPS;
	return -EACCES;
}

static struct access_file file_of(const struct grant_context *g, int fd, const struct statx *stx)
{
	return (struct access_file){.fd = fd,
		.read_only = export_mount_read_only(g->at->mount),
		.mode = stx->stx_mode,
		.uid = stx->stx_uid,
		.gid = stx->stx_gid,
		.append_only = (stx->stx_attributes & STATX_ATTR_APPEND) != 0};
}

int grant_truncate(const struct grant_context *g, const struct broker_truncate *request, struct broker_cred *ret_cred)
{
	_cleanup_close_ int fd = export_mount_resolve(g->at->mount, &g->at->handle);
	struct access_file file;
	struct broker_attr attr;
	enum reason reason;
	struct statx stx;
	int r = fd < 0 ? -ESTALE : grant_attributes(fd, &stx, &attr);

	if (r >= 0)
		r = grant_squash(g, &request->cred, ret_cred, &reason);
	if (r < 0)
		return r;
	if (!S_ISREG(stx.stx_mode) || (stx.stx_mode & (S_ISUID | S_ISGID)) != 0)
		return -EOPNOTSUPP;
	file = file_of(g, fd, &stx);
	if (!g->at->perms.write || file.read_only)
		return -EROFS; /* nfsd_setattr() returns this before it looks at rights */
	r = g->server->access(&file, ret_cred, g->at->perms.write);
	if (r < 0)
		return r;
	if ((r & NFS_ACCESS_MODIFY) == 0 || (r & NFS_ACCESS_EXTEND) == 0)
		return -EACCES;
	/* fd may be on a clone, which does not follow a read-only remount. */
	return export_mount_open_file(g->at->mount, &g->at->handle, EXPORT_MOUNT_PATH);
}

int grant_directory(const struct grant_context *g, const struct broker_sync_dir *request, enum reason *ret_reason)
{
	_cleanup_close_ int fd = export_mount_resolve(g->at->mount, &g->at->handle);
	struct broker_attr attr;
	struct broker_cred cred;
	struct statx stx;
	int r = fd < 0 ? fd : grant_attributes(fd, &stx, &attr);

	if (r >= 0 && S_ISDIR(stx.stx_mode)) {
		r = grant_squash(g, &request->cred, &cred, ret_reason);
		if (r < 0)
			return r;
		r = export_mount_open_file(g->at->mount, &g->at->handle, EXPORT_MOUNT_READ);
	} else if (r >= 0) {
		r = -ENOTDIR;
	}
	/* The two errors mean that no such directory exists. All others are errors of the sync itself. */
	*ret_reason = r == -ESTALE || r == -ENOTDIR ? REASON_BAD_HANDLE : REASON_NONE;
	return r;
}

/*
 * Judges a regular file whose attributes are in the reply, by the credential in ret. made: the descriptor by which the
 * request has made the file, or NULL.
 */
static void judge(const struct grant_context *g, const struct access_file *file, const struct statx *stx,
	uint32_t flags, int *made, struct broker_open_reply *reply, struct grant *ret)
{
	/* Question (a): the server's answer to ACCESS. */
	int r = g->server->access(file, &ret->cred, g->at->perms.write);

	if (r < 0) {
		fail(reply, r, REASON_BAD_HANDLE);
		return;
	}
	reply->access = (uint32_t)r;
	reply->root = ret->cred.uid == 0;
	reply->owner = ret->cred.uid == file->uid;
	reply->any_groups = !claimable_by_groups(file, &ret->cred);
	/* A backing id has one credential, but the writer's own credential decides whether a write clears the bits. */
	if ((stx->stx_mode & (S_ISUID | S_ISGID)) != 0) {
		reply->reason = REASON_SET_ID;
		return;
	}
	if ((flags & (BROKER_OPEN_WANT_ID | BROKER_OPEN_WANT_FD)) == 0)
		return;
	if ((stx->stx_attributes & (STATX_ATTR_APPEND | STATX_ATTR_IMMUTABLE)) != 0) {
		reply->reason = REASON_APPEND_ONLY;
		return;
	}
	register_file(g, file, flags, made, reply, ret);
}

/*
 * The rights to read a directory and to search it, as the server's rule grants them. It may grant root more, which is
 * the server's to say.
 */
static void judge_directory(const struct grant_context *g, int fd, const struct statx *stx,
	const struct broker_cred *cred, struct broker_open_reply *reply)
{
	const struct access_file file = file_of(g, fd, stx);
	int r = g->server->access(&file, cred, false);

	reply->reason = REASON_NOT_REGULAR;
	if (r > 0)
		reply->access = (uint32_t)(r & NFS_ACCESS_READ) | ((r & NFS_ACCESS_EXECUTE) ? NFS_ACCESS_LOOKUP : 0);
}

void grant_open(const struct grant_context *g, const struct broker_open *request, struct broker_open_reply *reply,
	struct grant *ret)
{
	_cleanup_close_ int fd = export_mount_resolve(g->at->mount, &g->at->handle);
	struct access_file file;
	enum reason reason;
	struct statx stx;
	bool lacks;
	int r;

	*ret = (struct grant){.kept = -1, .given = -1};
	*reply = (struct broker_open_reply){0};
	if (fd < 0) {
		fail(reply, -ESTALE, REASON_BAD_HANDLE);
		return;
	}
	r = grant_attributes(fd, &stx, &reply->attr);
	if (r < 0) {
		fail(reply, r, REASON_BAD_HANDLE);
		return;
	}
	if ((request->flags & BROKER_OPEN_ATTR) != 0)
		return;
	r = grant_squash_untold(g, &request->cred, &ret->cred, &lacks, &reason);
	if (r >= 0 && lacks && ret->cred.uid != stx.stx_uid) {
		r = -EACCES;
		reason = REASON_GROUPS;
	}
	if (r < 0) {
		fail(reply, r, reason);
		return;
	}
	if (S_ISDIR(stx.stx_mode)) {
		judge_directory(g, fd, &stx, &ret->cred, reply);
		return;
	}
	if (!S_ISREG(stx.stx_mode)) {
		reply->reason = REASON_NOT_REGULAR;
		return;
	}
	file = file_of(g, fd, &stx);
	judge(g, &file, &stx, request->flags, NULL, reply, ret);
}

bool grant_made(const struct grant_context *g, int *fd, const struct statx *stx, uint32_t flags,
	struct broker_open_reply *reply, struct grant *ret)
{
	const struct access_file file = {.fd = *fd,
		.mode = stx->stx_mode,
		.uid = stx->stx_uid,
		.gid = stx->stx_gid,
		.append_only = (stx->stx_attributes & STATX_ATTR_APPEND) != 0};

	if (!S_ISREG(stx->stx_mode) || stx->stx_nlink == 0 || export_mount_has_judge(g->at->mount))
		return false;
	judge(g, &file, stx, flags, fd, reply, ret);
	return true;
}
