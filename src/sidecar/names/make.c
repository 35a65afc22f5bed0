/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/names/change_parts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/util.h"
#include "setattr/access_acl.h"
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

/* Fills the reply with handle and attributes of the new file. */
static int describe(struct name_change *c, int fd, mode_t type)
{
	struct nfs_handle handle = c->at.handle;
	int r = grant_attributes(fd, &c->new, &c->made.open.attr);

	if (r >= 0 && (c->made.open.attr.mode & S_IFMT) != type)
		r = -ESTALE;
	if (r >= 0)
		r = nfs_handle_read(fd, &handle);
	return r < 0 ? r : c->server->encode(&handle, &c->made.fh);
}

/*
 * Describes the new file, by its descriptor or by its name. If another process has taken the name away since, or there
 * is no memory, the reply has no handle, and the client looks the name up.
 */
static void describe_new(struct name_change *c, const char *name, mode_t type)
{
	_cleanup_close_ int opened = -1;
	int fd;

	if (S_ISDIR(type))
		c->file = names_open_directory(c->dir.fd, name);
	if (c->file < 0)
		opened = names_open(c->dir.fd, name);
	fd = c->file >= 0 ? c->file : opened;
	if (fd >= 0 && describe(c, fd, type) >= 0)
		return;
	c->made.fh = (struct broker_fh){0};
	c->made.open.attr = (struct broker_attr){0};
}

/* The kernel has made nothing. */
static void refuse(struct name_change *c, int error)
{
	if (error == -EEXIST)
		c->made.error = error;
	else
		name_change_refuse(c, error, REASON_SERVER_DECIDES);
}

/* EEXIST is the server's answer only to a caller who may change names; others get EACCES from it. */
static int judge(int result, const struct names_directory *dir)
{
	return result == -EEXIST && !names_directory_may_change(dir) ? -EACCES : result;
}

static int make(struct name_change *c)
{
	return c->type == BROKER_MAKE ? make_by(&c->request.make, c->dir.fd, &c->file)
				      : symlink_by(&c->request.symlink, c->dir.fd);
}

void change_make(struct name_change *c)
{
	bool file = c->type == BROKER_MAKE && S_ISREG(c->request.make.mode);
	int r;

	c->made = (struct broker_made){0};
	names_directory_before(&c->dir, &c->made.dir);
	r = thread_cred_become(&c->cred);
	if (r >= 0)
		r = judge(make(c), &c->dir);
	thread_cred_restore();
	names_directory_after(&c->dir, &c->made.dir);
	if (r == -EEXIST && file && (c->request.make.flags & BROKER_CHANGE_EXCLUSIVE) == 0)
		r = -EAGAIN; /* the server opens what is there */
	if (r < 0)
		refuse(c, r);
	else if (c->type == BROKER_MAKE)
		describe_new(c, c->request.make.name, c->request.make.mode & S_IFMT);
	else
		describe_new(c, c->request.symlink.name, S_IFLNK);
}

void name_change_grant(struct name_change *c, const struct grant_context *g, struct grant *ret)
{
	struct broker_made *reply = &c->made;
	struct broker_open open = {.fh = reply->fh,
		.cred = c->request.make.cred,
		.flags = c->request.make.open_flags & ~(uint32_t)BROKER_OPEN_ATTR};
	struct broker_open_reply granted = {.attr = reply->open.attr};

	*ret = (struct grant){.kept = -1, .given = -1, .cred = c->cred};
	if (!grant_made(g, &c->file, &c->new, open.flags, &granted, ret))
		grant_open(g, &open, &granted, ret);
	if (granted.error < 0)
		granted = (struct broker_open_reply){.reason = granted.reason, .attr = reply->open.attr};
	reply->open = granted;
}

void name_change_look_into(struct name_change *c)
{
	struct broker_attr now;
	struct statx stx;

	if (c->file < 0 || grant_attributes(c->file, &stx, &now) < 0)
		return;
	/* After the attributes were read: an ACL or a name that comes later changes them. */
	now.flags = access_acl_of_directory(c->file) | names_directory_empty(c->file);
	c->made.open.attr = now;
}
