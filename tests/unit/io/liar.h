/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An NFS server that answers with bytes which the test has made, valid or not; and a mount of this server. out has the
 * answer in preparation, and the functions put_...() append to it. Only for the test's main thread.
 */
#pragma once

#include "io/fake_server.h"

#include <stdlib.h>

#define EVERY_ACL 0x0fU

/* The answer in preparation. */
static uint8_t out[8192 - 64];
static size_t out_size;

static inline void begin(void)
{
	out_size = 0;
}

static inline void put_u32(uint32_t v)
{
	assert_true(out_size + 4 <= sizeof(out));
	store_u32(out + out_size, v);
	out_size += 4;
}

static inline void put_u64(uint64_t v)
{
	put_u32((uint32_t)(v >> 32));
	put_u32((uint32_t)v);
}

static inline void put_bytes(const void *data, size_t len)
{
	size_t padded = (len + 3) & ~(size_t)3;

	assert_true(out_size + padded <= sizeof(out));
	memset(out + out_size, 0, padded);
	if (len > 0)
		memcpy(out + out_size, data, len);
	out_size += padded;
}

static inline void put_opaque(const void *data, size_t len)
{
	put_u32((uint32_t)len);
	put_bytes(data, len);
}

static inline void put_attr(uint32_t type)
{
	put_u32(type);
	put_u32(0640); /* mode, nlink, uid, gid */
	put_u32(2);
	put_u32(1000);
	put_u32(100);
	put_u64(12345); /* size, used */
	put_u64(16384);
	put_u32(8); /* rdev */
	put_u32(1);
	put_u64(77); /* fsid, fileid */
	put_u64(4711);
	for (uint32_t n = 0; n < 3; n++) {
		put_u32(1700000000 + n);
		put_u32(5 + n);
	}
}

static inline void put_post_attr(uint32_t type)
{
	put_u32(true);
	put_attr(type);
}

static inline void put_wcc(void)
{
	put_u32(true);
	put_u64(1);
	put_u64(2);
	put_u64(3);
	put_post_attr(1);
}

static inline void put_entry(bool plus, uint64_t fileid, const char *name, uint64_t cookie)
{
	put_u32(true);
	put_u64(fileid);
	put_opaque(name, strlen(name));
	put_u64(cookie);
	if (plus) {
		put_post_attr(1);
		put_u32(true);
		put_opaque("handle", 6);
	}
}

static inline void put_ace(uint32_t tag, uint32_t id, uint32_t perm)
{
	put_u32(tag);
	put_u32(id);
	put_u32(perm);
}

/* Puts the rest of a good answer of a procedure that finds, makes or removes a name. */
static inline void put_name_answer(enum nfs_proc proc)
{
	switch (proc) {
	case NFS_LOOKUP:
		put_opaque("a handle", 8);
		put_post_attr(1);
		put_post_attr(2);
		break;
	case NFS_CREATE:
	case NFS_MKDIR:
	case NFS_SYMLINK:
	case NFS_MKNOD:
		put_u32(true);
		put_opaque("new handle", 10);
		put_post_attr(1);
		put_wcc();
		break;
	case NFS_RENAME:
		put_wcc();
		put_wcc();
		break;
	case NFS_LINK:
		put_post_attr(1);
		put_wcc();
		break;
	default: /* SETATTR, REMOVE, RMDIR */
		put_wcc();
		break;
	}
}

/* The same for procedures that read or write. */
static inline void put_data_answer(enum nfs_proc proc)
{
	switch (proc) {
	case NFS_READ:
		put_post_attr(1);
		put_u32(5);
		put_u32(true);
		put_opaque("data!", 5);
		break;
	case NFS_WRITE:
		put_wcc();
		put_u32(5);
		put_u32(NFS_FILE_SYNC);
		put_bytes("verifier", 8);
		break;
	case NFS_COMMIT:
		put_wcc();
		put_bytes("verifier", 8);
		break;
	default: /* READDIR, READDIRPLUS */
		put_post_attr(2);
		put_bytes("verifier", 8);
		put_entry(proc == NFS_READDIRPLUS, 10, "one", 1);
		put_entry(proc == NFS_READDIRPLUS, 11, "another name", 2);
		put_u32(false);
		put_u32(true);
		break;
	}
}

/* The same for procedures that describe a filesystem. */
static inline void put_limits_answer(enum nfs_proc proc)
{
	put_post_attr(2);
	switch (proc) {
	case NFS_FSSTAT:
		for (uint64_t n = 1; n <= 6; n++)
			put_u64(n);
		put_u32(0);
		break;
	case NFS_FSINFO:
		for (uint32_t n = 1; n <= 7; n++)
			put_u32(n);
		put_u64(1ULL << 40);
		put_u64(1);
		put_u32(0x1b);
		break;
	default: /* PATHCONF */
		for (uint32_t n = 0; n < 6; n++)
			put_u32(n ? 255 : 32000);
		break;
	}
}

