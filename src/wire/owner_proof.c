/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/owner_proof.h"

#include <sys/mman.h>
#include <sys/xattr.h>

#include "base/util.h"

int owner_proof_make(const struct owner_proof *proof)
{
	_cleanup_close_ int fd = memfd_create("localiofs-owner", MFD_CLOEXEC);

	if (fd < 0 || fsetxattr(fd, OWNER_PROOF, proof, sizeof(*proof), XATTR_CREATE) < 0)
		return -errno;
	return steal_fd(&fd);
}
