/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/request/special_file.h"

#include "fuse/request/entry.h"

/* The ACCESS bits of all uses that the kernel allows to every caller who gets the inode. */
static uint32_t wanted_access(mode_t mode)
{
	uint32_t write = NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND;

	return S_ISSOCK(mode) ? write : write | NFS_ACCESS_READ;
}

static void access_done(struct nfs_call *call)
{
	struct request *r = CONTAINER_OF(call, struct request, call);
	uint32_t wanted = call->args.access.bits;

	if (call->error < 0) {
		request_end_error(r, call->error);
		return;
	}
	r->decoy = (call->res.access & wanted) != wanted;
	request_reply_entry(r);
}

void special_file_reply_entry(struct request *r)
{
	if (!is_special_file(r->entry_attr.mode)) {
		request_reply_entry(r);
		return;
	}
	request_groups(r);
	r->call.fh = r->entry_fh;
	r->call.args.access.bits = wanted_access(r->entry_attr.mode);
	request_send(r, NFS_ACCESS, access_done);
}
