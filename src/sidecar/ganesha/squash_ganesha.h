/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFS-Ganesha's squash: the credential on the wire and the export's options give the credential that
 * the server acts with. Pure; the rule is nfs_req_creds() of Ganesha 4.3 (src/support/nfs_creds.c).
 * Where it differs from knfsd: root_squash drops *all* groups of uid 0.
 */
#pragma once

#include "localiofs/broker_protocol.h"
#include "sidecar/exports/export_table.h"

/* -EINVAL for uid, gid or a group of -1 (an RPC error at the server) and for too many groups. */
int squash_ganesha(const struct export_perms *perms, const struct broker_cred *wire, struct broker_cred *ret);
