/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fuse/known/cache.h"
#include "fuse/known/known_parts.h"
#include "table/keyed_hash.h"

static size_t name_key(struct known_key *k, const struct inode *dir, uint64_t epoch, const char *name)
{
	/* Room for one byte more than the longest name: a longer name must not be found under its first bytes. */
	return known_make_key(k, dir, epoch, name, strnlen(name, sizeof(k->bytes)));
}

static void drop_name(struct fs *fs, const struct inode *dir, uint64_t epoch, const char *name)
{
	struct known_key k;
	size_t size = name_key(&k, dir, epoch, name);

	cache_drop(fs->names, &k, size);
}

/* ---- directories that this mount has made ---- */

static uint64_t number_of(const char *name)
{
	return keyed_hash(name, strlen(name));
}

/*
 * True if the directory is known whole in this epoch, and has not the name; false for a name that is too long, of which
 * the server says so. The caller holds the directory's lock.
 */
static bool lacks(const struct fs *fs, const struct inode *dir, uint64_t epoch, const char *name)
{
	const struct known_whole *w = dir->known.whole;

	return w && w->epoch == epoch && known_is_watched(fs, dir) && strlen(name) <= NFS_NAME_MAX &&
	       !number_set_has(&w->names, number_of(name));
}

void known_no_more_whole(struct inode *dir)
{
	if (dir->known.whole)
		number_set_clear(&dir->known.whole->names);
	free(STEAL_PTR(dir->known.whole));
}

void known_new_directory(struct fs *fs, struct inode *dir, const struct nfs_call *mkdir, uint64_t asked)
{
	LOCKED(&dir->lock);
	if (known_is_outdated(dir, asked) || !attr_memory_is_version(&dir->attrs, &mkdir->attr))
		return;
	if (mkdir->born != 0) {
		dir->known.lease = mkdir->born;
		dir->known.born = true;
		fs->has_born = true;
	}
	dir->known.no_acl |= mkdir->no_acl;
	known_no_more_whole(dir);
	if (mkdir->empty) {
		if (!dir->known.company_noticed)
			dir->known.company_ms = 0;
		dir->known.whole = calloc(1, sizeof(*dir->known.whole));
	}
	if (dir->known.whole)
		dir->known.whole->epoch = dir->known.epoch;
}

void known_may_have(struct inode *dir, const char *name)
{
	LOCKED(&dir->lock);
	struct known_whole *w = dir->known.whole;

	if (w && (w->epoch != dir->known.epoch || number_set_add(&w->names, number_of(name), KNOWN_MADE) < 0))
		known_no_more_whole(dir);
}

/*
 * The caller holds the directory's lock from its check of the epoch until the name is remembered, because a newer
 * answer must not be overwritten.
 */
static void put_name(struct fs *fs, struct inode *dir, const char *name, const struct nfs_fh *fh)
{
	static const struct nfs_fh nobody;
	struct known_key k;
	size_t size = name_key(&k, dir, dir->known.epoch, name);

	if (fh && lacks(fs, dir, dir->known.epoch, name)) /* somebody else has made it */
		known_no_more_whole(dir);
	cache_put(fs->names, &k, size, fh ? fh : &nobody, sizeof(*fh));
}

bool known_name_listed(struct fs *fs, struct inode *dir, uint64_t epoch, const char *name, const struct nfs_fh *fh,
	uint64_t asked)
{
	LOCKED(&dir->lock);
	if (epoch != dir->known.epoch || known_is_outdated(dir, asked))
		return false;
	put_name(fs, dir, name, fh);
	return true;
}

void known_name(struct fs *fs, struct inode *dir, const char *name, const struct nfs_fh *fh, uint64_t asked)
{
	LOCKED(&dir->lock);
	if (known_is_outdated(dir, asked))
		drop_name(fs, dir, dir->known.epoch, name);
	else
		put_name(fs, dir, name, fh);
}

static bool find_name(struct fs *fs, const struct inode *dir, uint64_t epoch, const char *name, struct nfs_fh *ret)
{
	struct known_key k;
	size_t size = name_key(&k, dir, epoch, name);

	return cache_get(fs->names, &k, size, ret, sizeof(*ret));
}

/* The same; length 0 also for a name that a directory has not that is known whole. Takes the directory's lock. */
static bool find_or_lacks(struct fs *fs, struct inode *dir, uint64_t epoch, const char *name, struct nfs_fh *ret)
{
	if (find_name(fs, dir, epoch, name, ret))
		return true;
	LOCKED(&dir->lock);
	ret->len = 0;
	return lacks(fs, dir, epoch, name);
}

