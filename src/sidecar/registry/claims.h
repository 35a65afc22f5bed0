/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ids that a client may use in the credentials of its requests (--claims).
 *
 *	any     every id, as an NFS client may over the wire (AUTH_UNIX)
 *	peer    a process with CAP_SYS_ADMIN, or with CAP_SETUID and CAP_SETGID, in its user namespace: the ids that the
 *	        namespace maps, as the host knows them; another process: its own uid, its own gid and its own groups
 *
 * The kernel tells uid, gid and groups of the process at the time of connect(2) (SO_PEERCRED, SO_PEERGROUPS); /proc
 * tells the rest. A process can execute a set-user-id program, or a program with file capabilities, after connect(2),
 * with the socket open. So the capabilities count only if /proc/PID/status still belongs to the uid of connect(2): the
 * kernel gives the files of a process that has gained privileges by execve(2) to root (fs/exec.c begin_new_exec,
 * dumpable).
 *
 * A plain value of the session, constant after claims_of_peer(); no lock.
 */
#pragma once

#include "localiofs/broker_protocol.h"
#include "table/id_map.h"

struct claims {
	bool any;
	struct id_map uids, gids; /* the outside ids are those that the client may use */
};

/*
 * Looks at the process that has connected. A process outside this pid namespace has the ids of its connect(2), and no
 * others, since nothing tells its capabilities. A negative errno if the process has ended.
 */
int claims_of_peer(struct claims *c, int socket);

/* True if the client may use this credential. */
bool claims_allow(const struct claims *c, const struct broker_cred *cred);
