/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/node/named.h"

#include <string.h>

#include "table/keyed_hash.h"
#include "fuse/node/attr_memory.h"

uint64_t named_bit(const struct nfs_fh *dir, const char *name)
{
	return UINT64_C(1) << (keyed_hash_of_pair(keyed_hash(dir->data, dir->len), name, strlen(name)) & 63);
}

void named_found(struct named *n, const struct nfs_fh *dir, uint64_t epoch, uint64_t bit, const struct timespec *ctime,
	bool alone)
{
	if (alone)
		n->told = 0;
	if (!timespec_is_same(&n->ctime, ctime))
		n->at_ctime = 0;
	if (epoch != n->epoch || !nfs_fh_equal(&n->dir, dir))
		n->in_epoch = 0;
	n->dir = *dir;
	n->epoch = epoch;
	n->found = attr_clock();
	n->ctime = *ctime;
	n->told |= bit;
	n->at_ctime |= bit;
	n->in_epoch |= epoch != 0 ? bit : 0;
}

void named_told(struct named *n, uint64_t bit)
{
	n->told |= bit;
}

enum named_verdict named_judge(const struct named *n, const struct nfs_attr *now, uint64_t moved)
{
	if (now->nlink == 0)
		return NAMED_LOST;
	if (n->told == 0 || (timespec_is_same(&n->ctime, &now->ctime) && (n->told & ~n->at_ctime) == 0))
		return NAMED_HOLDS;
	return (n->told & ~n->in_epoch) == 0 && n->found >= moved ? NAMED_ASK_DIRECTORY : NAMED_LOST;
}

bool named_directory_is(struct named *n, const struct nfs_fh *dir, uint64_t epoch, const struct timespec *ctime)
{
	if (epoch != n->epoch || !nfs_fh_equal(&n->dir, dir) || (n->told & ~n->in_epoch) != 0)
		return false;
	n->ctime = *ctime;
	n->at_ctime = n->told;
	return true;
}
