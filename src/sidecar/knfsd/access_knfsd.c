/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/knfsd/access_knfsd.h"

#include "sidecar/backing/thread_cred.h"

int access_knfsd(const struct access_file *f, const struct broker_cred *cred, bool export_writable)
{
	int bits = 0, r = thread_cred_become(cred);

	if (r >= 0) {
		if (thread_cred_allows(f->fd, R_OK))
			bits |= ACCESS_READ;
		/* Immutable files are the kernel's own no; so are read-only mounts, but fd may be on another. */
		if (export_writable && !f->read_only && thread_cred_allows(f->fd, W_OK))
			bits |= ACCESS_EXTEND | (f->append_only ? 0 : ACCESS_MODIFY);
		if (thread_cred_allows(f->fd, X_OK))
			bits |= ACCESS_EXECUTE;
	}
	thread_cred_restore();
	return r < 0 ? r : bits;
}
