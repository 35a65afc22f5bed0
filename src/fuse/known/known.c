/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/known/known.h"

#include <string.h>
#include <sys/stat.h>

#include "fuse/fs/fs.h"
#include "fuse/known/cache.h"

#define KERNEL_MS 10000 /* what it does with our answer takes it a moment, or longer */

/* What a name or a right depends on, and the name or the credential itself. */
struct key {
	uint64_t generation; /* of the directory's inode */
	uint64_t epoch;
	char bytes[NFS_NAME_MAX + 1];
};
_Static_assert(sizeof(struct key) <= CACHE_KEY_MAX, "a key is what a cache takes");
_Static_assert(sizeof(struct nfs_cred) <= NFS_NAME_MAX, "a credential fits where a name does");

static size_t make_key(struct key *k, const struct inode *dir, uint64_t epoch, const void *bytes, size_t size)
{
	k->generation = dir->generation;
	k->epoch = epoch;
	memcpy(k->bytes, bytes, size);
	return offsetof(struct key, bytes) + size;
}

static size_t name_key(struct key *k, const struct inode *dir, uint64_t epoch, const char *name)
{
	/* One byte more than a name can have: a longer one must not be found as its beginning. */
	return make_key(k, dir, epoch, name, strnlen(name, sizeof(k->bytes)));
}

static size_t rights_key(struct key *k, const struct inode *dir, uint64_t epoch, const struct nfs_cred *cred)
{
	size_t size = offsetof(struct nfs_cred, groups) + cred->ngroups * sizeof(cred->groups[0]);

	return make_key(k, dir, epoch, cred, size);
}

static struct attr_limits limits_of(const struct mount_options *o, const struct inode *i)
{
	if (o->noac)
		return (struct attr_limits){0};
	if (i->type == S_IFDIR)
		return (struct attr_limits){.min = o->acdirmin, .max = o->acdirmax};
	return (struct attr_limits){.min = o->acregmin, .max = o->acregmax};
}

/* With the lock: whether an answer to what was asked at that time may be older than a change of ours. */
static bool is_outdated(const struct inode *i, uint64_t asked)
{
	return i->known.changing > 0 || i->known.changed > asked;
}

/* With the lock. */
static unsigned take_attributes(const struct fs *fs, struct inode *i, const struct nfs_attr *attr, uint64_t asked)
{
	const struct attr_limits limits = limits_of(fs->options, i);

	i->known.asked = asked;
	return attr_memory_tell(&i->attrs, attr, &limits, now_ms());
}

/* With the lock. */
static bool all_may_search(const struct inode *dir)
{
	const uint32_t search = S_IXUSR | S_IXGRP | S_IXOTH;

	return (dir->attrs.attr.mode & search) == search;
}

static void make_kernel_forget(struct fs *fs)
{
	(void)fuse_lowlevel_notify_increment_epoch(fs->session); /* takes no lock, waits for nothing */
}

/* With the lock: not everybody may search the directory any more. */
static void forget_names(struct fs *fs, struct inode *dir)
{
	if (dir->known.believed_ms > now_ms())
		make_kernel_forget(fs);
	dir->known.believed_ms = 0;
}

/* With the lock. */
static void end_epoch(struct inode *i)
{
	i->known.epoch++;
	i->known.no_acl = false;
	i->known.asks_acl = i->known.believed_ms > now_ms();
	i->known.walks = 0;
}

/* With the lock. */
static bool same_rights(const struct inode *i, const struct nfs_attr *attr)
{
	const struct nfs_attr *known = &i->attrs.attr;

	return i->attrs.known && known->mode == attr->mode && known->uid == attr->uid && known->gid == attr->gid;
}

/* With the lock: the kernel will believe the attributes for so long. */
static double told(struct inode *i, double seconds)
{
	uint64_t now = now_ms();

	if (seconds > 0) {
		i->known.trusts_ms = MAX(i->known.trusts_ms, now + (uint64_t)(seconds * 1000) + KERNEL_MS);
		i->known.tellings++;
	}
	return seconds;
}

unsigned known_attributes(struct fs *fs, struct inode *i, const struct nfs_attr *attr, uint64_t asked)
{
	unsigned seconds;

	LOCKED(&i->lock);
	if (!attr_memory_is_version(&i->attrs, attr)) {
		i->known.mixed |= i->known.trusts_ms > now_ms();
		end_epoch(i);
	}
	if (!same_rights(i, attr))
		i->known.openers++;
	seconds = take_attributes(fs, i, attr, asked);
	if (!all_may_search(i))
		forget_names(fs, i);
	if (is_outdated(i, asked)) {
		attr_memory_doubt(&i->attrs);
		return 0;
	}
	return asked < i->known.expired ? 0 : (unsigned)told(i, seconds);
}

