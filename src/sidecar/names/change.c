/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/names/change.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "setattr/setattr.h"
#include "sidecar/backing/thread_cred.h"
#include "sidecar/names/change_parts.h"

#define END_LEASE_TRIES 10

struct name_change *name_change_new(uint32_t type, const struct server_kind *server, const void *request, size_t length)
{
	struct name_change *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->type = type;
	c->server = server;
	memcpy(&c->request, request, MIN(length, sizeof(c->request)));
	c->dir.fd = c->dir2.fd = c->file = c->kept = -1;
	return c;
}

struct name_change *name_change_free(struct name_change *c)
{
	if (c == NULL)
		return NULL;
	names_directory_close(&c->dir);
	names_directory_close(&c->dir2);
	close_fdp(&c->file);
	close_fdp(&c->kept);
	(void)export_mount_unref(c->mount);
	free(c->entries);
	free(c);
	return NULL;
}

void name_change_refuse(struct name_change *c, int error, enum reason reason)
{
	if (name_change_makes(c))
		c->made = (struct broker_made){.error = error, .reason = reason};
	else if (c->type == BROKER_LOOKUP)
		c->found = (struct broker_found){.error = error, .reason = reason};
	else if (c->type == BROKER_LIST)
		c->listed = (struct broker_listed){.error = error, .reason = reason};
	else
		c->changed = (struct broker_changed){.error = error, .reason = reason};
}

bool name_change_makes(const struct name_change *c)
{
	return c->type == BROKER_MAKE || c->type == BROKER_SYMLINK;
}

const void *name_change_reply(const struct name_change *c)
{
	if (c->type == BROKER_LOOKUP)
		return &c->found;
	if (c->type == BROKER_LIST)
		return &c->listed;
	return name_change_makes(c) ? (const void *)&c->made : &c->changed;
}

bool name_change_took(const struct name_change *c)
{
	uint32_t flags = c->type == BROKER_REMOVE ? c->request.remove.flags : c->request.rename.flags;

	return (c->type == BROKER_REMOVE || c->type == BROKER_RENAME) && c->changed.error == 0 &&
	       c->changed.reason == REASON_NONE && change_server_remembers(c) && (flags & BROKER_CHANGE_LAZY) == 0;
}

/* ---- the change ---- */

/* The path by which the kernel finds an O_PATH descriptor of this thread's table. */
struct fd_path {
	char text[48];
};

static struct fd_path path_of(int fd)
{
	struct fd_path p;

	(void)snprintf(p.text, sizeof(p.text), "/proc/thread-self/fd/%d", fd);
	return p;
}

/* Takes or gives up a lease. The file's owner may do both without CAP_LEASE. */
static int set_lease(const struct name_change *c, int fd, int kind, uid_t file_owner)
{
	struct broker_cred owner = c->cred;
	int r;

	owner.uid = file_owner;
	r = thread_cred_become(&owner);
	if (r >= 0 && fcntl(fd, F_SETLEASE, kind) < 0)
		r = -errno;
	thread_cred_restore();
	return r;
}

/* True for a regular file that has one name, or none. */
static bool has_one_name(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink <= 1;
}

/* True if the session's kept descriptor is of the file that loses the name. */
static bool is_kept(const struct name_change *c, const struct stat *victim)
{
	struct stat kept;

	return c->kept >= 0 && fstat(c->kept, &kept) >= 0 && kept.st_dev == victim->st_dev &&
	       kept.st_ino == victim->st_ino;
}

/*
 * NFS-Ganesha keeps files open that its clients have read or written. A file that loses its last name past Ganesha
 * keeps its space until Ganesha closes it, perhaps for days, and no request by a handle makes Ganesha close it. So the
 * last name of a file goes only while no process has the file open. A write lease proves that (fs/locks.c
 * check_conflicting_open), and while it is held, no process opens the file.
 *
 * The kernel grants the lease to the only open descriptor of a file. If the session keeps one, for an idle backing id,
 * that one must have the lease. The kernel opens a file anew for each open file that uses the id, so an id in use is
 * seen as any other process's. Until the client releases the id, which it does when the kernel forgets the file, the
 * file without a name keeps its space, as after a REMOVE by NFS-Ganesha. If the sidecar is killed while it has the
 * lease, the id keeps the lease, too: an open of the file waits until the id is released, or for fs.lease-break-time.
 *
 * 0 with the descriptor that has the lease: c->kept, or one for end_lease(); -1: the file is no regular file, or the
 * name is not its last. -EBUSY if the file is open.
 */