/* The same for procedures on one object. */
static inline void put_object_answer(enum nfs_proc proc)
{
	switch (proc) {
	case NFS_GETATTR:
		put_attr(1);
		break;
	case NFS_ACCESS:
		put_post_attr(1);
		put_u32(0x1f);
		break;
	case NFS_READLINK:
		put_post_attr(5);
		put_opaque("target", 6);
		break;
	case NFS_GETACL:
		put_post_attr(2);
		put_u32(EVERY_ACL);
		put_u32(2); /* twice: as a count of its own, and as the count of the array */
		put_u32(2);
		put_ace(1, 1000, 7);
		put_ace(2, 4711, 5);
		put_u32(1);
		put_u32(1);
		put_ace(NFS_ACE_DEFAULT | 0x20, 0, 4);
		break;
	default: /* SETACL */
		put_post_attr(1);
		break;
	}
}

/*
 * Puts the rest of a good answer about one look: PUTFH and GETATTR, with the attributes and the mtime that are given.
 */
static inline void put_looked(uint32_t acl_word, uint32_t mtime_word, const void *attributes, size_t size)
{
	put_u32(22);
	put_u32(0);
	put_u32(9);
	put_u32(0);
	put_u32(2);
	put_u32(acl_word);
	put_u32(mtime_word);
	put_opaque(attributes, size);
}

#define LOOK_ACL   (1U << 12)
#define LOOK_MTIME (1U << (53 - 32))
#define LOOK_TIME  "\0\0\0\0\x65\x53\xf1\x00\0\0\0\x07" /* 1700000000 s, 7 ns */

/* The same of COMPOUND, about one look. */
static inline void put_compound_answer(void)
{
	put_u32(0); /* no tag */
	put_u32(2);
	put_looked(0, LOOK_MTIME, LOOK_TIME, 12);
}

/* Puts a good answer of the procedure. */
static inline void put_answer(enum nfs_proc proc)
{
	begin();
	put_u32(0);
	switch (proc) {
	case NFS_GETATTR:
	case NFS_ACCESS:
	case NFS_READLINK:
	case NFS_GETACL:
	case NFS_SETACL:
		put_object_answer(proc);
		break;
	case NFS_READ:
	case NFS_WRITE:
	case NFS_COMMIT:
	case NFS_READDIR:
	case NFS_READDIRPLUS:
		put_data_answer(proc);
		break;
	case NFS_FSSTAT:
	case NFS_FSINFO:
	case NFS_PATHCONF:
		put_limits_answer(proc);
		break;
	case NFS_COMPOUND:
		put_compound_answer();
		break;
	default:
		put_name_answer(proc);
		break;
	}
}

/* A mount whose server answers as the test wants. */
struct liar {
	struct fake_server *server;
	struct server *t;
	int fd;
};

static inline int liar_setup(void **state)
{
	static struct liar liar;
	void *server = NULL;

	if (setup(&server) < 0)
		return -1;
	liar.server = server;
	liar.t = start(liar.server, (struct server_options){0});
	liar.fd = take_live_connection(liar.server, NULL);
	*state = &liar;
	return 0;
}

static inline int liar_teardown(void **state)
{
	struct liar *liar = *state;
	void *server = liar->server;

	server_free(liar->t);
	hang_up(liar->fd);
	return teardown(&server);
}

/* The results that the test copies while done() runs, since they are gone afterwards. */
struct asked {
	struct client client;
	void (*look)(const struct nfs_call *call);
};

static inline void asked_done(struct nfs_call *call)
{
	struct asked *a = CONTAINER_OF(call, struct asked, client.call);

	if (call->error == 0 && a->look)
		a->look(call);
	client_done(call);
}

/*
 * Sends a call and answers with the first size bytes of out. If the client closes the connection because of the answer,
 * the server answers EPERM on the next connection, so that the call ends.
 */
static inline int lie(struct liar *liar, enum nfs_proc proc, size_t size, void (*look)(const struct nfs_call *call))
{
	static const uint8_t data[4096];
	struct nfs_look one = {0};
	struct asked a = {.look = look, .client.call = {.name = "name", .name2 = "name2", .fh2 = {.len = 4}}};
	struct pollfd p;
	struct request r;

	if (proc == NFS_READ || proc == NFS_WRITE) {
		a.client.call.args.io.count = sizeof(data);
		a.client.call.args.io.data = data;
	} else if (proc == NFS_GETACL) {
		a.client.call.args.acl.mask = EVERY_ACL;
	} else if (proc == NFS_COMPOUND) {
		one.fh = &a.client.call.fh;
		a.client.call.args.looks.looks = &one;
		a.client.call.args.looks.count = 1;
	}
	(void)sem_init(&a.client.done, 0, 0);
	a.client.call.proc = proc;
	a.client.call.fh.len = 4;
	a.client.call.done = asked_done;
	server_submit(liar->t, &a.client.call);
	take_request(liar->fd, &r);
	answer(liar->fd, r.call.xid, out, size);
	p = (struct pollfd){.fd = liar->fd, .events = POLLIN};
	while (a.client.times == 0 && poll(&p, 1, 1) == 0)
		;
	if (a.client.times == 0) {
		hang_up(liar->fd);
		liar->fd = take_live_connection(liar->server, NULL);
		take_request(liar->fd, &r);
		answer_status(liar->fd, r.call.xid, 1);
	}
	await(&a.client);
	return a.client.call.error;
}

static inline int tell(struct liar *liar, enum nfs_proc proc)
{
	return lie(liar, proc, out_size, NULL);
}
