/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/listings/circle.h"

bool circle_closes(struct circle *c, const struct nfs_call *reply)
{
	uint64_t offset = reply->args.dir.cookie;
	size_t n = reply->res.dir.count;

	if (offset == 0 || offset != c->last) {
		c->replies = 0;
		c->mark_after = 1;
	}
	for (size_t i = 0; i < n && c->replies > 0; i++)
		if (reply->res.dir.entries[i].cookie == c->mark)
			return true;
	if (n == 0)
		return false;
	c->last = reply->res.dir.entries[n - 1].cookie;
	if (++c->replies >= c->mark_after) {
		c->mark = c->last;
		c->mark_after *= 2;
	}
	return false;
}
