/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One client's session: ANNOUNCE, MATCHED, PROVE, HELLO, and then requests on files, in that order and within bounded
 * times (enum session_state of wire/broker_messages.h). The session ends when its socket closes, when the client breaks
 * the protocol, or when the sidecar stops.
 *
 * A session has a thread with a descriptor table of its own, which holds only the descriptors that the session needs. A
 * hostile descriptor of the client hangs the process that received it (guarded_receive.h). Only this thread waits for
 * that process.
 *
 * Requests are handled by one thread at a time, the keeper, which has the session's lock (relief/relief.h). The keeper
 * makes changes of names, and looks names up, without the lock. That may wait for ever, for a frozen filesystem or for
 * the lock of a directory: then a second thread becomes the keeper. It leaves all of this to workers (file_jobs.h)
 * until the first is back. Both threads and the workers share the descriptor table.
 *
 * session.c has the threads and the loop; handshake.c has the messages up to HELLO; requests.c has the requests on
 * files, and the table of all handlers; changes.c has LOOKUP and the changes of names and attributes. The lock guards
 * struct session. Another thread may look at its atomic members, its ids, its locator's slots and its constants while
 * broker_session.state points to it, under the broker's lock.
 */
#pragma once

#include "localiofs/reason.h"
#include "net/ip_address.h"
#include "sidecar/broker/broker.h"
#include "sidecar/broker/packet.h"
#include "sidecar/grant/grant.h"
#include "sidecar/grant/locator.h"
#include "sidecar/notices/notices.h"
#include "sidecar/registry/claims.h"
#include "sidecar/registry/owner_check.h"
#include "sidecar/relief/relief.h"
#include "sidecar/grant/backing_table.h"
#include "sidecar/session/file_jobs.h"
#include "wire/broker_messages.h"

struct session {
	struct broker_session *client; /* the broker's record of the session */
	struct relief relief;          /* with the session's lock */
	int error;                     /* why the session has ended; 0: it has not */
	bool mute;                     /* a reply could not be sent: the session is about to end */
	_Atomic enum session_state state;
	bool begun;           /* HELLO was accepted */
	uint64_t deadline_ms; /* of the state, as now_ms(); in SESSION_READY, the end of the last match's validity */
	unsigned matches;     /* handled matches, as broker_take_match() counts */
	struct owner_proof proof; /* the proof that PROVE's descriptor must carry */
	struct locator locator;
	int fuse_fd;         /* HELLO's descriptor, or -1 */
	int judged;          /* session_judge_descriptor()'s result on the descriptor of PROVE or HELLO */
	atomic_bool trusted; /* PROVE succeeded: the client owns this machine anyway */
	struct claims claims;
	unsigned max_ids;
	struct backing_table ids;
	struct file_jobs jobs;
	struct own_threads own;
	struct listener *listener; /* from the first PING of a ready session on; NULL: the session gets no notices */
	uint64_t notices;          /* the number of the last notice */
	uint64_t used_ms;          /* now_ms() of the last request; PING is none */
	unsigned epoch;            /* another one begins when the exports change, or nothing is watched any more */
};

/* A broker_session_fn: the session's first thread. client: the struct broker_session. */
void *session_thread(void *client);

/* Enters a state, whose deadline is in so many milliseconds. */
void session_enter(struct session *s, enum session_state state, unsigned ms);

/*
 * Sends the notices of all changes so far: those that the kernel has queued at this moment, if drain is set, else those
 * that wait for this session.
 */
int session_tell(struct session *s, bool drain);

/* Sends the reply to a request on files, and counts the request; fd, or -1, travels with it. */
int session_reply(struct session *s, const struct packet *p, const void *reply, int fd);

/* The errno of a reply for a reason of locator_find(). */
int session_error_of(enum reason reason);

/*
 * A handler of one request: replies, or starts the job that replies. The session is in a state in which the request may
 * come, and packet_check() has accepted the packet. The handler may steal p->fd. A negative errno ends the session. The
 * calling thread has the lock, and lets go of it by relief_leave() only.
 */
typedef int (*session_handler_fn)(struct session *s, struct packet *p);

/* requests.c: the handler of the requests of that type; NULL if the type is no request. */
session_handler_fn session_handler(uint32_t type);

/* requests.c: finds the export of a handle, if the client may use the credential; NULL: the request has none. */
enum reason session_find_claimed(struct session *s, const struct broker_fh *fh, const struct broker_cred *cred,
	struct location *ret);

/*
 * requests.c: the request's wish for a backing id or a descriptor gets its place in the counts, and is settled when the
 * grant is known. A grant that finds no place in the table is given up.
 */
bool session_take_place(struct session *s, uint32_t open_flags);
void session_settle_grant(struct session *s, bool place, const struct broker_fh *fh, uint32_t open_flags,
	struct broker_open_reply *reply, struct grant *grant, struct export_mount *mount);

/*
 * requests.c: a descriptor that tells the attributes of a file that has an id, and by which they may be set as the
 * reply tells then, or those of a directory; -1 for none. It can neither be read nor written, it is in nobody's way who
 * wants a lease on the file, and the client closes it with the id. A trusted client could open the file by itself;
 * another client gets no descriptor where an id does.
 */
int session_descriptor_to_look(struct session *s, const struct grant_context *g, const struct broker_fh *fh,
	uint32_t open_flags, const struct grant *grant, struct broker_open_reply *reply);

/* ---- changes.c ---- */

/* A file_jobs_change_fn, for a thread without the session's lock. session: the struct session. */
int session_make_change(void *session, struct name_change *c, uint64_t request);

/* LOOKUP, LIST, MAKE, SYMLINK, REMOVE, RENAME, LINK, SETATTR. */
int session_on_change(struct session *s, struct packet *p);

/* ---- handshake.c ---- */

int session_on_announce(struct session *s, struct packet *p);
int session_on_prove(struct session *s, struct packet *p);
int session_on_hello(struct session *s, struct packet *p);

/*
 * UUID_IS_LOCAL came with the session's nonce, from peer and port: tells the client. A negative errno ends the session.
 */
int session_on_match(struct session *s, const struct ip_address *peer, uint16_t port);

/*
 * A guarded_judge_fn; arg is the struct session. PROVE's descriptor serves in the judge's process, HELLO's is passed
 * on.
 */
int session_judge_descriptor(const struct packet *p, void *arg);
