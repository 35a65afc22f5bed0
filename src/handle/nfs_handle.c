/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "handle/nfs_handle.h"

#include <errno.h>
#include <stddef.h>

#include "base/util.h"
#include "handle/handle_ganesha.h"
#include "handle/handle_knfsd.h"

int nfs_handle_read(int fd, struct nfs_handle *ret)
{
	union file_handle_room u = {.handle.handle_bytes = NFS_HANDLE_MAX_KERNEL};
	int mount_id;

	if (name_to_handle_at(fd, "", &u.handle, &mount_id, AT_EMPTY_PATH) < 0)
		return -errno;
	ret->is_root = false;
	ret->kernel_type = u.handle.handle_type;
	ret->kernel_length = u.handle.handle_bytes;
	memcpy(ret->kernel, u.bytes + offsetof(struct file_handle, f_handle), u.handle.handle_bytes);
	return 0;
}

/* The two forms differ in their first byte. */
static const struct form {
	enum reason (*decode)(const struct broker_fh *fh, struct nfs_handle *ret);
	int (*encode)(const struct nfs_handle *h, struct broker_fh *ret);
} forms[] = {{handle_ganesha_decode, handle_ganesha_encode}, {handle_knfsd_decode, handle_knfsd_encode}};

static const struct form *form_of(const struct broker_fh *fh, struct nfs_handle *ret)
{
	for (size_t n = 0; n < ARRAY_SIZE(forms); n++)
		if (forms[n].decode(fh, ret) == REASON_NONE)
			return &forms[n];
	return NULL;
}

int nfs_handle_of_kernel(const struct broker_fh *known, const struct nfs_handle *kernel, struct broker_fh *ret)
{
	struct nfs_handle h;
	const struct form *form = form_of(known, &h);

	if (!form)
		return -EOPNOTSUPP;
	h.is_root = false;
	h.kernel_type = kernel->kernel_type;
	h.kernel_length = kernel->kernel_length;
	memcpy(h.kernel, kernel->kernel, kernel->kernel_length);
	return form->encode(&h, ret);
}

bool nfs_handle_is_of(const struct broker_fh *dir, int fd)
{
	struct nfs_handle h, own;
	struct broker_fh fh;
	const struct form *form = form_of(dir, &h);

	if (!form || nfs_handle_read(fd, &own) < 0 || nfs_handle_of_kernel(dir, &own, &fh) < 0)
		return false;
	/* knfsd's handle of an export's root has no part of the kernel. */
	return h.is_root || nfs_handle_is_same_file(&own, &h);
}
