/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operations of struct server that take NFSv3 several procedures. Each procedure is a call of its own, handed to
 * server_submit(): so they work on any struct server whose submit() speaks NFSv3. The caller's call is done when the
 * last procedure is done, or the first that fails; its given_up() is asked for each procedure. Any thread; nothing
 * blocks.
 */
#pragma once

#include "io/server.h"

/*
 * CREATE. Without call->exclusive it is GUARDED, so that it is certain whether this call has made the file. With it,
 * EXCLUSIVE: by the verifier a server that was restarted before it could answer recognises the call that is sent again
 * (RFC 1813 3.3.8; fs/nfs/nfs3proc.c nfs3_proc_create). A server without EXCLUSIVE is asked for GUARDED instead.
 * EXCLUSIVE sets no attributes, and a server may keep the verifier in the times of the file: SETATTR follows.
 *
 * With the same clock, a GUARDED CREATE is as good, and is all: it sets a time of access that no other call sets, up to
 * a millisecond before the present. If the name exists, LOOKUP tells whether an earlier sending of this call has made
 * the file. Another file never has that time; after somebody has read the file there is no proof, and so -EEXIST.
 */
void nfs3_create(struct server *server, struct nfs_call *call);

/* GETATTR for the size, then WRITE there (fs/nfs/file.c nfs_file_write does the same). */
void nfs3_append(struct server *server, struct nfs_call *call);

/*
 * GETATTR of the root, FSINFO, and GETACL for the ability to have ACLs: NFSACL is expected on the NFS port, as the
 * kernel's client does (fs/nfs/nfs3client.c nfs_init_server_aclclient). A server that has NFSACL, but no ACLs, answers
 * with no entries (NFS-Ganesha); a mode alone makes three. Blocks.
 */
int nfs3_look_at_export(struct server *server, const struct nfs_fh *root, const struct nfs_cred *own, bool no_acl,
	struct server_export *ret);
