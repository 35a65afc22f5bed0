/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ONC RPC 400122 for the network: UUID_IS_LOCAL at the addresses that the NFS server listens on (probe_listeners).
 * One thread, one poll loop; everything that comes in is hostile.
 *
 * The reply is the same whatever was found. What follows from a call goes to the session that
 * announced the UUID (broker_match), and only when the caller's address also holds an established
 * connection to the NFS server: a firewall that shuts the server's port is not walked around here.
 *
 * Nobody holds the port up: all that wait are accepted at once, a connection asks one question and has little time
 * for it, and where there is no room the oldest goes that has not asked. Source ports below 1024, which only
 * privileged processes have, have places of their own.
 */
#pragma once

#include "sidecar/broker/broker.h"
#include "base/util.h"

struct rpc_server;

/*
 * Makes the thread. The broker and the exports must outlive it. An error when there is none, or when
 * the NFS server serves and its addresses are taken on our port; the log says so.
 */
int rpc_server_start(uint16_t probeport, struct broker *broker, struct export_store *exports, struct rpc_server **ret);
/* Ends the thread and closes everything. NULL; or s, and nothing is closed, when the thread does not end within 2 s. */
struct rpc_server *rpc_server_stop(struct rpc_server *s);