static int lease_last_name(const struct name_change *c, int *ret_fd)
{
	struct fd_path path = path_of(c->file);
	_cleanup_close_ int opened = -1;
	int fd = c->kept;

	*ret_fd = -1;
	if (!has_one_name(&c->victim))
		return 0;
	if (!is_kept(c, &c->victim))
		fd = opened = open(path.text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || set_lease(c, fd, F_WRLCK, c->victim.st_uid) < 0)
		return -EBUSY;
	(void)steal_fd(&opened);
	*ret_fd = fd;
	return 0;
}

/*
 * The lease of a descriptor that the change has opened ends with it. A lease of the session's descriptor would stay
 * after this change. If the file gets another owner meanwhile, the former one may not give the lease up, so it is tried
 * again.
 */
static void end_lease(const struct name_change *c, int fd)
{
	struct stat st = c->victim;
	unsigned tries = END_LEASE_TRIES;

	if (fd != c->kept)
		(void)close_fd(fd);
	else
		while (fd >= 0 && set_lease(c, fd, F_UNLCK, st.st_uid) == -EACCES && --tries > 0)
			(void)fstat(fd, &st);
}

/* The directory that loses a name by a REMOVE, or in which a RENAME may replace a file. */
static const struct names_directory *victims_directory(const struct name_change *c)
{
	return c->dir2.fd >= 0 ? &c->dir2 : &c->dir;
}

/*
 * Opens what a REMOVE or RENAME takes its name from, unless that is done; only a server that remembers makes that
 * necessary. 0 also if nothing has the name.
 */
static int open_victim(struct name_change *c)
{
	const struct names_directory *dir = victims_directory(c);
	int r;

	if (c->file >= 0 || (c->type != BROKER_REMOVE && c->type != BROKER_RENAME) || !change_server_remembers(c))
		return 0;
	r = names_open(dir->fd, c->type == BROKER_REMOVE ? c->request.remove.name : c->request.rename.name2);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	c->file = r;
	if (fstat(c->file, &c->victim) >= 0 && c->victim.st_dev == dir->device)
		return 0;
	close_fdp(&c->file);
	return -EXDEV; /* a subvolume of btrfs */
}

/* True if a REMOVE or RENAME takes the name of a file that open_victim() has opened. */
static bool has_victim(const struct name_change *c)
{
	return (c->type == BROKER_REMOVE || c->type == BROKER_RENAME) && c->file >= 0;
}

/* True if the caller may take the file's name from the directory (fs/namei.c may_delete). */
static bool may_take_name(const struct name_change *c, const struct names_directory *d)
{
	bool may = thread_cred_become(&c->cred) >= 0 && names_directory_may_change(d);

	thread_cred_restore();
	return may && ((d->mode & S_ISVTX) == 0 || c->cred.uid == 0 || c->cred.uid == d->uid ||
			      c->cred.uid == c->victim.st_uid);
}

/*
 * Opens what a REMOVE or RENAME takes its name from, and takes the lease. Others wait for a lease, and an open breaks
 * the leases of others: so neither happens for a caller who may not take the name.
 */
static int find_victim(struct name_change *c, int *ret_lease)
{
	int r = open_victim(c);

	*ret_lease = -1;
	if (r < 0 || !has_victim(c))
		return r;
	return may_take_name(c, victims_directory(c)) ? lease_last_name(c, ret_lease) : -EACCES;
}

bool name_change_victim(struct name_change *c, struct broker_fh *ret)
{
	struct nfs_handle handle = c->at.handle;

	return open_victim(c) >= 0 && has_victim(c) && has_one_name(&c->victim) &&
	       nfs_handle_read(c->file, &handle) >= 0 && c->server->encode(&handle, ret) >= 0;
}

