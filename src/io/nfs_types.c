/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/nfs_types.h"

const char *nfs_proc_name(enum nfs_proc proc)
{
	static const char *const names[NFS_PROC_COUNT] = {
#define X(name) #name,
		NFS_PROCS(X)
#undef X
	};

	return proc < NFS_PROC_COUNT ? names[proc] : "unknown";
}
