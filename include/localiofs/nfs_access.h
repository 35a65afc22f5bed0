/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bits of NFS's ACCESS, RFC 1813 3.3.4; broker_open_reply.access has the same bits. Constant values. */
#pragma once

enum nfs_access {
	NFS_ACCESS_READ = 0x01,
	NFS_ACCESS_LOOKUP = 0x02,
	NFS_ACCESS_MODIFY = 0x04,
	NFS_ACCESS_EXTEND = 0x08,
	NFS_ACCESS_DELETE = 0x10,
	NFS_ACCESS_EXECUTE = 0x20,
};
