/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mode of a new file in a directory. The directory's default ACL limits the mode, or the umask if there is no
 * default ACL (acl(5); fs/posix_acl.c posix_acl_create). So if the server has ACLs, the kernel leaves the umask to the
 * daemon (FUSE_DONT_MASK). The server makes the new file's ACL from the same default ACL. Therefore the daemon does not
 * send the SETACL that the kernel's client sends afterwards: it would set the ACL that is already there.
 *
 * The inode's lock guards inode.default_acl, the directory's default ACL as far as it is known. The functions take that
 * lock, on any thread. The knowledge is used for acdirmin, as the directory's attributes are.
 */
#pragma once

#include "fuse/request/request.h"

/*
 * Limits the caller's mode in call.args.sattr, then calls request_send() for CREATE, MKDIR, MKNOD or SYMLINK. The
 * request's inode is the directory. If the server does not tell the directory's default ACL, the request ends with the
 * server's error.
 */
void default_acl_send(struct request *r, enum nfs_proc proc, void (*done)(struct nfs_call *call));

/* The directory's ACLs were set, or may have been set. */
void default_acl_forget(struct inode *i);
