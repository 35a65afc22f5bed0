/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mode of what is made in a directory. The umask limits it, but where the directory has a default
 * ACL, that does (acl(5); fs/posix_acl.c posix_acl_create). So where there are ACLs the kernel leaves
 * the umask to us (FUSE_DONT_MASK). The new file's ACL is the server's to make, of the same default
 * one: SETACL, which the kernel's client sends afterwards, would say what is there already.
 *
 * What a directory's default ACL allows is believed for acdirmin, as its attributes are.
 */
#pragma once

#include "fuse/request/request.h"

/*
 * request_send() of CREATE, MKDIR, MKNOD or SYMLINK, with the directory in the request and the caller's
 * mode in call.args.sattr, once that is limited. When the server does not say by what, the request
 * ends with its error.
 */
void default_acl_send(struct request *r, enum nfs_proc proc, void (*done)(struct nfs_call *call));

/* The directory's ACLs were set, or may have been. */
void default_acl_forget(struct inode *i);
