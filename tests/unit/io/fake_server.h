/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An NFS server whose answers a test writes, on sockets of its own; and a client of this server. */
#pragma once

#include "cmocka_setup.h"

#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/whole_io.h"
#include "io/nfs3/nfs3.h"
#include "wire/oncrpc.h"
#include "net/tcp.h"

#define PATIENCE_S 10 /* the longest wait for any event */

struct fake_server {
	int listener;
	unsigned port;
	atomic_int ups, downs; /* connection_changed() */
	atomic_int loop;       /* the thread that calls back; 0: not known yet */
	atomic_int stale;
};

/* A request as the server received it. */
struct request {
	struct oncrpc_call call;
	uint8_t record[8192];
	size_t size;
};

struct client {
	struct nfs_call call;
	sem_t done;
	atomic_int times;
	uint64_t ended; /* ms */
};

static inline uint32_t load_u32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static inline void store_u32(uint8_t *b, uint32_t v)
{
	for (int n = 0; n < 4; n++)
		b[n] = (uint8_t)(v >> (24 - 8 * n));
}

static inline int setup(void **state)
{
	struct fake_server *s = calloc(1, sizeof(*s));
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(any);

	if (!s)
		return -1;
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(s->listener, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(s->listener, 64) < 0 ||
		getsockname(s->listener, (struct sockaddr *)&any, &len) < 0)
		return -1;
	s->port = ntohs(any.sin_port);
	*state = s;
	return 0;
}

static inline int teardown(void **state)
{
	struct fake_server *s = *state;

	(void)close_fd(s->listener);
	free(s);
	return 0;
}

static inline void on_changed(void *arg, bool connected)
{
	struct fake_server *s = arg;

	s->loop = gettid();
	if (connected)
		s->ups++;
	else
		s->downs++;
}

static inline void on_stale(void *arg, const struct nfs_fh *fh)
{
	struct fake_server *s = arg;

	s->stale++;
}

static inline struct server *start(struct fake_server *s, struct server_options o)
{
	struct server_place place = {.address = "127.0.0.1", .port = s->port};
	struct server *t = NULL;

	o.events = (struct server_events){.connection_changed = on_changed, .stale = on_stale, .arg = s};
	assert_int_equal(nfs3_version.start(&o, &place, &t), 0);
	return t;
}

static inline bool readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

/* Accepts the next connection; *ret_port is the client's port. */
static inline int take_connection(struct fake_server *s, unsigned *ret_port)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	int fd;

	assert_true(readable(s->listener, PATIENCE_S * 1000));
	fd = accept(s->listener, (struct sockaddr *)&from, &len);
	assert_true(fd >= 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (ret_port)
		*ret_port = address_port(&from);
	return fd;
}

static inline void read_exactly(int fd, uint8_t *to, size_t size)
{
	while (size > 0) {
		ssize_t n = recv(fd, to, size, 0);

		assert_true(n > 0);
		to += n;
		size -= (size_t)n;
	}
}

static inline void take_request(int fd, struct request *r)
{
	enum oncrpc_result result;

	read_exactly(fd, r->record, 4);
	r->size = (load_u32(r->record) & 0x7fffffff) + 4;
	assert_true(r->size <= sizeof(r->record));
	read_exactly(fd, r->record + 4, r->size - 4);
	assert_int_equal(oncrpc_decode_call(r->record, r->size, &r->call, &result), 0);
	assert_int_equal(result, ONCRPC_SUCCESS);
	assert_true(r->call.program == 100003 || r->call.program == 100227);    /* NFS, NFSACL */
	assert_in_range(r->call.version, 3, r->call.program == 100003 ? 4 : 3); /* of NFSv4 only COMPOUND comes */
	assert_true(r->call.version == 3 || r->call.procedure == 1);
}

static inline int try_answer(int fd, uint32_t xid, const uint8_t *results, size_t size)
{
	uint8_t record[8192];
	ssize_t header = oncrpc_encode_reply(xid, ONCRPC_SUCCESS, 0, record, sizeof(record));

	store_u32(record, (uint32_t)((size_t)header - 4 + size) | 0x80000000U);
	if (size > 0)
		memcpy(record + header, results, size);
	return write_all(fd, record, (size_t)header + size);
}

static inline void answer(int fd, uint32_t xid, const uint8_t *results, size_t size)
{
	assert_int_equal(try_answer(fd, xid, results, size), 0);
}

static inline void deny(int fd, uint32_t xid, enum oncrpc_result result)
{
	uint8_t record[64];
	ssize_t size = oncrpc_encode_reply(xid, result, 3, record, sizeof(record));

	assert_int_equal(write_all(fd, record, (size_t)size), 0);
}

/* Answers with an nfsstat3 and without attributes. */
static inline void answer_status(int fd, uint32_t xid, uint32_t status)
{
	uint8_t results[36] = {0};

	store_u32(results, status);
	answer(fd, xid, results, sizeof(results));
}

static inline void hang_up(int fd)
{
	tcp_reset_on_close(fd);
	(void)close(fd);
}

/* Answers the first request of a connection if there is one. */
static inline bool answer_null(int fd)
{
	uint8_t mark[4];
	struct request null;

	if (recv(fd, mark, sizeof(mark), MSG_PEEK) != sizeof(mark)) {
		hang_up(fd);
		return false;
	}
	take_request(fd, &null);
	assert_int_equal(null.call.procedure, 0);
	if (try_answer(fd, null.call.xid, NULL, 0) < 0) {
		hang_up(fd);
		return false;
	}
	return true;
}

/* A connection on which the first NULL is answered already; on a busy machine it may be given up before. */
static inline int take_live_connection(struct fake_server *s, unsigned *ret_port)
{
	int fd;

	do {
		fd = take_connection(s, ret_port);
	} while (!answer_null(fd));
	return fd;
}

static inline void client_done(struct nfs_call *call)
{
	struct client *c = CONTAINER_OF(call, struct client, call);

	c->times++;
	c->ended = now_ms();
	(void)sem_post(&c->done);
}

static inline void prepare(struct client *c, enum nfs_proc proc)
{
	(void)sem_init(&c->done, 0, 0);
	c->call.proc = proc;
	c->call.fh.len = 4;
	c->call.done = client_done;
}

static inline void submit(struct server *t, struct client *c, enum nfs_proc proc)
{
	prepare(c, proc);
	server_submit(t, &c->call);
}

static inline void await(struct client *c)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	assert_int_equal(sem_timedwait(&c->done, &until), 0);
}