void known_named(struct fs *fs, struct inode *i, struct inode *dir, const char *name, const struct timespec *ctime)
{
	uint64_t epoch = ctime ? known_epoch(dir) : 0, bit = named_bit(&dir->fh, name);
	struct nfs_fh fh;

	if (i->type != S_IFREG)
		return;
	if (epoch != 0 && (!find_name(fs, dir, epoch, name, &fh) || !nfs_fh_equal(&fh, &i->fh)))
		epoch = 0;
	LOCKED(&i->lock);
	if (ctime)
		named_found(&i->named, &dir->fh, epoch, bit, ctime, i->known.named_ms <= work_ms());
	else
		named_told(&i->named, bit);
}

enum named_verdict known_judge_name(struct fs *fs, struct inode *i, const struct nfs_attr *now, struct nfs_fh *ret_dir)
{
	LOCKED(&i->lock);
	*ret_dir = i->named.dir;
	return named_judge(&i->named, now, fs->moved);
}

bool known_directory_is(struct fs *fs, struct inode *i, const struct nfs_fh *dir, const struct nfs_attr *now,
	const struct timespec *ctime)
{
	struct inode *d = inode_table_find(fs->inodes, dir);
	uint64_t epoch;
	bool same;

	if (!d)
		return false;
	{
		LOCKED(&d->lock);
		epoch = d->known.epoch;
		same = attr_memory_is_version(&d->attrs, now);
	}
	(void)inode_unref(fs->inodes, d);
	if (!same)
		return false;
	LOCKED(&i->lock);
	return named_directory_is(&i->named, dir, epoch, ctime);
}

void known_name_lost(struct fs *fs, const struct nfs_fh *dir)
{
	struct inode *d = inode_table_find(fs->inodes, dir);

	if (d)
		known_doubt(d);
	(void)inode_unref(fs->inodes, d);
}

void known_name_forget(struct fs *fs, struct inode *dir, const char *name)
{
	drop_name(fs, dir, known_epoch(dir), name);
}

/*
 * True if a lookup in the directory should ask although the name is known, from a listing by the NFS server: the
 * sidecar's answer says whether the directory has an ACL, and begins its notices. The caller holds its lock.
 */
static bool lacks_notices(const struct fs *fs, const struct inode *dir)
{
	return fs->leased != 0 && known_all_may_search(dir) && !(dir->known.no_acl && known_is_watched(fs, dir));
}

/*
 * Counts a lookup in the directory. True if the directory's names may be believed; *ret_epoch is its epoch. The first
 * lookup of an epoch may have to ask, so that the kernel can be told the names that follow.
 */
static bool walk(const struct fs *fs, struct inode *dir, uint64_t *ret_epoch)
{
	LOCKED(&dir->lock);
	*ret_epoch = dir->known.epoch;
	if (!known_names_are_believed(fs, dir))
		return false;
	dir->known.asks_acl |= ++dir->known.walks == KNOWN_WALKS;
	return dir->known.walks != 1 || !lacks_notices(fs, dir);
}

int known_lookup(struct fs *fs, struct inode *dir, const char *name, const struct nfs_cred *cred, struct inode **ret,
	struct nfs_attr *ret_attr, double *ret_seconds)
{
	struct nfs_fh fh;
	struct inode *i;
	uint64_t epoch;
	bool known;

	*ret = NULL;
	if (fs->options->lookupcache == LOOKUP_CACHE_NONE || !walk(fs, dir, &epoch) ||
		!known_may_search(fs, dir, epoch, cred) || !find_or_lacks(fs, dir, epoch, name, &fh))
		return -EAGAIN;
	if (fh.len == 0)
		return fs->options->lookupcache == LOOKUP_CACHE_ALL ? -ENOENT : -EAGAIN;
	i = inode_table_find(fs->inodes, &fh);
	if (!i)
		return -EAGAIN;
	if (is_special_file(i->type)) { /* the file may have been changed through a decoy */
		(void)inode_unref(fs->inodes, i);
		return -EAGAIN;
	}
	{
		LOCKED(&i->lock);
		*ret_seconds = known_believable(fs, i);
		*ret_attr = i->attrs.attr;
		known = *ret_seconds > 0;
		*ret_seconds = i->known.asked < i->known.expired ? 0 : known_told(i, *ret_seconds);
	}
	*ret = i;
	return known ? 0 : -EAGAIN;
}

struct inode *known_file(struct fs *fs, struct inode *dir, const char *name)
{
	struct nfs_fh fh;

	return find_name(fs, dir, known_epoch(dir), name, &fh) ? inode_table_find(fs->inodes, &fh) : NULL;
}

bool known_owner(struct fs *fs, struct inode *dir, const char *name, struct inode **ret)
{
	struct nfs_fh fh;
	uint64_t epoch;

	if (!known_current_epoch(fs, dir, &epoch) || !find_or_lacks(fs, dir, epoch, name, &fh))
		return false;
	*ret = fh.len > 0 ? inode_table_find(fs->inodes, &fh) : NULL;
	return fh.len == 0 || *ret;
}
