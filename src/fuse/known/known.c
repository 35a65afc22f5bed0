/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fuse/known/known_parts.h"

#define KERNEL_MS 10000 /* the kernel may take this long until it notes our answer; its timeouts begin only then */

size_t known_make_key(struct known_key *k, const struct inode *dir, uint64_t epoch, const void *bytes, size_t size)
{
	k->generation = dir->generation;
	k->epoch = epoch;
	memcpy(k->bytes, bytes, size);
	return offsetof(struct known_key, bytes) + size;
}

struct attr_limits known_limits(const struct mount_options *o, const struct inode *i)
{
	if (o->noac)
		return (struct attr_limits){0};
	if (i->type == S_IFDIR)
		return (struct attr_limits){.min = o->acdirmin, .max = o->acdirmax};
	return (struct attr_limits){.min = o->acregmin, .max = o->acregmax};
}

bool known_is_outdated(const struct inode *i, uint64_t asked)
{
	return i->known.changing > 0 || i->known.changed > asked;
}

/* Remembers attributes, and returns their timeout in seconds. The caller holds the inode's lock. */
static unsigned take_attributes(const struct fs *fs, struct inode *i, const struct nfs_attr *attr, uint64_t asked)
{
	const struct attr_limits limits = known_limits(fs->options, i);

	i->known.asked = asked;
	return attr_memory_tell(&i->attrs, attr, &limits, work_ms());
}

bool known_all_may_search(const struct inode *dir)
{
	const uint32_t search = S_IXUSR | S_IXGRP | S_IXOTH;

	return (dir->attrs.attr.mode & search) == search;
}

void known_make_kernel_forget(struct fs *fs)
{
	fs->forgot = attr_clock_tick();
	(void)fuse_lowlevel_notify_increment_epoch(fs->session); /* takes no lock in the kernel and does not wait */
}

/* Not everybody may search the directory any more. The caller holds the inode's lock. */
static void forget_names(struct fs *fs, struct inode *dir)
{
	if (dir->known.believed_ms > work_ms())
		known_make_kernel_forget(fs);
	dir->known.believed_ms = 0;
}

/* The caller holds the inode's lock. */
static void end_epoch(struct inode *i)
{
	i->known.epoch++;
	i->known.no_acl = i->known.owner_searches = false;
	i->known.asks_acl = i->known.believed_ms > work_ms();
	i->known.walks = 0;
}

/* True if mode and owner are the remembered ones. The caller holds the inode's lock. */
static bool same_rights(const struct inode *i, const struct nfs_attr *attr)
{
	const struct nfs_attr *known = &i->attrs.attr;

	return i->attrs.known && known->mode == attr->mode && known->uid == attr->uid && known->gid == attr->gid;
}

double known_told(struct inode *i, double seconds)
{
	uint64_t now = work_ms();

	if (seconds > 0) {
		i->known.trusts_ms = MAX(i->known.trusts_ms, now + (uint64_t)(seconds * 1000) + KERNEL_MS);
		i->known.tellings++;
	}
	return seconds;
}

double known_new_file_seconds(const struct fs *fs, struct inode *i)
{
	LOCKED(&i->lock);
	return known_told(i, MIN((double)known_limits(fs->options, i).min, KNOWN_NEW_FILE_S));
}

bool known_is_watched(const struct fs *fs, const struct inode *i)
{
	const struct mount_options *o = fs->options;

	return i->known.lease != 0 && (i->known.lease == fs->leased || i->known.lease == fs->born) &&
	       i->known.asked >= fs->went_stale && !o->nonotices && !o->noac && o->acdirmax > 0;
}

/* Which answers say that notices come. The caller holds the inode's lock. */
static void learn_watch(const struct fs *fs, struct inode *i, bool same, bool watched, uint64_t asked)
{
	if (known_is_outdated(i, asked) || (!same && !watched)) {
		i->known.lease = 0;
	} else if (watched && i->type == S_IFDIR && asked >= fs->leased_from) {
		if (i->known.lease != fs->leased)
			known_company_comes(i, false);
		if (i->known.born && i->known.lease != fs->born)
			known_no_more_whole(i);
		i->known.born = false;
		i->known.lease = fs->leased;
	}
}

