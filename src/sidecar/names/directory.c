/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/names/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "setattr/access_acl.h"
#include "sidecar/backing/thread_cred.h"

bool names_is_text(const char *text, size_t room)
{
	static const char nuls[BROKER_MAX_TARGET + 1];
	size_t length = strnlen(text, room);

	return length > 0 && length < room && room <= sizeof(nuls) && memcmp(text + length, nuls, room - length) == 0;
}

bool names_is_plain(const char *name, size_t room)
{
	return names_is_text(name, room) && strchr(name, '/') == NULL && !is_dot(name);
}

bool names_are_flags(uint32_t flags)
{
	return (flags & ~(uint32_t)(BROKER_CHANGE_LAZY | BROKER_CHANGE_EXCLUSIVE | BROKER_CHANGE_DIRECTORY)) == 0;
}

static void take_attributes(struct names_directory *d, const struct statx *s)
{
	d->mode = s->stx_mode;
	d->uid = s->stx_uid;
	d->version = (struct broker_version){.size = s->stx_size,
		.mtime_sec = s->stx_mtime.tv_sec,
		.mtime_nsec = s->stx_mtime.tv_nsec,
		.ctime_sec = s->stx_ctime.tv_sec,
		.ctime_nsec = s->stx_ctime.tv_nsec};
}

static void begin(struct names_directory *d)
{
	d->alone = alone_begin(0, d->turn);
	d->begun = true;
}

/*
 * The directory's number for alone.h: of the filesystem's own handle, which does not depend on the export. The NFS
 * handle of an export's root does not have that, and another export may have the same directory below its root.
 */
static int find_turn(struct names_directory *d, const struct location *at)
{
	struct nfs_handle own = at->handle;
	int r = own.is_root ? nfs_handle_read(at->mount->root, &own) : 0;

	if (r >= 0)
		d->turn = keyed_hash(own.kernel, own.kernel_length);
	return r;
}

int names_directory_find(const struct location *at, struct names_directory *ret, struct statx *ret_stx)
{
	ret->fd = export_mount_take(at->mount, &at->handle, ret_stx);
	ret->at = at;
	return MIN(ret->fd, 0);
}

int names_directory_open(const struct grant_context *g, const struct broker_cred *cred, bool noticed,
	struct names_directory *ret)
{
	struct names_directory d = {.fd = -1, .noticed = noticed, .exact = g->server->exact_wcc && !noticed};
	struct access_file file;
	struct statx stx;
	int r = find_turn(&d, g->at);

	if (r >= 0) {
		begin(&d);
		r = names_directory_find(g->at, &d, &stx);
	}
	if (r >= 0 && !g->at->perms.write)
		r = -EROFS;
	if (r >= 0) {
		take_attributes(&d, &stx);
		d.device = makedev(stx.stx_dev_major, stx.stx_dev_minor);
		d.inode = stx.stx_ino;
		file = (struct access_file){.fd = d.fd, .mode = d.mode, .uid = d.uid, .gid = stx.stx_gid};
		r = g->server->may_change_names(&file, cred) ? 0 : -EACCES;
	}
	if (r < 0)
		names_directory_close(&d);
	else
		*ret = d;
	return r;
}

void names_directory_close(struct names_directory *d)
{
	if (d->begun)
		(void)alone_end(&d->alone);
	d->begun = false;
	if (d->at != NULL && d->fd >= 0)
		export_mount_keep(d->at->mount, &d->at->handle, steal_fd(&d->fd));
	close_fdp(&d->fd);
}

void names_directory_look(struct names_directory *d)
{
	struct statx stx;

	if (d->fd >= 0 && export_mount_attributes(d->fd, &stx) >= 0)
		take_attributes(d, &stx);
}

void names_directory_before(const struct names_directory *d, struct broker_wcc *ret)
{
	*ret = (struct broker_wcc){0};
	ret->has_before = d->fd >= 0 && !d->exact;
	if (ret->has_before)
		ret->before = d->version;
}

void names_directory_after(struct names_directory *d, struct broker_wcc *ret)
{
	struct statx stx;

	if (d->fd < 0)
		return;
	ret->has_after = grant_attributes(d->fd, &stx, &ret->after) >= 0;
	if (ret->has_after && d->noticed) /* an ACL that is set later changes the attributes */
		ret->after.flags = access_acl_of_directory(d->fd);
	if (d->begun && !alone_end(&d->alone))
		ret->has_before = 0;
	d->begun = false;
}

bool names_directory_may_change(const struct names_directory *d)
{
	return thread_cred_allows(d->fd, W_OK | X_OK);
}

int names_directory_sync(const struct names_directory *d)
{
	_cleanup_close_ int fd = d->fd < 0 ? -1 : openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (d->fd < 0)
		return 0;
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int names_directory_to_read(const struct grant_context *g, const struct broker_cred *asked, int flags,
	struct broker_cred *ret_cred)
{
	_cleanup_close_ int dir = export_mount_directory(g->at->mount, &g->at->handle);
	struct access_file file = {.fd = dir};
	struct broker_attr attr;
	enum reason reason;
	struct statx stx;
	bool may;
	int r = dir < 0 ? dir : grant_attributes(dir, &stx, &attr);

	if (r >= 0)
		r = grant_squash(g, asked, ret_cred, &reason);
	if (r < 0)
		return r;
	file.mode = stx.stx_mode;
	file.uid = stx.stx_uid;
	file.gid = stx.stx_gid;
	r = g->server->access(&file, ret_cred, false);
	if (r < 0 || (r & NFS_ACCESS_READ) == 0)
		return r < 0 ? r : -EACCES;
	may = thread_cred_become(ret_cred) >= 0 && thread_cred_allows(dir, R_OK);
	thread_cred_restore();
	if (!may)
		return -EACCES;
	r = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	return r < 0 ? -errno : r;
}

ssize_t names_directory_read(int fd, void *ret, size_t room)
{
	size_t used = 0;
	ssize_t size;

	while ((size = getdents64(fd, (char *)ret + used, room - used)) > 0)
		used += (size_t)size;
	if (size < 0)
		return errno == EINVAL ? -E2BIG : -errno; /* the next name does not fit */
	return (ssize_t)used;
}

int names_directory_digest(int fd, const struct hash_key *key, uint64_t *ret)
{
	_Alignas(struct dirent64) char entries[32768];
	unsigned names = 0;
	uint64_t sum = 0;
	ssize_t size;

	while ((size = getdents64(fd, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < size;) {
			const struct dirent64 *e = (const struct dirent64 *)(entries + at);

			at += e->d_reclen;
			if (is_dot(e->d_name))
				continue;
			if (++names > BROKER_MAX_DIGEST)
				return -E2BIG;
			sum += siphash_of_pair(key, e->d_ino, e->d_name, strlen(e->d_name));
		}
	*ret = sum;
	return size < 0 ? -errno : 0;
}
