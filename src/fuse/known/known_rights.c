/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fuse/known/cache.h"
#include "fuse/known/known_parts.h"

static size_t rights_key(struct known_key *k, const struct inode *dir, uint64_t epoch, const struct nfs_cred *cred)
{
	size_t size = offsetof(struct nfs_cred, groups) + cred->ngroups * sizeof(cred->groups[0]);

	return known_make_key(k, dir, epoch, cred, size);
}

/* True if the owner may search the directory, whatever its ACL and the caller's groups. The caller holds the lock. */
static bool owner_searches(const struct inode *dir, const struct nfs_cred *cred, uint32_t allowed)
{
	const struct nfs_attr *attr = &dir->attrs.attr;

	return (allowed & NFS_ACCESS_LOOKUP) && (attr->mode & S_IXUSR) && cred->uid != 0 && cred->uid == attr->uid;
}

void known_rights(struct fs *fs, struct inode *dir, const struct nfs_cred *cred, uint32_t allowed, uint64_t asked)
{
	struct known_key k;
	uint32_t before = 0;
	size_t size;

	LOCKED(&dir->lock);
	if (known_is_outdated(dir, asked))
		return;
	if (fs->one_user && fs->forgets_names && owner_searches(dir, cred, allowed))
		dir->known.owner_searches = true;
	size = rights_key(&k, dir, dir->known.epoch, cred);
	(void)cache_get(fs->rights, &k, size, &before, sizeof(before));
	allowed |= before;
	cache_put(fs->rights, &k, size, &allowed, sizeof(allowed));
}

/* A key without groups is shorter than any key with groups, so the two are never equal. */
static size_t opener_key(struct known_key *k, const struct inode *i, const struct nfs_cred *cred, bool any_groups)
{
	if (any_groups)
		return known_make_key(k, i, 0, cred, offsetof(struct nfs_cred, ngroups));
	return rights_key(k, i, 0, cred);
}

struct told_opener {
	struct opener opener;
	uint64_t asked;
	uint64_t until_ms;
	uint64_t openers; /* struct known.openers */
};

/* An answer by the mode alone holds for every set of openers: the open compares the mode. */
static bool is_of_present_openers(const struct inode *i, const struct told_opener *told)
{
	return told->opener.by_mode || told->openers == i->known.openers;
}

/* The server, on whose host this is, has the same clock. */
static bool is_settled(const struct timespec *ctime)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - ctime->tv_sec > KNOWN_SETTLED_S;
}

void known_no_file_acl(struct inode *i, const struct nfs_attr *attr, uint64_t asked)
{
	LOCKED(&i->lock);
	if (!known_is_outdated(i, asked) && attr_memory_is_version(&i->attrs, attr) && is_settled(&attr->ctime))
		i->known.no_acl = true;
}

bool known_has_no_file_acl(struct fs *fs, struct inode *i)
{
	LOCKED(&i->lock);
	return i->known.no_acl && i->known.changing == 0 && known_is_believed(fs, i);
}

void known_opener(struct fs *fs, struct inode *i, const struct nfs_cred *cred, const struct opener *o, uint64_t asked)
{
	struct told_opener told;
	struct known_key k;
	size_t size;

	LOCKED(&i->lock);
	if (known_is_outdated(i, asked))
		return;
	memset(&told, 0, sizeof(told)); /* the padding is stored in the cache, too */
	told.opener = *o;
	if (!is_settled(&o->ctime))
		told.opener.ctime = (struct timespec){0};
	told.asked = asked;
	told.openers = i->known.openers;
	told.until_ms = work_ms() + known_limits(fs->options, i).min * UINT64_C(1000);
	if (!o->any_groups) {
		size = opener_key(&k, i, cred, true);
		cache_drop(fs->rights, &k, size); /* known_may_open() would find it first */
	}
	size = opener_key(&k, i, cred, o->any_groups);
	cache_put(fs->rights, &k, size, &told, sizeof(told));
}

/* True if the sidecar's answer to an open with this credential is remembered. The caller holds the lock. */
static bool was_told(struct fs *fs, const struct inode *i, const struct nfs_cred *cred, bool any_groups,
	struct told_opener *ret)
{
	struct known_key k;
	size_t size = opener_key(&k, i, cred, any_groups);

	return cache_get(fs->rights, &k, size, ret, sizeof(*ret)) && ret->asked >= fs->went_stale &&
	       is_of_present_openers(i, ret);
}

bool known_may_open(struct fs *fs, struct inode *i, const struct nfs_cred *cred, bool has_groups, struct opener *ret)
{
	struct told_opener told;

	LOCKED(&i->lock);
	if (i->known.changing > 0 ||
		(!was_told(fs, i, cred, true, &told) && !(has_groups && was_told(fs, i, cred, false, &told))))
		return false;
	*ret = told.opener;
	ret->expired = told.until_ms <= work_ms();
	return true;
}

void known_openers_change(struct inode *i)
{
	LOCKED(&i->lock);
	i->known.openers++;
}

bool known_has_rights(struct fs *fs, const struct inode *dir, uint64_t epoch, const struct nfs_cred *cred,
	uint32_t bits)
{
	struct known_key k;
	size_t size = rights_key(&k, dir, epoch, cred);
	uint32_t allowed;

	return cache_get(fs->rights, &k, size, &allowed, sizeof(allowed)) && (allowed & bits) == bits;
}

bool known_may_search(struct fs *fs, struct inode *dir, uint64_t epoch, const struct nfs_cred *cred)
{
	{
		LOCKED(&dir->lock);
		if (dir->known.no_acl && dir->known.epoch == epoch && known_all_may_search(dir))
			return true;
	}
	return known_has_rights(fs, dir, epoch, cred, NFS_ACCESS_LOOKUP);
}

bool known_groups_matter(struct fs *fs, struct inode *dir, const struct nfs_attr *now, const struct nfs_cred *cred,
	mode_t rights)
{
	mode_t group, others;

	LOCKED(&dir->lock);
	if (dir->type != S_IFDIR || (!now && !known_names_are_believed(fs, dir)))
		return true;
	now = now ? now : &dir->attrs.attr;
	group = (now->mode >> 3) & rights;
	others = now->mode & rights;
	/* The server may take uid 0 for another user. */
	if (cred->uid != 0 && cred->uid == now->uid)
		return false;
	return (group | others) != 0 && (group != others || !dir->known.no_acl);
}

bool known_allowed(struct fs *fs, struct inode *dir, const struct nfs_cred *cred, uint32_t bits)
{
	uint64_t epoch;

	return dir->type == S_IFDIR && known_current_epoch(fs, dir, &epoch) &&
	       known_has_rights(fs, dir, epoch, cred, bits);
}
