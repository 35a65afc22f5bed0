/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads ganesha.conf into an export table, as NFS-Ganesha 4.3 does (src/support/exports.c, CONF_EXPORT_PERMS). No
 * state; any thread. Keys and words are compared without case. Defaults are the server's: Access_Type None, Squash
 * Root_Squash, Anonymous_Uid and _Gid -2, SecType none and sys, Transports TCP and UDP, Protocols those of
 * NFS_CORE_PARAM (3 and 4).
 *
 * A bad value refuses the whole file, so that half a file never replaces a good table. A valid key that the sidecar
 * does not know, and that might restrict access, gives its export a refusal: the export gets no grants.
 */
#pragma once

#include "sidecar/conf/conf_tree.h"
#include "sidecar/exports/export_table.h"

/* A table with a reference for the caller. -EBADMSG with *error "file:line: ...", or another errno with *error. */
int ganesha_conf_load(const char *path, struct export_table **ret, struct conf_error *error);
/* The same from a text; messages name the file name. */
int ganesha_conf_parse(const char *name, const char *text, struct export_table **ret, struct conf_error *error);
