/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The question whether a directory has an ACL. Only for a directory without an ACL do the permission bits say whether
 * everybody may search it. The question is one GETACL in the background, sent when it is worth its cost
 * (known_asks_acl()); no request waits for the answer.
 *
 * An answer without entries means that the directory has no ACL: NFS-Ganesha answers so where it keeps no ACLs. A
 * server without NFSACL answers with an error, and then nothing is learned.
 *
 * No state of its own: each question owns its call and a reference to the directory until it is answered, and
 * known_acl() takes the inode's lock for the answer. Any thread.
 */
#pragma once

#include "fuse/fs/fs.h"

/* Asks the server with this credential, if the question is due. */
void search_acl_ask(struct fs *fs, struct inode *dir, const struct nfs_cred *cred);
