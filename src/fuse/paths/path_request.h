/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The requests that a data path takes over, one struct per operation. The handler owns the struct, fills it in up to
 * done(), and frees it in or after done(). The members behind done() are the path's.
 *
 * A request is on one thread at a time, so its members need no lock.
 */
#pragma once

#include "fuse/local/granted_file.h"
#include "fuse/paths/data_path.h"
#include "fuse/request/request.h"

struct path_read {
	struct request r;
	uint64_t offset;
	size_t size;
	struct data_way way;
	/* error: 0 or a negative errno. data and size: what was read, fewer bytes than asked at the end of the file. */
	void (*done)(struct path_read *p, int error, const void *data, size_t size);

	char *buf; /* NULL: one answer of the server was enough, and was handed on as it is */
	struct iovec
		payload; /* of the request's ring entry when buf is in it: the answer is not copied, nor buf freed */
	size_t got;      /* bytes of earlier, short answers */
	size_t lead;     /* bytes before offset, as O_DIRECT wants whole blocks */
	struct uring_io local;
};

/*
 * Sets buf, with room for so many bytes. A request that came by a ring gets the memory of its ring entry, unless the
 * memory must be aligned (align > 1, as aligned_alloc() has it). False without memory.
 */
bool path_read_get_buf(struct path_read *p, size_t size, size_t align);

/* Frees buf and ends the request, which has been answered. */
void path_read_end(struct path_read *p);

struct path_write {
	struct request r;
	const char *buf; /* valid until the path's write() returns */
	uint64_t offset;
	size_t size;  /* done() finds the number of bytes that were written */
	bool appends; /* to the end of the file, wherever that is */
	bool to_disk; /* the data is stable before done() */
	bool as_root; /* the opener is the server's root */
	struct data_way way;
	void (*done)(struct path_write *p, int error);

	struct stable_wait wait;
	/* by_ring */
	struct uring_io local;
	char *copy;           /* of the data, unless the request's ring entry keeps it: */
	struct iovec payload; /* that entry */
	/* by_server: the RPC and its data are a data_write, which the write log keeps until the data is stable */
	struct data_write *w;
	struct list append_node;
	size_t written; /* bytes of earlier, short answers */
	bool unstable;  /* some of the data was answered UNSTABLE */
	bool mixed;     /* with different verifiers */
};

/* Makes the data stay until done(): sets buf and, where the ring entry has the data, payload. False without memory. */
bool path_write_keep(struct path_write *p);

/* One fsync of a file, for all callers that wait for it: backing_sync.h. */
struct path_sync {
	struct fs *fs;
	struct inode *inode;
	struct data_way way;
	bool data_only;                          /* fdatasync(2) is enough; the server knows no such COMMIT */
	bool (*given_up)(struct nfs_call *call); /* nfs_call.given_up of call */
	/* The caller that the server is asked for; called with the inode's lock. */
	const struct nfs_cred *(*choose_asker)(struct path_sync *p);
	void (*done)(struct path_sync *p, int error);
	void (*refused)(struct path_sync *p,
		int error); /* in place of done(): the server does not let the asker do it */

	struct broker_call broker;
	struct uring_io local;
	struct nfs_call call;
};

/* FALLOCATE, SEEK and COPY. */
struct path_range {
	struct request r;
	uint32_t type; /* enum broker_type, and its body */
	union {
		struct broker_range range;
		struct broker_copy copy;
	} body;
	struct data_way way;
	/* amount: the offset that SEEK found, the bytes that COPY has copied. */
	void (*done)(struct path_range *p, int error, uint64_t amount);

	struct broker_call broker;
};

struct path_truncate {
	struct request r;
	struct nfs_sattr sattr;                   /* with set_size */
	bool by_open;                             /* ftruncate(2): the open has the right */
	bool allowed;                             /* the server was asked if the caller may write the file */
	void (*restart)(struct path_truncate *p); /* allowed is set: begins again, behind the writes that came before */
	void (*done)(struct nfs_call *call);      /* &r.call: the error, or the attributes if the server sent them */

	struct broker_call broker;
};
