/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * MOUNT version 3 (RFC 1813 appendix I) and the port mapper (RFC 1833): the questions to a server before the first NFS
 * request and after the last. Each question has a libnfs context of its own. No state; all functions block, and any
 * thread may call them.
 */
#pragma once

#include "io/nfs_types.h"

/* The answer of MOUNT. */
struct nfs3_export {
	struct nfs_fh root;
	bool auth_unix; /* AUTH_UNIX is among the export's flavours, or the server lists none */
};

struct nfs3_mount_options {
	const char *server; /* numeric address */
	const char *export_path;
	unsigned mount_port; /* 0: ask the port mapper */
	unsigned timeout_ms;
};

/*
 * Asks the mount daemon of the server for the root handle of the export. On failure the sentence says what the server
 * answered: -EACCES, -ENOENT, -ENOTDIR, -ENAMETOOLONG and -EPROTO are its last word, other errors may pass.
 */
int nfs3_mount(const struct nfs3_mount_options *options, struct nfs3_export *ret, char *sentence, size_t size);

/* The NFSv3 port according to the port mapper of the server; -ENOENT when the port mapper knows none. */
int nfs3_query_port(const char *server, unsigned timeout_ms, unsigned *ret);

/* Tells the mount daemon that the export is not used any more; best effort, up to the timeout. */
void nfs3_unmount(const struct nfs3_mount_options *options);