/* With the lock. */
static void doubt(struct inode *i)
{
	end_epoch(i);
	attr_memory_doubt(&i->attrs);
	i->known.changed = i->known.doubted = attr_clock_tick(); /* nor what was asked for until now */
}

void known_doubt(struct inode *i)
{
	LOCKED(&i->lock);
	doubt(i);
}

void known_stale(struct fs *fs)
{
	fs->went_stale = attr_clock_tick();
}

bool known_later(struct inode *i, uint64_t asked, uint64_t came_ms)
{
	LOCKED(&i->lock);
	return i->known.writers > 0 || is_outdated(i, asked) ||
	       attr_memory_left_ms(&i->attrs, came_ms) > i->attrs.interval * UINT64_C(1000);
}

/* With the lock. */
static bool is_believed(const struct fs *fs, const struct inode *i)
{
	return i->known.asked >= fs->went_stale && attr_memory_left_ms(&i->attrs, now_ms()) > 0;
}

bool known_believed(struct fs *fs, struct inode *i)
{
	LOCKED(&i->lock);
	return is_believed(fs, i);
}

void known_writer(struct inode *i, int step)
{
	i->known.writers += (unsigned)step;
	attr_memory_doubt(&i->attrs);
}

void known_change_begin(struct inode *i)
{
	LOCKED(&i->lock);
	i->known.changing++;
}

/* With the lock: whether nobody changed the directory between what is known and this change. */
static bool continues(const struct inode *i, const struct nfs_wcc *wcc, uint64_t asked)
{
	/* What came in between may be newer than this: answers come in any order. */
	if (!wcc || !wcc->has_before || !wcc->has_after || i->known.doubted > asked)
		return false;
	return attr_memory_is_version(&i->attrs,
		&(struct nfs_attr){.size = wcc->size_before, .mtime = wcc->mtime_before, .ctime = wcc->ctime_before});
}

bool known_change_end(struct fs *fs, struct inode *i, const struct nfs_wcc *wcc, uint64_t asked, uint64_t *ret_asked)
{
	LOCKED(&i->lock);
	bool alone = i->known.changing == 1 && i->known.changed <= asked;
	bool kept = continues(i, wcc, asked);

	i->known.changing--;
	if (kept) {
		i->known.changed = attr_clock_tick();
		(void)take_attributes(fs, i, &wcc->after, i->known.changed);
	} else {
		doubt(i);
	}
	*ret_asked = alone ? i->known.changed : 0;
	return kept;
}

void known_links_changed(struct fs *fs)
{
	fs->links_changed = attr_clock_tick();
}

uint64_t known_epoch(struct inode *dir)
{
	LOCKED(&dir->lock);
	return dir->known.epoch;
}

static void drop_name(struct fs *fs, const struct inode *dir, uint64_t epoch, const char *name)
{
	struct key k;
	size_t size = name_key(&k, dir, epoch, name);

	cache_drop(fs->names, &k, size);
}

/* With the lock, until it is remembered: what is newer must not come before. */
static void put_name(struct fs *fs, const struct inode *dir, const char *name, const struct nfs_fh *fh)
{
	static const struct nfs_fh nobody;
	struct key k;
	size_t size = name_key(&k, dir, dir->known.epoch, name);

	cache_put(fs->names, &k, size, fh ? fh : &nobody, sizeof(*fh));
}

bool known_name_listed(struct fs *fs, struct inode *dir, uint64_t epoch, const char *name, const struct nfs_fh *fh,
	uint64_t asked)
{
	LOCKED(&dir->lock);
	if (epoch != dir->known.epoch || is_outdated(dir, asked))
		return false;
	put_name(fs, dir, name, fh);
	return true;
}

void known_name(struct fs *fs, struct inode *dir, const char *name, const struct nfs_fh *fh, uint64_t asked)
{
	LOCKED(&dir->lock);
	if (is_outdated(dir, asked))
		drop_name(fs, dir, dir->known.epoch, name);
	else
		put_name(fs, dir, name, fh);
}

