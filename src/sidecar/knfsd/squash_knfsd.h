/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * knfsd's squash: the credential on the wire and the export's options give the credential that the
 * server acts with. Pure; the rule is nfsd_setuser() (fs/nfsd/auth.c). Where it differs from
 * Ganesha: root_squash changes uid 0 and gid 0 each on its own and keeps the other groups, and an
 * id of -1 is anonymous under any options.
 */
#pragma once

#include "localiofs/broker_protocol.h"
#include "sidecar/exports/export_table.h"

/* -EINVAL for too many groups. */
int squash_knfsd(const struct export_perms *perms, const struct broker_cred *wire, struct broker_cred *ret);
