/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/shortcut/proof.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/fs/convert.h"
#include "fuse/shortcut/shortcut.h"

/* A name that the NFS server has answered, on its way to the sidecar. */
struct trial {
	struct broker_call broker;
	struct proof *proof;
	uint64_t generation;
	struct nfs_fh fh; /* the NFS server's handle of the file */
};

void proof_init(struct proof *p, struct fs *fs)
{
	*p = (struct proof){.fs = fs};
	(void)pthread_mutex_init(&p->lock, NULL);
}

void proof_done(struct proof *p)
{
	(void)pthread_mutex_destroy(&p->lock);
}

/* The caller holds the lock. */
static void refuse(struct proof *p, enum reason reason)
{
	p->refused = reason;
	p->refused_ms = now_ms();
	atomic_store_explicit(&p->proved, 0, memory_order_relaxed);
}

/* True if a refused session is tried again. The caller holds the lock. */
static bool is_tried_again(const struct proof *p)
{
	uint64_t pause_ms = (uint64_t)p->fs->options->reprobe * 1000;

	return p->refused == REASON_OTHER_MOUNTS &&
	       (p->refused_ms == 0 || time_since(p->refused_ms, now_ms()) >= pause_ms);
}

/* found: the sidecar's answer; NULL: none. The caller holds the lock. */
static void judge(struct proof *p, const struct trial *t, const struct broker_found *found)
{
	struct nfs_fh fh;

	p->trying = false;
	if (t->generation != p->generation || !found)
		return;
	if (found->reason == REASON_OTHER_MOUNTS)
		refuse(p, REASON_OTHER_MOUNTS);
	if (found->error != 0 || found->reason != REASON_NONE)
		return;
	if (p->refused == REASON_OTHER_MOUNTS) {
		p->refused = REASON_NONE;
		p->equal = p->different = 0;
	}
	if (nfs_fh_of_broker(&found->fh, &fh) && nfs_fh_equal(&fh, &t->fh))
		p->equal++;
	else
		p->different++;
	if (p->equal == SHORTCUT_PROOFS) {
		atomic_store_explicit(&p->proved, t->generation, memory_order_release);
		log_debug("session generation %" PRIu64 ": the sidecar answers for names", t->generation);
	} else if (p->different == SHORTCUT_PROOFS) {
		refuse(p, REASON_OTHER_HANDLES);
		log_info("%s: the sidecar makes other file handles than the NFS server, which answers for names",
			p->fs->spec);
	}
}

static void sidecar_answered(struct broker_call *broker, int error, const void *body)
{
	struct trial *t = CONTAINER_OF(broker, struct trial, broker);

	{
		LOCKED(&t->proof->lock);
		judge(t->proof, t, error == 0 ? body : NULL);
	}
	free(t);
}

/* True if one more name is wanted; then the caller sends a trial. */
static bool take_turn(struct proof *p, uint64_t generation)
{
	LOCKED(&p->lock);
	if (p->generation != generation) {
		p->generation = generation;
		p->equal = p->different = 0;
		p->trying = false;
		p->refused = REASON_NONE;
	}
	if (p->trying || (p->refused == REASON_NONE ? p->equal >= SHORTCUT_PROOFS : !is_tried_again(p)))
		return false;
	p->trying = true;
	return true;
}

void proof_try(struct proof *p, uint64_t generation, const struct nfs_call *answered)
{
	struct broker_lookup body;
	struct trial *t;

	if (proof_is_there(p, generation) || !broker_lookup_of_nfs(answered, &body) || !take_turn(p, generation))
		return;
	t = calloc(1, sizeof(*t));
	if (!t) {
		LOCKED(&p->lock);
		p->trying = false;
		return;
	}
	t->proof = p;
	t->generation = generation;
	t->fh = answered->new_fh;
	t->broker.done = sidecar_answered;
	probe_send(p->fs->probe, &t->broker, BROKER_LOOKUP, &body, sizeof(body));
}

void proof_withdraw(struct proof *p, uint64_t generation)
{
	LOCKED(&p->lock);
	if (p->generation == generation)
		refuse(p, REASON_OTHER_MOUNTS);
}

void proof_try_again(struct proof *p)
{
	LOCKED(&p->lock);
	p->refused_ms = 0;
}

enum reason proof_reason(struct proof *p, uint64_t generation)
{
	LOCKED(&p->lock);
	if (p->generation != generation)
		return REASON_PROBING;
	return p->refused != REASON_NONE ? p->refused : p->equal >= SHORTCUT_PROOFS ? REASON_NONE : REASON_PROBING;
}
