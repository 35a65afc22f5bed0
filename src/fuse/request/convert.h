/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Conversion of file handles, credentials and attributes between the broker's protocol, NFS and stat(2). Pure
 * functions, for any thread.
 */
#pragma once

#include "fuse/request/request.h"

/* Convert a file handle and a credential to the form of the broker's messages. */
struct broker_fh request_broker_fh(const struct nfs_fh *fh);
struct broker_cred request_broker_cred(const struct nfs_cred *cred);

/* Converts attributes from the sidecar to the form in which the server would have sent them. */
void request_attr_of_broker(const struct request *r, const struct broker_attr *attr, struct nfs_attr *ret);

/* Converts attributes to the form of FUSE replies, with the ids of the mount's namespace. */
void attr_to_stat(const struct namespaces *n, const struct nfs_attr *attr, struct stat *ret);
