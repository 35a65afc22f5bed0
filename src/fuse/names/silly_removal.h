/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Removals of .nfs names (silly.h), and RMDIRs that wait for these removals.
 *
 * No caller waits for a removal. The removal takes the .nfs name from the inode under the inode's lock. One lock per
 * process guards the numbers of removals and the list of waiting RMDIRs; no other lock is taken within that lock. The
 * functions are called on any thread without locks. Only silly_remove_all() waits.
 */
#pragma once

#include "fuse/request/request.h"

/* Counts an open file that got a .nfs name. */
void silly_name_given(void);

/* The mount itself has given the file a name or taken one away. The kernel's attributes of the file are old then. */
void silly_names_changed(struct fs *fs, struct inode *file);

/* After the last close: removes the file's .nfs name, if there is one. */
void silly_last_close(struct fs *fs, struct inode *i);

/*
 * A rename has failed after silly_replace_name() had given an open file a .nfs name for it. The file still has its
 * first name. Removes the .nfs name, if there is one, then answers the request with the error.
 */
void silly_rename_failed(struct request *r, int error);

/*
 * RMDIR. If a directory is not empty because of a .nfs name whose removal is under way, sends RMDIR again after that
 * removal: the caller has closed the file, and does not know of the .nfs name.
 */
void silly_remove_directory(fuse_req_t req, fuse_ino_t parent, const char *name);

/* At the end of the mount: removes the .nfs names of files that got no RELEASE. Waits for at most timeout_ms. */
void silly_remove_all(struct fs *fs, unsigned timeout_ms);
