/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The groups that the kernel's NFS server takes instead of a caller's own (mountd --manage-gids).
 *
 * As soon as the cache holds an answer for any uid, mountd runs with --manage-gids and the server believes no caller's
 * own groups. A caller without an answer in the cache is left to the server, which asks mountd.
 */
#pragma once

#include <stdio.h>

#include "localiofs/broker_protocol.h"
#include "base/util.h"

/*
 * From the kernel's auth.unix.gid cache (unix_gid_show() of net/sunrpc/svcauth_unix.c) into cred, for its
 * uid. 1; 0 when the kernel has no answer now, or one that is nobody's or longer than a credential; then
 * cred is as it was. *ret_any: whether it has an answer for anybody.
 */
int groups_knfsd_find(FILE *content, struct broker_cred *cred, bool *ret_any);
