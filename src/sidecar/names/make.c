/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/names/make.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/util.h"
#include "sidecar/backing/thread_cred.h"

/* As EXPORT_MOUNT_READ opens a file: a grant may keep the descriptor. */
#define MAKE_FILE (O_CREAT | O_EXCL | O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC)

/* Makes what the request says, with the thread's present credentials. *ret_fd: a descriptor of a regular file. */
static int make_by(const struct broker_make *m, int dir, int *ret_fd)
{
	mode_t type = m->mode & S_IFMT, mode = m->mode & 0777;
	int r = -1;

	switch (type) {
	case S_IFREG:
		r = *ret_fd = openat(dir, m->name, MAKE_FILE, mode);
		break;
	case S_IFDIR:
		r = mkdirat(dir, m->name, mode);
		break;
	case S_IFIFO:
	case S_IFSOCK:
		r = mknodat(dir, m->name, type | mode, 0);
		break;
	case S_IFCHR:
	case S_IFBLK:
		r = mknodat(dir, m->name, type | mode, makedev(m->rdev_major, m->rdev_minor));
		break;
	default:
		errno = EINVAL;
	}
	return r < 0 ? -errno : 0;
}

static int symlink_by(const struct broker_symlink *s, int dir)
{
	return symlinkat(s->target, dir, s->name) < 0 ? -errno : 0;
}

/* Fills the reply with handle and attributes of the new file, and makes *at its place. */
static int describe(const struct grant_context *g, int fd, mode_t type, struct location *at, struct broker_made *reply,
	struct statx *ret_stx)
{
	int r = grant_attributes(fd, ret_stx, &reply->open.attr);

	if (r >= 0 && (ret_stx->stx_mode & S_IFMT) != type)
		r = -ESTALE;
	if (r >= 0)
		r = export_mount_handle(fd, &at->handle);
	return r < 0 ? r : g->server->encode(&at->handle, &reply->fh);
}

/*
 * Describes the new file, by its descriptor or by its name. If another process has taken the name away since, or there
 * is no memory, the reply has no handle, and the client looks the name up.
 */
static int describe_new(const struct grant_context *g, int fd, const struct names_directory *dir, const char *name,
	mode_t type, struct location *at, struct broker_made *reply, struct statx *ret_stx)
{
	_cleanup_close_ int opened = fd >= 0 ? -1 : names_open(dir->fd, name);
	int r = fd < 0 && opened < 0 ? opened : describe(g, fd >= 0 ? fd : opened, type, at, reply, ret_stx);

	if (r < 0) {
		reply->fh = (struct broker_fh){0};
		reply->open.attr = (struct broker_attr){0};
	}
	return r;
}

/* True if the name is plain, and the protocol knows all flags. */
static bool is_known(const char *name, size_t room, uint32_t flags)
{
	return names_is_plain(name, room) && names_are_flags(flags);
}

static void leave_to_server(struct broker_made *reply, int error)
{
	*reply = (struct broker_made){.error = error, .reason = REASON_SERVER_DECIDES};
}

/* The kernel has made nothing. */
static void refuse(struct broker_made *reply, int error)
{
	if (error == -EEXIST)
		reply->error = error;
	else
		leave_to_server(reply, error);
}

/* EEXIST is the server's answer only to a caller who may change names; others get EACCES from it. */
static int judge(int result, const struct names_directory *dir)
{
	return result == -EEXIST && !names_directory_may_change(dir) ? -EACCES : result;
}

static int find_directory(const struct grant_context *g, const struct broker_cred *asked, struct names_directory *dir,
	struct broker_cred *ret_cred)
{
	enum reason reason;
	int r;

	*dir = (struct names_directory){.fd = -1};
	r = grant_squash(g, asked, ret_cred, &reason);
	return r < 0 ? r : names_directory_open(g, ret_cred, true, dir);
}

