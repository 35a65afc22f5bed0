/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Silly rename. NFSv3 has no open files, so a server would remove a file that a client still reads. If this mount has a
 * file open, and a caller removes it or renames another file over it, the mount renames the open file to
 * .nfs<fileid><count> in its directory, and removes that name at the last close (fs/nfs/unlink.c nfs_sillyrename;
 * silly_removal.h).
 *
 * An OPEN on its way counts as an open file (fuse/fs/open_hold.h). The inode's lock guards the file's .nfs name; the
 * request owns all other state. The functions are called on any thread without locks, and do not wait.
 */
#pragma once

#include "fuse/request/request.h"

/*
 * Called before r->call removes r->name from the directory r->inode. If an open file has that name, renames the file
 * and answers the request. Otherwise calls go_on().
 */
void silly_remove_name(struct request *r, void (*go_on)(struct request *r));

/* True for a .nfs name, also that of another client. */
bool silly_is_name(const char *name);

/* Called before r->call renames a file to r->name2 in r->inode2. Calls go_on() when no open file has only that name. */
void silly_replace_name(struct request *r, void (*go_on)(struct request *r));
