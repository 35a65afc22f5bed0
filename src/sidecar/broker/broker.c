/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/broker/broker.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "sidecar/broker/hang_up.h"
#include "sidecar/registry/owner_check.h"
#include "sidecar/broker/packet.h"

#define STACK_SIZE (256 * 1024)

int broker_start(struct broker *b, const struct broker_options *o, const struct registry_made *made)
{
	int r;

	*b = (struct broker){.lock = PTHREAD_MUTEX_INITIALIZER,
		.exports = o->exports,
		.account = o->account,
		.counters = o->counters,
		.notices = o->notices,
		.path = o->path,
		.socket = made->socket,
		.recheck_s = o->recheck_s,
		.claims_of_peer = o->claims_of_peer,
		.run = o->run,
		.file = made->file,
		.listener = made->listener};
	list_init(&b->sessions);
	nonces_init(&b->nonces, made->file->slots);
	r = wake_open(&b->reap);
	return r < 0 ? r : owner_check_device(&b->memfd_device);
}

static int start_thread(struct broker_session *s)
{
	pthread_attr_t attr;
	int r = pthread_attr_init(&attr);

	if (r != 0)
		return -r;
	(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
	r = pthread_create(&s->thread, &attr, s->broker->run, s);
	(void)pthread_attr_destroy(&attr);
	return -r;
}

static void add_session(struct broker *b, struct broker_session *s)
{
	int socket = s->socket, r;

	{
		LOCKED(&b->lock);
		list_append(&b->sessions, &s->node);
		b->nsessions++;
	}
	r = start_thread(s);
	if (r < 0) {
		log_error_limited("no thread for a session: %s", strerror(-r));
		LOCKED(&b->lock);
		list_remove(&s->node);
		b->nsessions--;
		account_end(b->account, &s->account);
		wake_close(&s->wake);
		free(s);
		hang_up(socket);
		return;
	}
	/* The thread copies this descriptor table, which must not change until then. */
	while (sem_wait(&s->ready) < 0 && errno == EINTR)
		;
	if (!s->has_table) {
		hang_up(socket);
		return;
	}
	/* The last close may block, so it is left to the session's thread. */
	(void)close_fd(socket);
	(void)sem_post(&s->alone);
}

static void refuse(int fd, uid_t uid)
{
	log_warning_limited("uid %u has too many sessions, or its client (cgroup) has: a connection is refused", uid);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
		(void)packet_send_status(fd, BROKER_GOODBYE, 0, -EUSERS, REASON_LIMIT);
}

/* NULL on failure: then nothing is counted, and the caller keeps the socket. */
static struct broker_session *new_session(struct broker *b, int fd)
{
	struct timeval timeout = {.tv_sec = 5};
	struct account_session account;
	struct broker_session *s;
	int r = account_begin(b->account, fd, &account);

	if (r == -EUSERS) {
		counters_add(&b->counters->limits[COUNTERS_LIMIT_SESSIONS]);
		refuse(fd, account.uid);
	}
	if (r < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	/* A client that does not read its replies must not keep its session for ever. */
	if (s == NULL || wake_open(&s->wake) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0) {
		account_end(b->account, &account);
		if (s != NULL)
			wake_close(&s->wake);
		free(s);
		return NULL;
	}
	s->broker = b;
	s->account = account;
	(void)sem_init(&s->ready, 0, 0);
	(void)sem_init(&s->alone, 0, 0);
	s->socket = fd;
	s->mark = b->socket;
	s->since = time(NULL);
	counters_add(&b->counters->sessions);
	s->number = (uint32_t)b->counters->sessions; /* only this thread counts sessions */
	return s;
}

void broker_accept(struct broker *b)
{
	int fd = accept4(b->listener, NULL, NULL, SOCK_CLOEXEC);
	struct broker_session *s = fd >= 0 ? new_session(b, fd) : NULL;

	if (s != NULL)
		add_session(b, s);
	else if (fd >= 0)
		hang_up(fd);
}

void broker_reap(struct broker *b)
{
	struct list finished;

	wake_take(b->reap);
	list_init(&finished);
	{
		LOCKED(&b->lock);
		LIST_FOREACH (pos, &b->sessions) {
			if (!CONTAINER_OF(pos, struct broker_session, node)->finished)
				continue;
			list_remove(pos);
			list_append(&finished, pos);
			b->nsessions--;
		}
	}
	LIST_FOREACH (pos, &finished) {
		struct broker_session *s = CONTAINER_OF(pos, struct broker_session, node);

		(void)pthread_join(s->thread, NULL); /* does not wait: the thread only returns */
		account_end(b->account, &s->account);
		wake_close(&s->wake);
		free(s->export_path);
		free(s);
	}
}

void broker_exports_changed(struct broker *b)
{
	LOCKED(&b->lock);
	LIST_FOREACH (pos, &b->sessions)
		wake_up(CONTAINER_OF(pos, struct broker_session, node)->wake);
}

void broker_begin_stop(struct broker *b)
{
	b->listener = close_fd(b->listener);
	LOCKED(&b->lock);
	LIST_FOREACH (pos, &b->sessions) {
		struct broker_session *s = CONTAINER_OF(pos, struct broker_session, node);

		s->stop = true;
		wake_up(s->wake);
	}
}

void broker_close(struct broker *b)
{
	b->listener = close_fd(b->listener);
	b->renewing = true;
}

void broker_renew(struct broker *b, const struct registry_made *made)
{
	struct registry_file *old;

	{
		LOCKED(&b->lock);
		old = b->file;
		b->file = made->file;
		nonces_init(&b->nonces, made->file->slots);
	}
	(void)munmap(old, sizeof(*old)); /* all writes to it are made under the lock */
	b->socket = made->socket;
	b->listener = made->listener;
	b->renewing = false;
}

bool broker_wait_stopped(struct broker *b, uint64_t deadline)
{
	struct pollfd ending = {.fd = b->reap.fd, .events = POLLIN};

	/* A session that a hostile descriptor blocks ends with the process. */
	while (b->nsessions > 0 && now_ms() < deadline) {
		broker_reap(b);
		if (b->nsessions > 0)
			(void)poll(&ending, 1, (int)(deadline - MIN(now_ms(), deadline)));
	}
	if (b->nsessions > 0)
		log_warning("%u sessions did not end in time", b->nsessions);
	return b->nsessions == 0;
}

int broker_new_nonce(struct broker_session *s, const uint8_t half[NONCE_BYTES], struct broker_announced *ret)
{
	struct broker *b = s->broker;
	int r;

	ret->recheck_s = b->recheck_s;
	ret->session = s->number;
	ret->probeport = b->probeport;
	{
		LOCKED(&b->lock);
		r = nonces_announce(&b->nonces, s, half, ret->uuid, &ret->slot);
	}
	if (r == -EUSERS)
		counters_add(&b->counters->limits[COUNTERS_LIMIT_REGISTRY]);
	if (r == -EFAULT) {
		b->registry_lost = true;
		wake_up(b->reap);
	}
	return r;
}

bool broker_expects(struct broker *b, const uint8_t uuid[16])
{
	LOCKED(&b->lock);
	return nonces_find(&b->nonces, uuid) != NULL;
}

void broker_show(struct broker_session *s, struct session *state)
{
	LOCKED(&s->broker->lock);
	s->state = state;
	s->tid = gettid();
}

void broker_set_export(struct broker_session *s, const char *path)
{
	LOCKED(&s->broker->lock);
	free(s->export_path);
	s->export_path = strdup(path);
}

void broker_forget(struct broker_session *s)
{
	LOCKED(&s->broker->lock);
	nonces_forget(&s->broker->nonces, s);
}

bool broker_take_match(struct broker_session *s, unsigned *seen, struct ip_address *ret_peer, uint16_t *ret_port)
{
	LOCKED(&s->broker->lock);
	if (s->matches == *seen)
		return false;
	*seen = s->matches;
	*ret_peer = s->peer;
	*ret_port = s->peer_port;
	return true;
}

int broker_match(struct broker *b, const uint8_t uuid[16], const struct ip_address *peer, uint16_t port)
{
	struct broker_session *s;

	LOCKED(&b->lock);
	s = nonces_use(&b->nonces, uuid);
	if (s == NULL)
		return -ENOENT;
	if (s->matches++ == 0)
		account_matched(b->account, &s->account);
	s->peer = *peer;
	s->peer_port = port;
	wake_up(s->wake);
	return 0;
}