/* Grants the new file at of_file->at as an OPEN would. A refusal leaves the file made, and its open asks again. */
static void grant_new(const struct grant_context *of_file, const struct broker_make *request,
	const struct broker_cred *cred, int *fd, const struct statx *stx, struct broker_made *reply,
	struct grant *ret_grant)
{
	struct broker_open open = {.fh = reply->fh,
		.cred = request->cred,
		.flags = request->open_flags & ~(uint32_t)BROKER_OPEN_ATTR};
	struct broker_open_reply granted = {.attr = reply->open.attr};

	ret_grant->cred = *cred;
	if (!grant_made(of_file, fd, stx, open.flags, &granted, ret_grant))
		grant_open(of_file, &open, &granted, ret_grant);
	if (granted.error < 0)
		granted = (struct broker_open_reply){.reason = granted.reason, .attr = reply->open.attr};
	reply->open = granted;
}

void names_make(struct grant_context *g, const struct broker_make *request, struct names_directory *dir,
	struct broker_made *reply, struct grant *ret_grant)
{
	struct location at = *g->at;
	struct grant_context of_file = *g;
	struct broker_cred cred;
	struct statx stx;
	_cleanup_close_ int fd = -1;
	int r = find_directory(g, &request->cred, dir, &cred);

	*ret_grant = (struct grant){.kept = -1, .given = -1};
	*reply = (struct broker_made){0};
	/* Ganesha and the kernel's server differ in what they do with set-id bits and the sticky bit. */
	if (r >= 0 && (!is_known(request->name, sizeof(request->name), request->flags) ||
			      (request->mode & ~(uint32_t)(S_IFMT | 0777)) != 0))
		r = -EINVAL;
	if (r < 0) {
		leave_to_server(reply, r);
		return;
	}
	names_directory_before(dir, &reply->dir);
	r = thread_cred_become(&cred);
	if (r >= 0)
		r = judge(make_by(request, dir->fd, &fd), dir);
	thread_cred_restore();
	names_directory_after(dir, &reply->dir);
	if (r == -EEXIST && S_ISREG(request->mode) && (request->flags & BROKER_CHANGE_EXCLUSIVE) == 0)
		r = -EAGAIN; /* the server opens what is there */
	if (r < 0)
		refuse(reply, r);
	else
		r = describe_new(g, fd, dir, request->name, request->mode & S_IFMT, &at, reply, &stx);
	if (r < 0 || !S_ISREG(request->mode))
		return;
	of_file.at = &at;
	grant_new(&of_file, request, &cred, &fd, &stx, reply, ret_grant);
}

/* Reading the new directory must not change its atime, which needs CAP_FOWNER. */
void names_look_into(const struct names_directory *dir, const char *name, struct broker_attr *attr)
{
	_cleanup_close_ int fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NOATIME | O_NOFOLLOW | O_CLOEXEC);
	struct broker_attr now;
	struct statx stx;

	if (fd < 0 || grant_attributes(fd, &stx, &now) < 0 || now.fileid != attr->fileid)
		return;
	*attr = now;
	/* After the attributes were read: an ACL or a name that comes later changes them. */
	attr->flags = names_directory_acl(fd) | names_directory_empty(fd);
}

void names_symlink(struct grant_context *g, const struct broker_symlink *request, struct names_directory *dir,
	struct broker_made *reply)
{
	struct location at = *g->at;
	struct broker_cred cred;
	struct statx stx;
	int r = find_directory(g, &request->cred, dir, &cred);

	*reply = (struct broker_made){0};
	if (r >= 0 && (!is_known(request->name, sizeof(request->name), request->flags) ||
			      !names_is_text(request->target, sizeof(request->target))))
		r = -EINVAL;
	if (r < 0) {
		leave_to_server(reply, r);
		return;
	}
	names_directory_before(dir, &reply->dir);
	r = thread_cred_become(&cred);
	if (r >= 0)
		r = judge(symlink_by(request, dir->fd), dir);
	thread_cred_restore();
	names_directory_after(dir, &reply->dir);
	if (r < 0)
		refuse(reply, r);
	else
		(void)describe_new(g, -1, dir, request->name, S_IFLNK, &at, reply, &stx);
}
