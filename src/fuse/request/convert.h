/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * File handles, credentials and attributes in the form of the broker's protocol, of NFS, and of stat(2). Pure
 * functions.
 */
#pragma once

#include "fuse/request/request.h"

/* A file handle and a credential as the broker's messages carry them. */
struct broker_fh request_broker_fh(const struct nfs_fh *fh);
struct broker_cred request_broker_cred(const struct nfs_cred *cred);

/* The attributes that the sidecar sent, as the server would have sent them. */
void request_attr_of_broker(const struct request *r, const struct broker_attr *attr, struct nfs_attr *ret);

void attr_to_stat(const struct nfs_attr *attr, struct stat *ret);
