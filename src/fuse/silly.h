/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Silly rename: NFSv3 has no open files, so a file that is removed or renamed over while this mount
 * has it open is renamed to .nfs<fileid><count> in its directory instead, and removed at the last
 * close (fs/nfs/unlink.c nfs_sillyrename).
 */
#pragma once

#include "fuse/request.h"

/*
 * Before r->call removes name in fh: when that name is an open file, renames it and answers the
 * request, otherwise calls go_on.
 */
void silly_remove_name(struct request *r, void (*go_on)(struct request *r));

/* The same before r->call renames something to name2 in fh2: goes on once the open file is away. */
void silly_replace_name(struct request *r, void (*go_on)(struct request *r));

/* After the last close: removes the file under its silly name, in the background. */
void silly_last_close(struct fs *fs, struct inode *i);

/* At the end of the mount: removes what no RELEASE came for. Blocks for at most timeout_ms. */
void silly_remove_all(struct fs *fs, unsigned timeout_ms);
