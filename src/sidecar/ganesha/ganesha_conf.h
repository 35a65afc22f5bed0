/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ganesha.conf, read as NFS-Ganesha 4.3 reads it (src/support/exports.c, CONF_EXPORT_PERMS), into an
 * export table. Keys and words are compared without case. Defaults are the server's: Access_Type
 * None, Squash Root_Squash, Anonymous_Uid and _Gid -2, SecType none and sys, Transports TCP and UDP,
 * Protocols those of NFS_CORE_PARAM (3 and 4).
 *
 * A bad value refuses the whole file, so that a half understood one never replaces a good table. What
 * is valid but cannot be honoured here (an unknown key inside an export that might restrict access)
 * leaves its export in the table with a refusal: it gets no grants.
 */
#pragma once

#include "sidecar/conf/conf_tree.h"
#include "sidecar/exports/export_table.h"

/* The caller's reference; -EBADMSG with *error "file:line: ...", or another errno with *error. */
int ganesha_conf_load(const char *path, struct export_table **ret, struct conf_error *error);
int ganesha_conf_parse(const char *name, const char *text, struct export_table **ret, struct conf_error *error);
