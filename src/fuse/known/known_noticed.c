/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fuse/known/cache.h"
#include "fuse/known/known_parts.h"

/* What this mount has made of a name. */
struct own {
	struct nfs_fh fh; /* length 0: it has removed the name */
	uint64_t made_ms; /* now_ms() */
};

/* Of a name in the cache of own names: these do not end with an epoch. */
static size_t own_key(struct known_key *k, const struct inode *dir, const char *name)
{
	return known_make_key(k, dir, 0, name, strnlen(name, sizeof(k->bytes)));
}

void known_own_name(struct fs *fs, const struct inode *dir, const char *name, const struct nfs_fh *fh)
{
	struct own own = {.made_ms = work_ms()};
	struct known_key k;
	size_t size;

	if (fs->leased == 0)
		return;
	if (fh)
		own.fh = *fh;
	size = own_key(&k, dir, name);
	cache_put(fs->own_names, &k, size, &own, sizeof(own));
}

void known_name_is_noticed(struct fs *fs, const struct inode *dir, const char *name)
{
	struct known_key k;
	size_t size = own_key(&k, dir, name);

	cache_drop(fs->own_names, &k, size);
}

/* True if this mount itself has made of the name what the notice says. */
static bool is_own(struct fs *fs, const struct inode *dir, const struct known_notice *n)
{
	struct known_key k;
	struct own own;
	size_t size;

	if (!n->name || !n->has_state)
		return false;
	size = own_key(&k, dir, n->name);
	if (!cache_get(fs->own_names, &k, size, &own, sizeof(own)) || time_since(own.made_ms, work_ms()) > KNOWN_OWN_MS)
		return false;
	return n->fh.len == 0 ? own.fh.len == 0 : nfs_fh_equal(&own.fh, &n->fh);
}

/* The caller holds the inode's lock. */
static bool is_version(const struct inode *i, const struct known_notice *n)
{
	return n->has_version && attr_memory_is_version(&i->attrs, &n->version);
}

void known_company_comes(struct inode *dir, bool noticed)
{
	uint64_t now = work_ms();

	dir->known.company_noticed = noticed || (dir->known.company_noticed && dir->known.company_ms > now);
	dir->known.company_ms = now + KNOWN_COMPANY_MS;
}

/* A foreign change of the directory. The caller holds its lock. */
static enum known_noticed on_change(struct fs *fs, struct inode *dir)
{
	uint64_t now = work_ms();
	bool believed = dir->known.believed_ms > now && dir->known.believed_at >= fs->forgot;

	if (time_since(dir->known.foreign_ms, now) >= KNOWN_UNREST_MS) {
		dir->known.foreign_ms = now;
		dir->known.foreign = 0;
	}
	if (dir->known.foreign < UINT8_MAX)
		dir->known.foreign++;
	known_company_comes(dir, true);
	if (dir->known.foreign > KNOWN_CALM)
		dir->known.unrest_ms = now + KNOWN_UNREST_MS;
	known_doubt_locked(dir);
	return believed ? NOTICED_FORGET : NOTICED_CHANGE;
}

enum known_noticed known_notice_name(struct fs *fs, struct inode *dir, const struct known_notice *n, bool overdue)
{
	bool own = is_own(fs, dir, n), expires = true;
	enum known_noticed r = NOTICED_OWN;

	{
		LOCKED(&dir->lock);
		if (own && (dir->known.changing > 0 || is_version(dir, n)))
			expires = false;
		else if (own)
			attr_memory_doubt(&dir->attrs);
		else if (dir->known.changing > 0 && !overdue)
			return NOTICED_LATER;
		else
			r = on_change(fs, dir);
	}
	if (!own && n->name)
		known_name_is_noticed(fs, dir, n->name);
	if (expires)
		known_version_expires(fs, dir);
	return r;
}

enum known_noticed known_notice_attributes(struct fs *fs, struct inode *i, const struct known_notice *n, bool overdue)
{
	enum known_noticed r = NOTICED_CHANGE;

	{
		LOCKED(&i->lock);
		/*
		 * Others may have set an ACL right before a change by this mount, which has told the attributes of now.
		 */
		if (is_version(i, n) && (i->type != S_IFDIR || i->known.no_acl))
			return NOTICED_OWN;
		if (i->known.changing > 0 && !overdue)
			return NOTICED_LATER;
		if (i->type == S_IFDIR)
			r = on_change(fs, i);
		else
			attr_memory_doubt(&i->attrs);
	}
	known_version_expires(fs, i);
	return r;
}

enum known_company known_company(struct fs *fs, const struct nfs_fh *dir)
{
	struct inode *i = inode_table_find(fs->inodes, dir);
	enum known_company r = COMPANY_UNKNOWN;

	if (!i)
		return r;
	{
		LOCKED(&i->lock);
		if (i->known.company_ms > work_ms())
			r = i->known.company_noticed ? COMPANY_SOME : COMPANY_UNKNOWN;
		else if (known_is_watched(fs, i))
			r = COMPANY_NONE;
	}
	(void)inode_unref(fs->inodes, i);
	return r;
}
