/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Silly rename: NFSv3 has no open files. A file that this mount has open, and that a caller removes or renames over, is
 * renamed to .nfs<fileid><count> in its directory instead, and removed at its last close (fs/nfs/unlink.c
 * nfs_sillyrename; silly_removal.h).
 *
 * An OPEN on its way counts as an open file (fuse/fs/open_hold.h). The inode's lock guards the file's .nfs name. The
 * functions belong to a request, are called on any thread without locks, and do not wait.
 */
#pragma once

#include "fuse/request/request.h"

/*
 * Before r->call removes r->name from r->inode: if an open file has that name, the file is renamed and the request is
 * answered. Otherwise go_on() is called.
 */
void silly_remove_name(struct request *r, void (*go_on)(struct request *r));

/* Before r->call renames a file to r->name2 in r->inode2: go_on() is called when no open file has that name any more.
 */
void silly_replace_name(struct request *r, void (*go_on)(struct request *r));