/* Remembers attributes, which may end the epoch, and returns their timeout in seconds. The caller holds the lock. */
static unsigned remember(struct fs *fs, struct inode *i, const struct nfs_attr *attr, uint64_t asked)
{
	bool same = same_rights(i, attr);
	unsigned seconds;

	if (!attr_memory_is_version(&i->attrs, attr)) {
		i->known.mixed |= i->known.trusts_ms > work_ms();
		end_epoch(i);
	}
	if (!same)
		i->known.openers++;
	seconds = take_attributes(fs, i, attr, asked);
	/* Names in a private directory were told because of the owner's rights, and these are the same. */
	if (!known_all_may_search(i) && !(fs->one_user && same))
		forget_names(fs, i);
	return seconds;
}

unsigned known_attributes_watched(struct fs *fs, struct inode *i, const struct nfs_attr *attr, uint64_t asked,
	bool watched)
{
	unsigned seconds;

	LOCKED(&i->lock);
	learn_watch(fs, i, attr_memory_is_version(&i->attrs, attr), watched, asked);
	seconds = remember(fs, i, attr, asked);
	if (known_is_outdated(i, asked)) {
		attr_memory_doubt(&i->attrs);
		return 0;
	}
	return asked < i->known.expired ? 0 : (unsigned)known_told(i, seconds);
}

unsigned known_attributes(struct fs *fs, struct inode *i, const struct nfs_attr *attr, uint64_t asked)
{
	return known_attributes_watched(fs, i, attr, asked, false);
}

void known_doubt_locked(struct inode *i)
{
	i->known.lease = 0;
	end_epoch(i);
	attr_memory_doubt(&i->attrs);
	i->known.changed = i->known.doubted = attr_clock_tick(); /* answers to questions sent until now are outdated */
}

void known_doubt(struct inode *i)
{
	LOCKED(&i->lock);
	known_doubt_locked(i);
}

void known_stale(struct fs *fs)
{
	fs->went_stale = attr_clock_tick();
}

static void make_kernel_ask(void *arg, struct inode *i)
{
	(void)fs_invalidate_attributes(arg, i);
}

void known_begin_anew(struct fs *fs)
{
	known_stale(fs);
	known_make_kernel_forget(fs);
	inode_table_foreach(fs->inodes, make_kernel_ask, fs);
}

bool known_is_version(struct inode *i, const struct nfs_attr *attr)
{
	LOCKED(&i->lock);
	return attr_memory_is_version(&i->attrs, attr);
}

bool known_later(struct inode *i, uint64_t asked, uint64_t came_ms)
{
	LOCKED(&i->lock);
	return i->known.writers > 0 || known_is_outdated(i, asked) ||
	       attr_memory_left_ms(&i->attrs, came_ms) > i->attrs.interval * UINT64_C(1000);
}

bool known_is_believed(const struct fs *fs, const struct inode *i)
{
	return i->known.asked >= fs->went_stale && attr_memory_left_ms(&i->attrs, work_ms()) > 0;
}

bool known_names_are_believed(const struct fs *fs, const struct inode *dir)
{
	return known_is_watched(fs, dir) || known_is_believed(fs, dir);
}

