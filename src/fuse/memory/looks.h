/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sends looks: the requests for which a server that remembers looks at a file (fuse/local/server_refresh.h). Looks that
 * are sent together travel in few requests: up to NFS_LOOKS_MAX in one NFSv4 COMPOUND, on the connection of NFSv3, with
 * the handles of NFSv3. Each GETATTR in it asks for the ACL, as GETACL does, so Ganesha looks; a look needs a third of
 * the CPU time that GETACL takes (localiofs-compare(7)).
 *
 * What COMPOUND does not answer is asked by GETACL: all looks of a server that has NFSv4 switched off or refuses these
 * handles, and those behind a file that is gone, at which a COMPOUND ends. After LOOKS_REFUSALS requests in a row of
 * which not one look was answered, and after one that was evidently answered from memory, the mount sends no more of
 * them. A server with ACLs looks by COMMIT only.
 *
 * struct looks belongs to struct memory; its members are constant, but refusals. Any thread may send. answered() runs
 * on the thread of the server.
 */
#pragma once

#include "fuse/fs/fs.h"

#define LOOKS_REFUSALS 3

struct looks {
	struct fs *fs;
	struct server *nfs;
	/*
	 * The server has looked for these calls, or will not: their errors tell (server_looked()), and has_attr and the
	 * mtime alone are valid of attr. The list is not used afterwards.
	 */
	void (*answered)(struct looks *looks, struct list *calls);
	atomic_uint refusals; /* in a row, of COMPOUND */
};

/* One look. The owner keeps it until answered() has it, and sets fh, cred, patience_ms, given_up and may_be_gone. */
struct look_request {
	struct nfs_call call;
	struct looks *looks;
	bool together; /* the answer came by COMPOUND */
};

/* Makes a request of a look that is not sent yet. */
void looks_prepare(struct looks *looks, struct look_request *r);

/* The server has answered a COMPOUND, but has not looked: none is sent any more. */
void looks_distrust(struct looks *looks);

/* Sends prepared requests, linked by the node of their call; empties the list. Never blocks. */
void looks_send(struct looks *looks, struct list *calls);
