/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The server of ONC RPC program 400122 on the network: UUID_IS_LOCAL, at the addresses on which the NFS server listens
 * (probe_listeners). One thread with one poll loop, to which all state belongs. All input is hostile.
 *
 * The reply does not depend on the result of the checks. The result goes to the session that announced the UUID
 * (broker_match()), and only if the caller's address has an established connection to the NFS server: so a firewall
 * that closes the server's port also keeps its files.
 *
 * No client can block the port: the thread accepts all waiting connections at once, a connection may send one question
 * within a short time, and when all places are taken, the oldest connection without a question is closed. Source ports
 * below 1024, which only privileged processes have, have places of their own.
 */
#pragma once

#include "sidecar/broker/broker.h"
#include "base/util.h"

struct rpc_server;

/*
 * Starts the thread. The brokers and the exports must outlive it. A negative errno, after a message in the log, if no
 * thread can be made, or if the NFS server listens and no socket for probes can be opened.
 */
int rpc_server_start(uint16_t probeport, struct broker *brokers, unsigned nbrokers, struct export_store *exports,
	struct rpc_server **ret);
/* Ends the thread, and closes all sockets. NULL; or s, with nothing closed, if the thread does not end within 2 s. */
struct rpc_server *rpc_server_stop(struct rpc_server *s);
