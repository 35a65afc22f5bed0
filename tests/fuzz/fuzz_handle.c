/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"
#include "handle/handle_ganesha.h"
#include "handle/handle_knfsd.h"

static void check_handle(enum reason reason, const struct nfs_handle *h)
{
	if (reason != REASON_NONE)
		return;
	CHECK(h->fsid_length <= NFS_HANDLE_MAX_FSID);
	CHECK(h->kernel_length <= NFS_HANDLE_MAX_KERNEL);
	CHECK(h->is_root == (h->kernel_length == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct broker_fh fh = {.length = (uint32_t)size};
	struct nfs_handle h;

	/* Only the lengths that packet_check() accepts. */
	if (size < 1 || size > BROKER_MAX_FH)
		return 0;
	memcpy(fh.data, data, size);
	memset(&h, 0xa5, sizeof(h));
	check_handle(handle_ganesha_decode(&fh, &h), &h);
	memset(&h, 0xa5, sizeof(h));
	check_handle(handle_knfsd_decode(&fh, &h), &h);
	return 0;
}
