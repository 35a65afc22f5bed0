/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The speed of libnfs alone, for tools/bench: READ or WRITE of one file over one connection, for SECONDS, with DEPTH
 * requests in flight.
 *
 *   raw-nfs ADDRESS EXPORT NAME read|write random|sequential BLOCK DEPTH SECONDS
 *
 * Prints the number of operations, the seconds, and the CPU seconds of this process. A sequential write begins again at
 * offset 0 when it reaches the size of the file. A write ends with COMMIT, whose time counts.
 */
#include <poll.h>
#include <stdio.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

#include "base/text.h"
#include "io/libnfs/nfs3_mount.h"

#ifdef LIBNFS_TASKS
#define SEND(proc, ...) (rpc_nfs3_##proc##_task(__VA_ARGS__) ? 0 : -1)
#else
#define SEND(proc, ...) rpc_nfs3_##proc##_async(__VA_ARGS__)
#endif

struct bench {
	struct rpc_context *rpc;
	nfs_fh3 fh;
	bool write, random, over;
	uint32_t block;
	uint64_t blocks, next, done, seed;
	unsigned flying;
	char *data;
};

struct slot {
	struct bench *b;
	char *buffer; /* for READ, if this version of libnfs needs one */
};

static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "raw-nfs: %s: %s\n", what, why);
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void send_one(struct slot *s);

static void on_answer(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct slot *s = private_data;
	struct bench *b = s->b;

	if (status != RPC_STATUS_SUCCESS)
		die("call", rpc_get_error(rpc));
	/* READ3res, WRITE3res and COMMIT3res begin with the status. */
	if (*(nfsstat3 *)data != NFS3_OK)
		die("server", nfsstat3_to_str(*(nfsstat3 *)data));
	b->flying--;
	b->done++;
	if (!b->over)
		send_one(s);
}

/* xorshift64: any order without read-ahead is good enough. */
static uint64_t some_block(struct bench *b)
{
	if (!b->random)
		return b->next++ % b->blocks;
	b->seed ^= b->seed << 13;
	b->seed ^= b->seed >> 7;
	b->seed ^= b->seed << 17;
	return b->seed % b->blocks;
}

static void send_one(struct slot *s)
{
	struct bench *b = s->b;
	uint64_t offset = some_block(b) * b->block;
	int r;

	if (b->write) {
		WRITE3args args = {.file = b->fh,
			.offset = offset,
			.count = b->block,
			.stable = UNSTABLE,
			.data = {.data_len = b->block, .data_val = b->data}};

		r = SEND(write, b->rpc, on_answer, &args, s);
	} else {
		READ3args args = {.file = b->fh, .offset = offset, .count = b->block};

#ifdef LIBNFS_TASKS
		r = rpc_nfs3_read_task(b->rpc, on_answer, s->buffer, b->block, &args, s) ? 0 : -1;
#else
		r = SEND(read, b->rpc, on_answer, &args, s);
#endif
	}
	if (r < 0)
		die("send", rpc_get_error(b->rpc));
	b->flying++;
}

static void serve(struct bench *b)
{
	struct pollfd fd = {.fd = rpc_get_fd(b->rpc), .events = (short)rpc_which_events(b->rpc)};

	if (poll(&fd, 1, -1) < 0 || rpc_service(b->rpc, fd.revents) < 0)
		die("connection", rpc_get_error(b->rpc));
}

static void on_lookup(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	const LOOKUP3res *res = data;
	struct bench *b = private_data;

	if (status != RPC_STATUS_SUCCESS || res->status != NFS3_OK)
		die("LOOKUP", status == RPC_STATUS_SUCCESS ? nfsstat3_to_str(res->status) : rpc_get_error(rpc));
	b->fh.data.data_len = res->LOOKUP3res_u.resok.object.data.data_len;
	b->fh.data.data_val = malloc(b->fh.data.data_len);
	if (!b->fh.data.data_val || !res->LOOKUP3res_u.resok.obj_attributes.attributes_follow)
		die("LOOKUP", "no memory or no attributes");
	memcpy(b->fh.data.data_val, res->LOOKUP3res_u.resok.object.data.data_val, b->fh.data.data_len);
	b->blocks = res->LOOKUP3res_u.resok.obj_attributes.post_op_attr_u.attributes.size / b->block;
	b->flying--;
}

/* Connects and looks the file up. libnfs owns the connection. */
static void look_up(struct bench *b, struct nfs_context *nfs, const char *address, const char *export, char *name)
{
	struct nfs3_mount_options o = {.server = address, .export_path = export, .timeout_ms = 10000};
	struct nfs3_export e;
	LOOKUP3args args;
	char why[256];

	if (nfs3_mount(&o, &e, why, sizeof(why)) < 0)
		die(export, why);
	if (nfs_mount(nfs, address, export) < 0)
		die(export, nfs_get_error(nfs));
	b->rpc = nfs_get_rpc_context(nfs);
	args = (LOOKUP3args){
		.what = {.dir = {.data = {.data_len = e.root.len, .data_val = (char *)e.root.data}}, .name = name}};
	b->flying = 1;
	if (SEND(lookup, b->rpc, on_lookup, &args, b) < 0)
		die("send", rpc_get_error(b->rpc));
	while (b->flying > 0)
		serve(b);
}

static uint64_t number(const char *s)
{
	uint64_t n;

	if (parse_u64(s, 1, UINT32_MAX, &n) < 0)
		die(s, "expected a number from 1 to 4294967295");
	return n;
}

int main(int argc, char **argv)
{
	struct bench b = {.seed = 88172645463325252U};
	struct nfs_context *nfs = nfs_init_context();
	struct slot *slots;
	unsigned depth;
	double begin, seconds, cpu;

	if (argc != 9)
		die("usage", "raw-nfs ADDRESS EXPORT NAME read|write random|sequential BLOCK DEPTH SECONDS");
	b.write = strcmp(argv[4], "write") == 0;
	b.random = strcmp(argv[5], "random") == 0;
	b.block = (uint32_t)number(argv[6]);
	depth = (unsigned)number(argv[7]);
	seconds = (double)number(argv[8]);
	if (!nfs)
		die("start", "no memory");
	look_up(&b, nfs, argv[1], argv[2], argv[3]);
	b.data = calloc(1, b.block);
	slots = calloc(depth, sizeof(*slots));
	if (!b.data || !slots || b.blocks == 0)
		die(argv[3], "smaller than one block");

	begin = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned n = 0; n < depth; n++) {
		slots[n] = (struct slot){.b = &b, .buffer = malloc(b.block)};
		send_one(&slots[n]);
	}
	while (now(CLOCK_MONOTONIC) - begin < seconds)
		serve(&b);
	b.over = true;
	while (b.flying > 0)
		serve(&b);
	if (b.write) {
		COMMIT3args args = {.file = b.fh};

		b.flying++;
		b.done--;
		if (SEND(commit, b.rpc, on_answer, &args, &slots[0]) < 0)
			die("send", rpc_get_error(b.rpc));
		while (b.flying > 0)
			serve(&b);
	}
	(void)printf("%llu %.6f %.6f\n", (unsigned long long)b.done, now(CLOCK_MONOTONIC) - begin,
		now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	return 0;
}
