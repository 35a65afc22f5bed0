/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The paths that an inode offers to one open at one moment. open_look() collects everything that the open must know of
 * the inode's mode, the daemon's descriptor, the session and the write log; the other functions only judge the result.
 *
 * open_look() runs under the inode's lock, and the offer is valid until the lock is released. Belongs to the request.
 */
#pragma once

#include "fuse/fs/fs.h"
#include "fuse/node/open_mode.h"

struct open_offer {
	uint64_t session; /* the mount's session with the sidecar; 0 if there is none */
	bool registered;  /* the kernel passes another open of the file through */
	bool cached;      /* another open of the file uses the kernel's page cache */
	bool wants_id;    /* a new backing id could serve the open */
	bool may_write;   /* the open may write to the backing file, given a descriptor for writing */
	bool reads;       /* the daemon has a descriptor by which the open can read the backing file */
	bool writes;      /* the daemon has a descriptor by which the open can write the backing file */
	bool instead;     /* the kernel has refused a backing id for the file, so the daemon has a descriptor */
	bool written;     /* writes of the file already go to the backing file */
	bool dirty;       /* the write log has data that is not yet stable on the server */
};

/* Collects the offer of inode i for an open with this wish by this uid. */
struct open_offer open_look(struct fs *fs, struct inode *i, const struct open_wish *wish, uid_t uid);

/* The same for a file that is about to be made, which nobody has open. No lock is needed. */
struct open_offer open_look_ahead(struct fs *fs, const struct open_wish *wish);

/* True if the daemon has the best descriptor that the open may use. */
static inline bool open_offer_has_descriptor(const struct open_offer *f)
{
	return f->may_write ? f->writes : f->reads;
}

/* The BROKER_OPEN_WANT_ flags of the question to the sidecar. */
uint32_t open_offer_wants(const struct open_offer *f, const struct fs *fs, const struct open_wish *wish);
