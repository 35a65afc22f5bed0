/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list of all kinds of NFS server that the sidecar knows. A new kind is a room like knfsd and one line in
 * server_kinds.c. The list is constant; the functions have no state of their own, and only the main thread calls them.
 */
#pragma once

#include "sidecar/exports/server_kind.h"

/* The kind that --server= calls name ("ganesha", "knfsd"), or NULL. */
const struct server_kind *server_kinds_named(const char *name);

/*
 * The kind that runs on this host, or else the kind that is configured on this host. config: the argument of --config=,
 * or NULL. The result is NULL when no kind or more than one kind fits; *error then names the files that were tried.
 */
const struct server_kind *server_kinds_find(const char *config, struct conf_error *error);
