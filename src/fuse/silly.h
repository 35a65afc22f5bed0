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

/*
 * When that rename failed: the open file has its own name still and needs no other. Answers with
 * the error once the .nfs name is gone.
 */
void silly_rename_failed(struct request *r, int error);

/* After the last close: removes the file under its silly name, in the background. */
void silly_last_close(struct fs *fs, struct inode *i);

/*
 * RMDIR, which does not fail over a .nfs name that is just being removed: whoever closed the file
 * need not know of it.
 */
void silly_remove_directory(fuse_req_t req, fuse_ino_t parent, const char *name);

/* At the end of the mount: removes what no RELEASE came for. Blocks for at most timeout_ms. */
void silly_remove_all(struct fs *fs, unsigned timeout_ms);