bool known_believed(struct fs *fs, struct inode *i)
{
	LOCKED(&i->lock);
	return known_is_believed(fs, i);
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

/*
 * True if the directory had the remembered attributes right before this change, which changes no rights: others may
 * have done that between the two. The caller holds the inode's lock.
 */
static bool continues(const struct inode *i, const struct nfs_wcc *wcc, uint64_t asked)
{
	/* Answers arrive in any order: one that arrived since the question may be newer than this one. */
	if (!wcc || !wcc->has_before || !wcc->has_after || i->known.doubted > asked || !same_rights(i, &wcc->after))
		return false;
	return attr_memory_is_version(&i->attrs,
		&(struct nfs_attr){.size = wcc->size_before, .mtime = wcc->mtime_before, .ctime = wcc->ctime_before});
}

/*
 * True if of all requests on the way only this one changes the inode, and the inode was neither changed nor in doubt
 * since it was sent.
 */
static bool is_alone(const struct inode *i, uint64_t asked)
{
	return i->known.changing == 1 && i->known.changed <= asked;
}

bool known_change_end(struct fs *fs, struct inode *i, const struct nfs_wcc *wcc, uint64_t asked, uint64_t *ret_asked)
{
	LOCKED(&i->lock);
	bool alone = is_alone(i, asked), kept = continues(i, wcc, asked);

	i->known.changing--;
	if (kept) {
		i->known.changed = attr_clock_tick();
		(void)take_attributes(fs, i, &wcc->after, i->known.changed);
		if (fs->leased != 0 && !wcc->no_acl) /* others may have set one right before */
			i->known.no_acl = false;
	} else {
		known_doubt_locked(i);
	}
	*ret_asked = alone ? i->known.changed : 0;
	return kept;
}

void known_set_end(struct fs *fs, struct inode *dir, const struct nfs_attr *attr, uint64_t asked, uint64_t *ret_asked)
{
	LOCKED(&dir->lock);
	bool alone = is_alone(dir, asked), keeps = alone && known_is_watched(fs, dir);
	bool whole = keeps && dir->known.whole && dir->known.whole->epoch == dir->known.epoch;
	uint64_t lease = dir->known.lease;

	dir->known.changing--;
	known_doubt_locked(dir);
	*ret_asked = alone ? dir->known.changed : 0;
	if (!keeps)
		return;
	(void)remember(fs, dir, attr, dir->known.changed);
	dir->known.lease = lease;
	if (whole)
		dir->known.whole->epoch = dir->known.epoch;
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

bool known_attributes_expire(struct inode *i, uint64_t *ret_tellings)
{
	LOCKED(&i->lock);
	i->known.expired = MAX(i->known.expired, attr_clock_tick());
	*ret_tellings = i->known.tellings;
	return i->known.trusts_ms > work_ms();
}

/* The kernel believes no attributes of the inode any more. The caller holds the inode's lock. */
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

/* The kernel answers after it has forgotten the attributes, so attributes that it was told meanwhile stay believed. */
static void take_back(struct fs *fs, struct inode *i, uint64_t tellings)
{
	if (fs_invalidate_attributes(fs, i) == 0)
		known_attributes_taken_back(i, tellings);
}

void known_compare(struct fs *fs, struct inode *i, const struct nfs_attr *attr)
{
	uint64_t tellings;

	if (!known_kernel_may_differ(i, attr, &tellings))
		return;
	known_doubt(i);
	take_back(fs, i, tellings);
}

void known_version_expires(struct fs *fs, struct inode *i)
{
	uint64_t tellings;

	if (known_attributes_expire(i, &tellings))
		take_back(fs, i, tellings);
}

void known_retired(struct inode *i)
{
	LOCKED(&i->lock);
	i->known.expired = UINT64_MAX;
}

bool known_current_epoch(const struct fs *fs, struct inode *dir, uint64_t *ret)
{
	LOCKED(&dir->lock);
	*ret = dir->known.epoch;
	return known_names_are_believed(fs, dir);
}

double known_believable(const struct fs *fs, const struct inode *i)
{
	const struct nfs_attr *a = &i->attrs.attr;

	if (i->known.changing > 0 || i->known.writers > 0 || !known_is_believed(fs, i))
		return 0;
	if (i->type != S_IFDIR && a->nlink > 1 && i->known.asked < fs->links_changed)
		return 0;
	return (double)attr_memory_left_ms(&i->attrs, work_ms()) / 1000;
}

bool known_newer(struct inode *i, const struct nfs_attr *attr)
{
	LOCKED(&i->lock);
	return timespec_is_earlier(&attr->ctime, &i->attrs.attr.ctime);
}

bool known_tell_again(struct fs *fs, struct inode *i, const struct nfs_attr *server, struct nfs_attr *ret,
	double *ret_seconds)
{
	LOCKED(&i->lock);
	double seconds = known_believable(fs, i);

	if (seconds <= 0 || i->known.asked < i->known.expired)
		return false;
	if (!attr_memory_is_version(&i->attrs, server) && !timespec_is_earlier(&server->ctime, &i->attrs.attr.ctime))
		return false;
	*ret = i->attrs.attr;
	*ret_seconds = known_told(i, seconds);
	return true;
}

bool known_wants_no_acl(struct fs *fs, struct inode *dir)
{
	LOCKED(&dir->lock);
	return !dir->known.no_acl && known_all_may_search(dir) && !fs->options->noacl && fs->forgets_names;
}

void known_no_acl(struct inode *dir, const struct nfs_attr *attr, uint64_t asked)
{
	LOCKED(&dir->lock);
	if (!known_is_outdated(dir, asked) && attr_memory_is_version(&dir->attrs, attr))
		dir->known.no_acl = true;
}

bool known_asks_acl(struct fs *fs, struct inode *dir, uint64_t *ret_epoch)
{
	LOCKED(&dir->lock);
	if (!dir->known.asks_acl || dir->known.no_acl || fs->options->noacl || !fs->forgets_names)
		return false;
	if (dir->known.changing > 0)
		return false; /* known_acl() would drop the answer: ask later */
	if (fs->leased != 0 && dir->known.walks < KNOWN_WALKS)
		return false; /* the next LOOKUP asks the sidecar, unless that does not answer in this directory */
	dir->known.asks_acl = false;
	*ret_epoch = dir->known.epoch;
	return known_all_may_search(dir);
}

void known_acl(struct fs *fs, struct inode *dir, bool has_acl, uint64_t epoch, uint64_t asked)
{
	LOCKED(&dir->lock);
	if (has_acl)
		forget_names(fs, dir);
	dir->known.no_acl = !has_acl && dir->known.epoch == epoch && !known_is_outdated(dir, asked);
	if (dir->known.epoch == epoch && known_is_outdated(dir, asked))
		dir->known.walks = 0;
}

/* The time (now_ms()) until which the kernel may believe a name in the directory; 0: not at all. */
static uint64_t names_until(struct fs *fs, struct inode *dir)
{
	LOCKED(&dir->lock);
	uint64_t until = known_is_watched(fs, dir) ? work_ms() + KNOWN_WATCHED_MS : dir->attrs.until_ms;

	if (!(dir->known.owner_searches || (dir->known.no_acl && known_all_may_search(dir))) ||
		!known_names_are_believed(fs, dir) || dir->known.changing > 0 ||
		fs->options->lookupcache == LOOKUP_CACHE_NONE || work_ms() < dir->known.unrest_ms)
		return 0;
	dir->known.believed_at = attr_clock();
	dir->known.believed_ms = MAX(dir->known.believed_ms, until + KERNEL_MS);
	return until;
}

static double seconds_until(uint64_t ms)
{
	uint64_t now = work_ms();

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

/* Both only grow, so their sum is the same only if both are. The caller holds the lock. */
static uint64_t state_of(const struct inode *dir)
{
	return 1 + dir->known.epoch + dir->known.changed;
}

uint64_t known_state(struct inode *dir)
{
	LOCKED(&dir->lock);
	return state_of(dir);
}

bool known_has_notices(struct fs *fs, struct inode *dir)
{
	LOCKED(&dir->lock);
	return known_is_watched(fs, dir);
}

bool known_is_state(struct fs *fs, struct inode *dir, uint64_t state)
{
	LOCKED(&dir->lock);
	return known_is_watched(fs, dir) && dir->known.changing == 0 && state_of(dir) == state;
}

void known_moved(struct fs *fs, struct inode *i, struct inode *from, struct inode *to)
{
	struct inode *told = i ? i : from;
	uint64_t now = work_ms(), until;

	if (from == to)
		return;
	fs->moved = attr_clock_tick();
	{
		LOCKED(&to->lock);
		if (to->known.believed_ms > now && (to->known.owner_searches || known_all_may_search(to)))
			return;
	}
	{
		LOCKED(&told->lock);
		until = i ? told->known.named_ms : told->known.believed_ms;
	}
	if (until > now)
		known_make_kernel_forget(fs);
}
