/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The probe finds out whether the NFS server is on this host, and keeps the session with the server's sidecar. One
 * thread runs the state machine:
 *
 *	waiting -> check the registry and the socket in it -> connect to the sidecar
 *	        -> announce half of a nonce, get the other half -> find the nonce's hash in the registry
 *	        -> ask UUID_IS_LOCAL at the server's address -> MATCHED arrives on this process's own connection
 *	        -> PROVE, if this process owns the machine
 *	        -> HELLO with the root handle -> both sides see the same root -> session
 *	        -> (connection ends, REVOKE, GOODBYE) -> waiting
 *
 * The status keeps the reason of a failed attempt. The next attempt comes soon at first, then less and less often, but
 * at least every reprobe seconds, with jitter; every 1.4 seconds while no sidecar listens; and at once at probe_kick(),
 * for example when the NFS connection came back. During a session the question is repeated, too.
 *
 * Each session has a generation, which is never 0 and never used twice. Grants of one generation are void in any other.
 * REVOKE begins a new generation on the same connection.
 *
 * Functions may be called on any thread and never block, except probe_stop() and probe_free(), which wait for the
 * thread. Times are in milliseconds where the name does not say otherwise. The files behind this header:
 * probe_internal.h.
 */
#pragma once

#include <sys/socket.h>

#include "localiofs/broker_protocol.h"
#include "localiofs/reason.h"
#include "probe/broker_client.h"

struct probe_options {
	const char *registry; /* directory */
	unsigned port;        /* probeport=; 0: the port that the sidecar says */
	unsigned reprobe_s;   /* at first; probe_set_reprobe() */
	bool reserved_port;
	const char *asker; /* the mount's spec, for the log */
	pid_t setter;      /* of struct broker_hello, or 0 */

	/* The next two are called on the probe's thread and may block. */
	/* The root's attributes by NFS. */
	int (*root_attr)(void *arg, struct broker_attr *ret);
	/* The address of the NFS connection; -ENOTCONN without a connection. */
	int (*server_address)(void *arg, struct sockaddr_storage *ret);
	/* A session of this generation begins (true) or has ended; must not block. */
	void (*session)(void *arg, uint64_t generation, bool up);
	/*
	 * Regular work during a session, and while changes of an ended session are under way, on the probe's thread.
	 * Returns the milliseconds until the next call, or -1 to wait for probe_wake().
	 */
	int (*housekeep)(void *arg);
	/* The sidecar tells of a change, during a session; on the probe's thread. May be NULL. */
	void (*notice)(void *arg, const struct broker_notice *n);
	/* The status has changed: a session begins or has ended, or an attempt has failed. May be NULL. */
	void (*status_changed)(void *arg);
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
	char detail[256];   /* a sentence for people; may be empty */
	int64_t last_probe; /* seconds since the epoch, 0 for never */
	uint64_t attempts;
	uint64_t matched;           /* attempts that found the server on this host */
	uint64_t switches;          /* changes between local and remote after the first attempt */
	pid_t sidecar_pid;          /* 0 when not visible */
	char peer[BROKER_PEER_LEN]; /* address and port of the question, as the sidecar saw them */
	char export_path[128];
};

struct probe;

/* Copies the strings of the options. The thread starts with probe_start(). */
int probe_new(const struct probe_options *options, struct probe **ret);

/*
 * Starts the thread. fuse_fd is the mount's /dev/fuse, which stays the caller's; -1 if the mount cannot register
 * backing files. root is the handle of the mount's root.
 */
int probe_start(struct probe *p, int fuse_fd, const struct broker_fh *root);

/* Ends the session and the thread; later requests end with -ENOTCONN. Takes NULL. */
void probe_stop(struct probe *p);

/* Takes NULL; returns NULL. */
struct probe *probe_free(struct probe *p);

/* Makes the thread probe now; during a session it repeats the question. */
void probe_kick(struct probe *p);

/* Ends the session and makes no further attempt (reason off), or goes on. */
void probe_pause(struct probe *p, bool pause);

/* Changes the longest time between two attempts. */
void probe_set_reprobe(struct probe *p, unsigned seconds);

/* Makes the thread call housekeep() soon. */
void probe_wake(struct probe *p);

void probe_status(struct probe *p, struct probe_status *ret);

/* The session's generation, 0 without a session. Cheap. */
uint64_t probe_generation(struct probe *p);

/* True if the sidecar may send descriptors for writing during the session. */
bool probe_is_trusted(const struct probe *p);

/*
 * True if the server answers GETATTR from memory, and must be made to look at files that were changed locally. The
 * sidecar of the last session said so; the answer stays after that session.
 */
bool probe_server_remembers(const struct probe *p);

/* True if the sidecar of the last session is in this process's mount namespace: a mount point is one to both. */
bool probe_sees_same_mounts(const struct probe *p);

/*
 * Sends a request of the session. call->done() runs on the probe's thread; without a session at once, with -ENOTCONN.
 */
void probe_send(struct probe *p, struct broker_call *call, uint32_t type, const void *body, size_t length);

/*
 * The same for a change (broker_client.h), in the session of that generation alone: done() gets an error only before
 * the change is sent, or when no sidecar can do it any more; or at probe_stop().
 */
void probe_send_change(struct probe *p, uint64_t generation, struct broker_call *call, uint32_t type, const void *body,
	size_t length);
