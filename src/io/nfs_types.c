/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/nfs_types.h"

const char *nfs_proc_name(enum nfs_proc proc)
{
	static const char *const names[NFS_PROC_COUNT] = {"NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK",
		"READ", "WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK", "READDIR",
		"READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT", "GETACL", "SETACL"};

	return proc < NFS_PROC_COUNT ? names[proc] : "unknown";
}
