/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/knfsd/squash_knfsd.h"

#include "base/util.h"

#define INVALID_ID UINT32_MAX

int squash_knfsd(const struct export_perms *perms, const struct broker_cred *wire, struct broker_cred *ret)
{
	struct broker_cred c = {.uid = wire->uid, .gid = wire->gid};
	bool squash_root = perms->squash == SQUASH_ROOT;

	if (wire->ngroups > BROKER_MAX_GROUPS)
		return -EINVAL;
	if (perms->squash == SQUASH_ALL) {
		c.uid = perms->anon_uid;
		c.gid = perms->anon_gid;
	} else {
		for (uint32_t i = 0; i < wire->ngroups; i++) {
			uint32_t group = wire->groups[i];

			/* One that is no group at all is nobody's, and setgroups(2) would refuse it. */
			if (group != INVALID_ID)
				c.groups[c.ngroups++] = squash_root && group == 0 ? perms->anon_gid : group;
		}
		if (c.uid == INVALID_ID || (squash_root && c.uid == 0))
			c.uid = perms->anon_uid;
		if (c.gid == INVALID_ID || (squash_root && c.gid == 0))
			c.gid = perms->anon_gid;
	}
	*ret = c;
	return 0;
}
