/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/ganesha/squash_ganesha.h"

#include "base/util.h"

#define NO_ID UINT32_MAX

int squash_ganesha(const struct export_perms *perms, const struct broker_cred *wire, struct broker_cred *ret)
{
	struct broker_cred c = *wire;

	if (c.uid == NO_ID || c.gid == NO_ID || c.ngroups > BROKER_MAX_GROUPS)
		return -EINVAL;
	for (uint32_t i = 0; i < c.ngroups; i++)
		if (c.groups[i] == NO_ID)
			return -EINVAL;

	if (perms->squash == SQUASH_ALL || (perms->squash == SQUASH_ROOT && c.uid == 0)) {
		*ret = (struct broker_cred){.uid = perms->anon_uid, .gid = perms->anon_gid};
		return 0;
	}
	if (perms->squash != SQUASH_NONE) {
		if (perms->squash == SQUASH_ROOT_ID && c.uid == 0)
			c.uid = perms->anon_uid;
		if (c.gid == 0)
			c.gid = perms->anon_gid;
		for (uint32_t i = 0; i < c.ngroups; i++)
			if (c.groups[i] == 0)
				c.groups[i] = perms->anon_gid;
	}
	*ret = c;
	return 0;
}