static int remove_name(const struct name_change *c)
{
	const struct broker_remove *q = &c->request.remove;
	bool directory = (q->flags & BROKER_CHANGE_DIRECTORY) != 0;

	return unlinkat(c->dir.fd, q->name, directory ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;
}

static int rename_name(const struct name_change *c)
{
	const struct broker_rename *q = &c->request.rename;
	struct stat st;

	if (change_server_remembers(c)) {
		if (fstatat(c->dir.fd, q->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		/* A subvolume of btrfs is another filesystem. Ganesha would go on to find a directory's old parent. */
		if (st.st_dev != c->dir.device || (c->dir2.fd >= 0 && S_ISDIR(st.st_mode)))
			return -EOPNOTSUPP;
	}
	return renameat(c->dir.fd, q->name, c->dir2.fd >= 0 ? c->dir2.fd : c->dir.fd, q->name2) < 0 ? -errno : 0;
}

static int link_file(const struct name_change *c)
{
	const struct broker_link *q = &c->request.link;
	struct fd_path path = path_of(c->file);

	return linkat(AT_FDCWD, path.text, c->dir.fd, q->name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/*
 * With the thread's present credentials. 0, or the errno that is the server's answer, too; *ret_sure is false if not.
 */
static int change(const struct name_change *c, bool *ret_sure)
{
	int r;

	*ret_sure = false;
	switch (c->type) {
	case BROKER_REMOVE:
		r = remove_name(c);
		*ret_sure = r == -ENOENT && names_directory_may_change(&c->dir);
		break;
	case BROKER_RENAME:
		r = rename_name(c);
		*ret_sure = r == -ENOENT && names_directory_may_change(&c->dir) &&
			    (c->dir2.fd < 0 || names_directory_may_change(&c->dir2));
		break;
	case BROKER_LINK:
		r = link_file(c);
		*ret_sure = r == -EEXIST && names_directory_may_change(&c->dir);
		break;
	default:
		r = setattr_apply(c->file, &c->request.setattr);
		break;
	}
	return r;
}

/* ---- the reply ---- */

/*
 * The server's order: what a directory names, and then the file (fs/nfsd/vfs.c commit_metadata). MAKE and SYMLINK sync
 * the directory alone.
 */
static int sync_all(const struct name_change *c)
{
	bool has_file = c->type == BROKER_LINK || c->type == BROKER_SETATTR;
	struct fd_path path = path_of(c->file);
	_cleanup_close_ int file = -1;
	int r = names_directory_sync(&c->dir);

	if (r >= 0)
		r = names_directory_sync(&c->dir2);
	if (r < 0 || !has_file)
		return r;
	/* It is a regular file or a directory. The open may wait for the holder of a lease. */
	file = open(path.text, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	return file < 0 || fsync(file) < 0 ? -errno : 0;
}

static void make(struct name_change *c)
{
	int r = 0;

	change_make(c);
	if (c->stable && c->made.error == 0 && c->made.reason == REASON_NONE)
		r = sync_all(c);
	if (r < 0)
		c->made.error = r;
}

/*
 * The attributes of the file, after the change; and the handle of a file that has lost a name, unless that was its
 * last.
 */
static void tell_file(struct name_change *c)
{
	bool victim = c->type == BROKER_REMOVE || c->type == BROKER_RENAME;
	struct broker_changed *reply = &c->changed;
	struct nfs_handle handle = c->at.handle;
	struct statx stx;

	if (c->file < 0 || (victim && S_ISDIR(c->victim.st_mode)) || grant_attributes(c->file, &stx, &reply->attr) < 0)
		return;
	if (victim && (stx.stx_nlink == 0 || nfs_handle_read(c->file, &handle) < 0 ||
			      c->server->encode(&handle, &reply->fh) < 0))
		reply->attr = (struct broker_attr){0};
	else
		reply->has_attr = 1;
}

void name_change_run(struct name_change *c)
{
	struct broker_changed *reply = &c->changed;
	bool sure = false;
	int lease, r;

	if (name_change_makes(c)) {
		make(c);
		return;
	}
	if (c->type == BROKER_LOOKUP) {
		change_look_up(c);
		return;
	}
	if (c->type == BROKER_LIST) {
		change_list(c);
		return;
	}
	*reply = (struct broker_changed){0};
	if (c->kept >= 0) { /* the session has waited for its lock */
		names_directory_look(&c->dir);
		names_directory_look(&c->dir2);
	}
	names_directory_before(&c->dir, &reply->dir);
	names_directory_before(&c->dir2, &reply->dir2);
	r = find_victim(c, &lease);
	if (r >= 0)
		r = thread_cred_become(&c->cred);
	if (r >= 0)
		r = change(c, &sure);
	thread_cred_restore();
	end_lease(c, lease);
	names_directory_after(&c->dir, &reply->dir);
	names_directory_after(&c->dir2, &reply->dir2);
	if (c->type == BROKER_RENAME && c->dir2.fd < 0)
		reply->dir2 = reply->dir;
	/*
	 * The errno may come from what the sidecar found with its own rights, which is none of the client's business.
	 */
	if (r < 0 && !sure) {
		name_change_refuse(c, -EAGAIN, REASON_SERVER_DECIDES);
		return;
	}
	if (r >= 0)
		tell_file(c);
	if (r >= 0 && c->stable)
		r = sync_all(c);
	/* When the client has the reply, the session has no more descriptors of the file than its id's. */
	if (c->type == BROKER_SETATTR)
		close_fdp(&c->file);
	reply->error = r;
}