static bool find_name(struct fs *fs, const struct inode *dir, uint64_t epoch, const char *name, struct nfs_fh *ret)
{
	struct key k;
	size_t size = name_key(&k, dir, epoch, name);

	return cache_get(fs->names, &k, size, ret, sizeof(*ret));
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
		named_found(&i->named, &dir->fh, epoch, bit, ctime, i->known.named_ms <= now_ms());
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

void known_rights(struct fs *fs, struct inode *dir, const struct nfs_cred *cred, uint32_t allowed, uint64_t asked)
{
	struct key k;
	uint32_t before = 0;
	size_t size;

	LOCKED(&dir->lock);
	if (is_outdated(dir, asked))
		return;
	size = rights_key(&k, dir, dir->known.epoch, cred);
	(void)cache_get(fs->rights, &k, size, &before, sizeof(before));
	allowed |= before;
	cache_put(fs->rights, &k, size, &allowed, sizeof(allowed));
}

/* Without the groups it is shorter than any with them: nobody is taken for another. */
static size_t opener_key(struct key *k, const struct inode *i, const struct nfs_cred *cred, bool any_groups)
{
	if (any_groups)
		return make_key(k, i, i->known.openers, cred, offsetof(struct nfs_cred, ngroups));
	return rights_key(k, i, i->known.openers, cred);
}

struct told {
	struct opener opener;
	uint64_t asked;
	uint64_t until_ms;
};

void known_opener(struct fs *fs, struct inode *i, const struct nfs_cred *cred, const struct opener *o, uint64_t asked)
{
	struct told told;
	struct key k;
	size_t size;

	LOCKED(&i->lock);
	if (is_outdated(i, asked))
		return;
	memset(&told, 0, sizeof(told)); /* what lies between the members is kept, too */
	told.opener = *o;
	told.asked = asked;
	told.until_ms = now_ms() + limits_of(fs->options, i).min * UINT64_C(1000);
	size = opener_key(&k, i, cred, o->any_groups);
	cache_put(fs->rights, &k, size, &told, sizeof(told));
}

/* With the lock. */
static bool was_told(struct fs *fs, const struct inode *i, const struct nfs_cred *cred, bool any_groups,
	struct told *ret)
{
	struct key k;
	size_t size = opener_key(&k, i, cred, any_groups);

	return cache_get(fs->rights, &k, size, ret, sizeof(*ret)) && ret->asked >= fs->went_stale &&
	       ret->until_ms > now_ms();
}

bool known_may_open(struct fs *fs, struct inode *i, const struct nfs_cred *cred, bool has_groups, struct opener *ret)
{
	struct told told;

	LOCKED(&i->lock);
	if (i->known.changing > 0 ||
		(!was_told(fs, i, cred, true, &told) && !(has_groups && was_told(fs, i, cred, false, &told))))
		return false;
	*ret = told.opener;
	return true;
}

bool known_attributes_expire(struct inode *i, uint64_t *ret_tellings)
{
	LOCKED(&i->lock);
	i->known.expired = MAX(i->known.expired, attr_clock_tick());
	*ret_tellings = i->known.tellings;
	return i->known.trusts_ms > now_ms();
}

/* With the lock. */
static void believes_nothing(struct inode *i)
{
	i->known.trusts_ms = 0;
	i->known.mixed = false;
}

void known_attributes_taken_back(struct inode *i, uint64_t tellings)
{
	LOCKED(&i->lock);
	if (i->known.tellings == tellings)
		believes_nothing(i);
}

void known_attributes_written(struct inode *i)
{
	LOCKED(&i->lock);
	believes_nothing(i);
}

bool known_kernel_may_differ(struct inode *i, const struct nfs_attr *attr, uint64_t *ret_tellings)
{
	LOCKED(&i->lock);
	*ret_tellings = i->known.tellings;
	return i->known.mixed || !attr_memory_is_version(&i->attrs, attr);
}

void known_retired(struct inode *i)
{
	LOCKED(&i->lock);
	i->known.expired = UINT64_MAX;
}

void known_openers_change(struct inode *i)
{
	LOCKED(&i->lock);
	i->known.openers++;
}

/* The epoch of a directory whose attributes may be believed. */
static bool current_epoch(const struct fs *fs, struct inode *dir, uint64_t *ret)
{
	LOCKED(&dir->lock);
	*ret = dir->known.epoch;
	return is_believed(fs, dir);
}

static bool has_rights(struct fs *fs, const struct inode *dir, uint64_t epoch, const struct nfs_cred *cred,
	uint32_t bits)
{
	struct key k;
	size_t size = rights_key(&k, dir, epoch, cred);
	uint32_t allowed;

	return cache_get(fs->rights, &k, size, &allowed, sizeof(allowed)) && (allowed & bits) == bits;
}

bool known_allowed(struct fs *fs, struct inode *dir, const struct nfs_cred *cred, uint32_t bits)
{
	uint64_t epoch;

	return dir->type == S_IFDIR && current_epoch(fs, dir, &epoch) && has_rights(fs, dir, epoch, cred, bits);
}

/* With the lock: 0 when the attributes may not be told again. */
static double believable(const struct fs *fs, const struct inode *i)
{
	const struct nfs_attr *a = &i->attrs.attr;

	if (i->known.changing > 0 || i->known.writers > 0 || !is_believed(fs, i))
		return 0;
	if (i->type != S_IFDIR && a->nlink > 1 && i->known.asked < fs->links_changed)
		return 0;
	return (double)attr_memory_left_ms(&i->attrs, now_ms()) / 1000;
}

/* The same, for who looks for a name there. */
static bool walk(const struct fs *fs, struct inode *dir, uint64_t *ret_epoch)
{
	LOCKED(&dir->lock);
	*ret_epoch = dir->known.epoch;
	if (!is_believed(fs, dir))
		return false;
	dir->known.asks_acl |= ++dir->known.walks == KNOWN_WALKS;
	return true;
}

int known_lookup(struct fs *fs, struct inode *dir, const char *name, const struct nfs_cred *cred, struct inode **ret,
	struct nfs_attr *ret_attr, double *ret_seconds)
{
	struct nfs_fh fh;
	struct inode *i;
	uint64_t epoch;
	bool known;

	if (fs->options->lookupcache == LOOKUP_CACHE_NONE || !walk(fs, dir, &epoch) ||
		!has_rights(fs, dir, epoch, cred, NFS_ACCESS_LOOKUP) || !find_name(fs, dir, epoch, name, &fh))
		return -EAGAIN;
	if (fh.len == 0)
		return fs->options->lookupcache == LOOKUP_CACHE_ALL ? -ENOENT : -EAGAIN;
	i = inode_table_find(fs->inodes, &fh);
	if (!i)
		return -EAGAIN;
	if (is_special_file(i->type)) { /* a change may have been made by a decoy */
		(void)inode_unref(fs->inodes, i);
		return -EAGAIN;
	}
	{
		LOCKED(&i->lock);
		*ret_seconds = believable(fs, i);
		*ret_attr = i->attrs.attr;
		known = *ret_seconds > 0;
		*ret_seconds = i->known.asked < i->known.expired ? 0 : told(i, *ret_seconds);
	}
	if (!known) {
		(void)inode_unref(fs->inodes, i);
		return -EAGAIN;
	}
	*ret = i;
	return 0;
}

bool known_asks_acl(struct fs *fs, struct inode *dir, uint64_t *ret_epoch)
{
	LOCKED(&dir->lock);
	if (!dir->known.asks_acl || fs->options->noacl || !fs->forgets_names)
		return false;
	if (dir->known.changing > 0)
		return false; /* the answer would be dropped: later */
	dir->known.asks_acl = false;
	*ret_epoch = dir->known.epoch;
	return all_may_search(dir);
}

void known_acl(struct fs *fs, struct inode *dir, bool has_acl, uint64_t epoch, uint64_t asked)
{
	LOCKED(&dir->lock);
	if (has_acl)
		forget_names(fs, dir);
	dir->known.no_acl = !has_acl && dir->known.epoch == epoch && !is_outdated(dir, asked);
	if (dir->known.epoch == epoch && is_outdated(dir, asked))
		dir->known.walks = 0;
}

/* Until when the kernel may believe a name in the directory, in ms of now_ms(); 0: not at all. */
static uint64_t names_until(struct fs *fs, struct inode *dir)
{
	LOCKED(&dir->lock);
	if (!dir->known.no_acl || !all_may_search(dir) || !is_believed(fs, dir) || dir->known.changing > 0 ||
		fs->options->lookupcache == LOOKUP_CACHE_NONE)
		return 0;
	dir->known.believed_ms = MAX(dir->known.believed_ms, dir->attrs.until_ms + KERNEL_MS);
	return dir->attrs.until_ms;
}

static double seconds_until(uint64_t ms)
{
	uint64_t now = now_ms();

	return ms > now ? (double)(ms - now) / 1000 : 0;
}

double known_entry_seconds(struct fs *fs, struct inode *dir, struct inode *i)
{
	uint64_t until = names_until(fs, dir);

	if (until > 0) {
		LOCKED(&i->lock);
		i->known.named_ms = MAX(i->known.named_ms, until + KERNEL_MS);
	}
	return seconds_until(until);
}

double known_absence_seconds(struct fs *fs, struct inode *dir)
{
	return fs->options->lookupcache == LOOKUP_CACHE_ALL ? seconds_until(names_until(fs, dir)) : 0;
}

void known_moved(struct fs *fs, struct inode *i, struct inode *from, struct inode *to)
{
	struct inode *told = i ? i : from;
	uint64_t now = now_ms(), until;

	if (from == to)
		return;
	fs->moved = attr_clock_tick();
	{
		LOCKED(&to->lock);
		if (to->known.believed_ms > now && all_may_search(to))
			return;
	}
	{
		LOCKED(&told->lock);
		until = i ? told->known.named_ms : told->known.believed_ms;
	}
	if (until > now)
		make_kernel_forget(fs);
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

	if (!current_epoch(fs, dir, &epoch) || !find_name(fs, dir, epoch, name, &fh))
		return false;
	*ret = fh.len > 0 ? inode_table_find(fs->inodes, &fh) : NULL;
	return fh.len == 0 || *ret;
}
