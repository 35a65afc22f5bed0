/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/registry/owner_check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/util.h"

int owner_check_device(dev_t *ret)
{
	_cleanup_close_ int fd = memfd_create("localiofs-sidecar", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret = st.st_dev;
	return 0;
}

bool owner_check(int fd, dev_t device, const struct owner_proof *wanted)
{
	struct owner_proof there;
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stx) == 0 &&
	       makedev(stx.stx_dev_major, stx.stx_dev_minor) == device && S_ISREG(stx.stx_mode) &&
	       fgetxattr(fd, OWNER_PROOF, &there, sizeof(there)) == sizeof(there) &&
	       memcmp(&there, wanted, sizeof(there)) == 0;
}
