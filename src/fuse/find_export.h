/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is to be mounted, found by its name: the mount daemon's address, asked for the root's handle,
 * and the NFS server's, which is the same host unless mounthost= says otherwise. nfs(5) has the rules
 * for proto= and mountproto=: "tcp" means IPv4 and "tcp6" IPv6. Blocks, for start-up only.
 */
#pragma once

#include "io/nfs3/nfs3.h"
#include "mount/mount_spec.h"
#include "mount/options.h"

struct found_export {
	struct nfs3_export export;
	char mount_address[64]; /* numeric, of the mount daemon that answered */
	char server_address[64];
	unsigned server_port;
};

/* AF_INET, AF_INET6, or AF_UNSPEC for both. */
int find_export_family(const struct mount_options *o);

/*
 * name is what is mounted, short enough for a sentence. A negative errno and a sentence that says why:
 * -EAGAIN when a name could not be resolved and that may pass, -EINVAL when it will not; else as
 * nfs3_mount().
 */
int find_export(const struct mount_options *o, const struct mount_spec *spec, const char *name, unsigned timeout_ms,
	struct found_export *ret, char *sentence, size_t size);
