/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/ganesha/access_ganesha.h"

#include <sys/stat.h>

/* The rwx bits (4, 2, 1) that a credential has of a file. */
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

int access_ganesha_bits(const struct access_file *f, const struct broker_cred *cred, bool export_writable)
{
	unsigned have = rwx(f, cred);
	int bits = 0;

	if ((have & 04) != 0)
		bits |= ACCESS_READ;
	if ((have & 02) != 0 && export_writable)
		bits |= ACCESS_MODIFY | ACCESS_EXTEND;
	if ((have & 01) != 0)
		bits |= ACCESS_EXECUTE;
	return bits;
}

bool access_ganesha_may_read(const struct access_file *f, const struct broker_cred *cred)
{
	return cred->uid == f->uid || (rwx(f, cred) & 05) != 0;
}

bool access_ganesha_may_write(const struct access_file *f, const struct broker_cred *cred)
{
	return cred->uid == f->uid || (rwx(f, cred) & 02) != 0;
}
