/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Conversion of file handles, credentials and attributes between the broker's protocol, NFS and stat(2). Pure
 * functions, for any thread.
 */
#pragma once

#include "fuse/fs/fs.h"

/* Convert a file handle and a credential to the form of the broker's messages. */
struct broker_fh request_broker_fh(const struct nfs_fh *fh);
struct broker_cred request_broker_cred(const struct nfs_cred *cred);

/* The credential of a call, with BROKER_GROUPS_UNTOLD where nobody has read the groups. */
struct broker_cred broker_cred_of_nfs(const struct nfs_call *call);

/* The other way; false for a handle of another length than NFSv3's. */
bool nfs_fh_of_broker(const struct broker_fh *fh, struct nfs_fh *ret);

/* The question to the sidecar for the name of a call; false for a name that is too long for it. */
bool broker_lookup_of_nfs(const struct nfs_call *call, struct broker_lookup *ret);

/* Converts attributes from the sidecar to the form in which the server would have sent them. */
void attr_of_broker(const struct fs *fs, const struct broker_attr *attr, struct nfs_attr *ret);

/* Converts attributes to the form of FUSE replies, with the ids of the mount's namespace. */
void attr_to_stat(const struct namespaces *n, const struct nfs_attr *attr, struct stat *ret);
