/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The probe: finds out whether the NFS server is on this host and keeps the session with its
 * sidecar. One thread runs the state machine:
 *
 *	waiting -> trust the registry, and the socket in it -> connect to the sidecar
 *	        -> announce half a nonce, get the other half -> find its hash in the registry
 *	        -> ask UUID_IS_LOCAL at the server's address -> MATCHED on our own connection
 *	        -> PROVE where this process owns the machine
 *	        -> HELLO with the root handle -> the root is the same file -> session
 *	        -> (connection ends, REVOKE, GOODBYE) -> waiting
 *
 * A failed attempt is remembered with its reason and repeated: at first soon, then less and less
 * often, at least every reprobe seconds, with jitter; every two seconds while nobody listens; at once when
 * probe_kick() says that the NFS connection came back. In the session the question is repeated, too.
 *
 * Each session has a generation, never 0 and never used twice. Grants of one generation are worth
 * nothing in another: a REVOKE begins a new generation on the same connection.
 *
 * probe_send() may be called on any thread and never blocks; done runs on the probe's thread, or at
 * once when there is no session.
 */
#pragma once

#include <sys/socket.h>

#include "localiofs/broker_protocol.h"
#include "localiofs/reason.h"
#include "probe/broker_client.h"

struct probe_options {
	const char *registry; /* directory */
	unsigned port;        /* probeport=, or 0: where the sidecar says */
	unsigned reprobe_s;
	bool reserved_port;
	const char *asker; /* the mount's spec, for people */

	/* Both are called on the probe's thread and may block. */
	/* What NFS says of the root handle. */
	int (*root_attr)(void *arg, struct broker_attr *ret);
	/* Where the NFS connection goes; -ENOTCONN while there is none. */
	int (*server_address)(void *arg, struct sockaddr_storage *ret);
	/* A session of this generation begins (true) or has ended; must not block. */
	void (*session)(void *arg, uint64_t generation, bool up);
	/*
	 * What is to be done from time to time during a session, on the probe's thread: returns the
	 * milliseconds until the next time, -1 for not before probe_wake().
	 */
	int (*housekeep)(void *arg);
	void *arg;
};

enum probe_state {
	PROBE_STATE_PROBING, /* no attempt has finished yet */
	PROBE_STATE_LOCAL,
	PROBE_STATE_REMOTE,
};

struct probe_status {
	enum probe_state state;
	enum reason reason;
	char detail[256];   /* the sentence for people, may be empty */
	int64_t last_probe; /* seconds since the epoch, 0 for never */
	uint64_t attempts;
	pid_t sidecar_pid;          /* 0 when not visible */
	char peer[BROKER_PEER_LEN]; /* as the sidecar saw the probe's question */
	char export_path[128];
};

struct probe;

/* The options' strings are copied. Nothing happens yet. */
int probe_new(const struct probe_options *options, struct probe **ret);

/*
 * Starts the thread: fuse_fd is the mount's /dev/fuse and stays the caller's, -1 when nothing can be
 * registered on it; root is the mount's handle.
 */
int probe_start(struct probe *p, int fuse_fd, const struct broker_fh *root);

/* Ends the session and the thread; requests from now on end with -ENOTCONN. Takes NULL. */
void probe_stop(struct probe *p);

/* Takes NULL; returns NULL. */
struct probe *probe_free(struct probe *p);

/* Probe again now; in a session: repeat the question. */
void probe_kick(struct probe *p);

/* Lets housekeep() be called soon. */
void probe_wake(struct probe *p);

void probe_status(struct probe *p, struct probe_status *ret);

/* The session's generation, 0 when there is none. Cheap. */
uint64_t probe_generation(struct probe *p);

/* Whether the sidecar may send descriptors for writing in the session. */
bool probe_is_trusted(const struct probe *p);

/*
 * Whether the server answers from memory what files are like, and must be told of what was changed past it: as the last
 * session's sidecar said, also when that has ended.
 */
bool probe_server_remembers(const struct probe *p);

/* A request of the session; -ENOTCONN through done when there is none. */
void probe_send(struct probe *p, struct broker_call *call, uint32_t type, const void *body, size_t length);
