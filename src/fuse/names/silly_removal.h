/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Removals of .nfs names (silly.h), and RMDIRs that wait for these removals.
 *
 * A removal goes on while no caller waits for it. It takes the .nfs name from the inode under the inode's lock. One
 * lock for all mounts of the process guards the numbers of removals and the list of waiting RMDIRs; no other lock is
 * taken within that lock. Any thread; only silly_remove_all() waits.
 */
#pragma once

#include "fuse/request/request.h"

/* Counts one more open file that lies under a .nfs name. */
void silly_name_given(void);

/* A file got or lost a name, of which the kernel knows nothing: attributes of the file are in doubt. */
void silly_names_changed(struct fs *fs, struct inode *file);

/* After the last close: removes the file's .nfs name, if there is one. */
void silly_last_close(struct fs *fs, struct inode *i);

/*
 * The rename for which silly_replace_name() gave an open file a second name has failed: the file still has its first
 * name. Removes the .nfs name, then answers the request with the error.
 */
void silly_rename_failed(struct request *r, int error);

/*
 * RMDIR. When the directory is not empty because a .nfs name in it is just being removed, RMDIR is sent again behind
 * that removal: the caller has closed the file, and need not know of the .nfs name.
 */
void silly_remove_directory(fuse_req_t req, fuse_ino_t parent, const char *name);

/* The mount ends: removes the .nfs names of files for which no RELEASE came. Waits for at most timeout_ms. */
void silly_remove_all(struct fs *fs, unsigned timeout_ms);
