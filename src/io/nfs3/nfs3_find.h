/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The begin and the end of an NFSv3 mount: find() and leave() of struct server_version (io/server.h). The mount daemon
 * is asked for the handle of the root, and the port mapper for the port of the NFS server; that is the host of the
 * mount daemon, unless mounthost= says otherwise. nfs(5) has the rules for proto= and mountproto=: "tcp" means IPv4
 * and "tcp6" IPv6. No state; both functions block, and any thread may call them.
 */
#pragma once

#include "io/server.h"

int nfs3_find(const struct server_options *o, unsigned timeout_ms, struct server_place *ret, char *sentence,
	size_t size);

void nfs3_leave(const struct server_options *o, const struct server_place *place, unsigned timeout_ms);
