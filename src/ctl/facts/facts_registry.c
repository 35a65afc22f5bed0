/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/whole_io.h"
#include "ctl/facts/doctor_facts.h"
#include "mount/mountinfo.h"
#include "probe/broker_client.h"
#include "wire/nonce.h"

/* The one request of this file, and its reply. */
struct question {
	struct broker_call call;
	bool answered;
	int error;
	struct broker_announced reply;
	struct sidecar_facts *facts;
};

static void on_announced(struct broker_call *call, int error, const void *body)
{
	struct question *q = CONTAINER_OF(call, struct question, call);

	q->answered = true;
	q->error = error;
	if (error == 0)
		memcpy(&q->reply, body, sizeof(q->reply));
}

static void on_event(void *arg, uint32_t type, const void *body)
{
	struct question *q = arg;
	struct broker_status status;

	if (type != BROKER_GOODBYE)
		return;
	memcpy(&status, body, sizeof(status));
	q->facts->goodbye = (enum reason)status.reason;
}

/* Waits for the reply. The sidecar's GOODBYE comes before the end of the connection. */
static int wait_for_reply(struct broker_client *b, struct question *q)
{
	uint64_t end = now_ms() + DOCTOR_QUESTION_SECONDS * 1000;

	while (!q->answered) {
		short events = (short)(POLLIN | (broker_client_wants_write(b) ? POLLOUT : 0));
		struct pollfd p = {.fd = broker_client_fd(b), .events = events};
		uint64_t now = now_ms();
		int r;

		if (now >= end)
			return -ETIMEDOUT;
		(void)poll(&p, 1, (int)(end - now));
		r = broker_client_service(b);
		if (r < 0 && !q->answered)
			return r;
	}
	return q->error;
}

static int look_at_slot(int registry, const uint8_t half[16], struct sidecar_facts *s)
{
	uint8_t nonce[NONCE_BYTES], hash[NONCE_BYTES];
	struct registry_slot slot;
	int r = registry_read_slot(registry, s->announced.slot, &slot, &s->slot);

	if (r < 0)
		return r;
	nonce_make(half, s->announced.uuid, nonce);
	nonce_hash(nonce, hash);
	if (slot.state == REGISTRY_SLOT_ANNOUNCED && memcmp(slot.hash, hash, sizeof(hash)) == 0)
		return 0;
	(void)snprintf(s->slot.text, sizeof(s->slot.text), "slot %u does not hold the announced nonce",
		s->announced.slot);
	return -EBADMSG;
}

static void ask_sidecar(int registry, int socket, struct sidecar_facts *s)
{
	struct broker_announce body = {.version = BROKER_VERSION};
	struct question q = {.call.done = on_announced, .facts = s};
	struct broker_client *b = NULL;
	struct sockaddr_un address;

	registry_socket_address(socket, &address);
	s->connect_error = broker_client_connect(&address, on_event, &q, &b);
	if (s->connect_error == -EAGAIN) { /* the process listens, but accepts nobody */
		s->connect_error = 0;
		s->answer_error = -ETIMEDOUT;
	}
	if (!b)
		return;
	nonce_half(body.uuid);
	broker_client_send(b, &q.call, BROKER_ANNOUNCE, &body, sizeof(body), -1);
	s->answer_error = wait_for_reply(b, &q);
	s->announced = q.reply;
	/* While the connection lasts: at its end the sidecar frees the slot. */
	if (s->answer_error == 0 && s->announced.error == 0)
		s->slot_error = look_at_slot(registry, body.uuid, s);
	broker_client_close(b); /* ends the call, which must not outlive q */
	(void)broker_client_unref(b);
}

static int take_type(const struct mountinfo *m, void *arg)
{
	struct registry_facts *r = arg;

	(void)snprintf(r->type, sizeof(r->type), "%s", m->type);
	return 0;
}

static int take_bound(const struct mountinfo *m, void *arg)
{
	((struct registry_facts *)arg)->bound = true;
	return 0;
}

static void write_found(int to, const void *arg)
{
	const struct registry_facts *r = arg;
	struct registry_fault fault;

	(void)registry_open_place(r->path, &fault);
	(void)write_all(to, "", 1);
}

/* The path may be an option of anybody's mount, and lead through a filesystem that never answers. */
static int open_place(struct registry_facts *r)
{
	char found;
	ssize_t n = in_child(write_found, r, &found, sizeof(found));

	if (n != -ETIMEDOUT)
		return registry_open_place(r->path, &r->place);
	(void)snprintf(r->place.text, sizeof(r->place.text), "%s: a filesystem on this path does not answer", r->path);
	return -ETIMEDOUT;
}

void facts_of_registry(struct registry_facts *r, struct sidecar_facts *s)
{
	_cleanup_close_ int place = open_place(r);
	_cleanup_close_ int registry = -1, socket = -1;
	struct registry_mark mark;
	struct statvfs fs;
	struct stat st;

	r->place_error = place < 0 ? place : 0;
	/* -EPERM: the directory is there, on another filesystem. */
	if (place == -EPERM || place == -ETIMEDOUT)
		(void)snprintf(r->type, sizeof(r->type), "other");
	if (place < 0)
		return;
	(void)mountinfo_of_fd(place, take_type, r);
	(void)mountinfo_at(r->path, take_bound, r);
	if (fstat(place, &st) == 0) {
		r->mode = st.st_mode & 07777;
		r->uid = st.st_uid;
	}
	r->read_only = fstatvfs(place, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0;
	registry = registry_open(r->path, &r->fault);
	r->error = registry < 0 ? registry : 0;
	if (registry < 0)
		return;
	socket = registry_open_socket(registry, &mark, &r->socket);
	r->socket_error = socket < 0 ? socket : 0;
	if (socket >= 0)
		ask_sidecar(registry, socket, s);
}
