/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command.h"

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 18)

#include <dlfcn.h>
#include <fuse_lowlevel.h>
#include <jansson.h>
#include <liburing.h>
#include <limits.h>
#include <nfsc/libnfs.h>

#include "base/util.h"

/* The name of the loaded libnfs, without links: it ends with the version of the interface. */
static void loaded_libnfs(char ret[PATH_MAX])
{
	Dl_info info;

	if (dladdr((void *)(uintptr_t)nfs_init_context, &info) == 0 || !realpath(info.dli_fname, ret))
		ret[0] = '\0';
}

void version_print(void)
{
	char file[PATH_MAX];

	loaded_libnfs(file);
	(void)printf("localiofs " LOCALIOFS_VERSION "\nlibfuse %s\nliburing %d.%d\n", fuse_pkgversion(),
		io_uring_major_version(), io_uring_minor_version());
	(void)printf("libnfs " BUILT_WITH_LIBNFS " (when built; %s)\njansson %s\nlibcap-ng " BUILT_WITH_LIBCAP_NG
		     " (when built)\n",
		file, jansson_version_str());
}
