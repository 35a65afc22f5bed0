/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The proof that the sidecar gives files the handles of the NFS server: the first names of a session that the server
 * has looked up or made are looked up at the sidecar, too. A name may be given to another file between both answers, so
 * that differences count against the session only if they come as often as the proof needs equal answers.
 *
 * A session whose names the sidecar does not answer because of other mounts (REASON_OTHER_MOUNTS) is tried again, with
 * one name at a time, after the seconds of the option reprobe, or when a user wishes it. An answer begins the proof
 * anew.
 *
 * struct proof belongs to the shortcut. Any thread; its lock guards it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "fuse/fs/fs.h"
#include "localiofs/reason.h"

struct proof {
	struct fs *fs;
	pthread_mutex_t lock;
	uint64_t generation; /* of the session that the counts are of */
	unsigned equal, different;
	enum reason refused;         /* REASON_NONE, or why this session has no proof */
	uint64_t refused_ms;         /* now_ms() then; 0: try again now */
	bool trying;                 /* a name is being looked up both ways */
	atomic_uint_fast64_t proved; /* the session whose names may take the shortcut; 0: none */
};

void proof_init(struct proof *p, struct fs *fs);
void proof_done(struct proof *p);

/* True if the session's names may take the shortcut. */
static inline bool proof_is_there(const struct proof *p, uint64_t generation)
{
	return atomic_load_explicit(&p->proved, memory_order_acquire) == generation;
}

/*
 * Asks the sidecar for the name and handle in an answer of the NFS server to LOOKUP, CREATE or MKDIR, unless the
 * session needs no more names.
 */
void proof_try(struct proof *p, uint64_t generation, const struct nfs_call *answered);

/* The sidecar has not answered for a name, because of other mounts. */
void proof_withdraw(struct proof *p, uint64_t generation);

/* A user's wish: the next name is tried, if the session has no proof because of other mounts. */
void proof_try_again(struct proof *p);

/* REASON_NONE, REASON_PROBING before the proof, or why the session's names go to the server. */
enum reason proof_reason(struct proof *p, uint64_t generation);
