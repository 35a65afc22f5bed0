/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a directory has an ACL: asked with GETACL when it is worth it (known_asks_acl), for nobody who
 * waits. Only where there is none do the permission bits say whether everybody may walk through it.
 *
 * A server that answers without entries says that there is none, as NFS-Ganesha does where it keeps
 * none; one without NFSACL says nothing.
 */
#pragma once

#include "fuse/fs/fs.h"

void search_acl_ask(struct fs *fs, struct inode *dir, const struct nfs_cred *cred);
