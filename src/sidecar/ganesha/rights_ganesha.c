/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/ganesha/rights_ganesha.h"

#include <errno.h>
#include <sys/stat.h>

#define NO_ID UINT32_MAX

int rights_ganesha_squash(const struct export_perms *perms, const struct broker_cred *wire, struct broker_cred *ret)
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

/* The rwx bits (4, 2, 1) of a file that apply to a credential. */
static unsigned rwx(const struct access_file *f, const struct broker_cred *cred)
{
	bool in_group = cred->gid == f->gid;

	if (cred->uid == 0)
		return 06 | ((f->mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0 ? 01 : 0);
	if (cred->uid == f->uid)
		return (f->mode >> 6) & 07;
	for (uint32_t i = 0; i < cred->ngroups && !in_group; i++)
		in_group = cred->groups[i] == f->gid;
	return (in_group ? f->mode >> 3 : f->mode) & 07;
}

int rights_ganesha_access(const struct access_file *f, const struct broker_cred *cred, bool export_writable)
{
	unsigned have = rwx(f, cred);
	int bits = 0;

	if ((have & 04) != 0)
		bits |= NFS_ACCESS_READ;
	if ((have & 02) != 0 && export_writable)
		bits |= NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND;
	if ((have & 01) != 0)
		bits |= NFS_ACCESS_EXECUTE;
	return bits;
}

bool rights_ganesha_may_search(const struct access_file *f, const struct broker_cred *cred)
{
	return (rwx(f, cred) & 01) != 0;
}

bool rights_ganesha_may_change_names(const struct access_file *f, const struct broker_cred *cred)
{
	return (rwx(f, cred) & 03) == 03;
}

bool rights_ganesha_may_read(const struct access_file *f, const struct broker_cred *cred)
{
	return cred->uid == f->uid || (rwx(f, cred) & 05) != 0;
}

bool rights_ganesha_may_write(const struct access_file *f, const struct broker_cred *cred)
{
	return cred->uid == f->uid || (rwx(f, cred) & 02) != 0;
}
