/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * LOOKUP: what the NFS server would answer about a name, where that is certain. The server's own rule and the kernel
 * must both allow the search of the directory. A mount point, another filesystem or subvolume, ".", "..", and every
 * error but ENOENT are left to the server: the reply has a reason then.
 *
 * Runs on the session's thread, with no state of its own. names_lookup() changes the thread's credentials while it
 * runs.
 */
#pragma once

#include "sidecar/grant/grant.h"

/* g->at is from locator_find() of the directory's handle. */
void names_lookup(const struct grant_context *g, const struct broker_lookup *request, struct broker_found *reply);
