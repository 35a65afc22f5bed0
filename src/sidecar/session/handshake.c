/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/session/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/util.h"
#include "mount/mountinfo.h"
#include "sidecar/backing/fuse_device.h"
#include "sidecar/grant/grant.h"
#include "sidecar/registry/peer_process.h"

#define MATCH_MS        (NONCE_LIFETIME_S * 1000)
#define HELLO_MS        10000
#define FIRST_FREE_PORT 1024 /* lower ports are reserved for root */
#define ROOM            4096 /* of descriptors, at first: 32 KiB of the kernel's memory */

/* ---- ANNOUNCE, PROVE, HELLO ---- */

int session_on_announce(struct session *s, struct packet *p)
{
	struct broker_announced reply = {0};
	int r;

	r = broker_new_nonce(s->client, p->body.announce.uuid, &reply);
	reply.error = r;
	reply.reason = r == -EFAULT ? REASON_BAD_REGISTRY : r < 0 ? REASON_REGISTRY_FULL : REASON_NONE;
	memcpy(reply.challenge, s->proof.challenge, sizeof(reply.challenge));
	log_debug("session %u: announced in slot %u: %s", s->client->number, reply.slot,
		r < 0 ? reason_text(reply.reason) : "waits for the probe");
	if (r >= 0 && s->state == SESSION_NEW)
		session_enter(s, SESSION_ANNOUNCED, MATCH_MS);
	return packet_send(s->client->socket, BROKER_ANNOUNCE | BROKER_REPLY, p->header.id, &reply, -1);
}

int session_judge_descriptor(const struct packet *p, void *arg)
{
	const struct session *s = arg;

	if (p->header.type == BROKER_PROVE)
		return owner_check(p->fd, s->client->broker->memfd_device, &s->proof) ? 1 : -EPERM;
	return fuse_device_identify(p->fd);
}

int session_on_prove(struct session *s, struct packet *p)
{
	s->trusted = s->judged == 1;
	log_debug("session %u: the proof that its client owns the machine is %s", s->client->number,
		s->trusted ? "accepted" : "refused");
	return packet_send_status(s->client->socket, BROKER_PROVE | BROKER_REPLY, p->header.id, s->trusted ? 0 : -EPERM,
		s->trusted ? REASON_NONE : REASON_PROTOCOL);
}

/* Fills the reply. REASON_NONE if this host has the root of an export under that handle. */
static enum reason look_at_root(struct session *s, const struct broker_fh *fh, struct broker_hello_reply *reply)
{
	struct location at;
	struct statx stx;
	enum reason reason = locator_find(&s->locator, fh, &at);
	_cleanup_close_ int fd = -1;

	if (reason != REASON_NONE)
		return reason;
	fd = export_mount_resolve(at.mount, &at.handle);
	if (fd == -EPERM)
		log_warning_limited(
			"open_by_handle_at(2) is not permitted: a seccomp filter forbids it, perhaps a container "
			"engine's");
	if (fd < 0 || grant_attributes(fd, &stx, &reply->root) < 0)
		return REASON_WRONG_EXPORT;
	(void)snprintf(reply->export_path, sizeof(reply->export_path), "%s", at.entry->path);
	reply->server_remembers = at.perms.remembers;
	reply->mounts = mountinfo_namespace();
	return REASON_NONE;
}

static void log_begin(const struct session *s, const char *export)
{
	const struct broker_session *c = s->client;
	char peer[IP_ADDRESS_TEXT];

	ip_address_format_port(&s->locator.peer.address, s->locator.peer.port, peer);
	log_info_limited("session %u begins, of uid %u pid %d on %s, probed from %s", c->number, c->account.uid,
		c->account.pid, export, peer);
}

int session_on_hello(struct session *s, struct packet *p)
{
	struct broker_hello_reply reply = {0};
	enum reason reason;
	int r;

	s->fuse_fd = steal_fd(&p->fd);
	r = s->judged;
	if (r >= 0 && s->fuse_fd >= 0 && p->body.hello.version == BROKER_VERSION) {
		r = account_connect(s->client->broker->account, &s->client->account, s->fuse_fd);
		if (r < 0 && r != -ENOTCONN) {
			log_warning_limited("uid %u gets no backing ids: %s", s->client->account.uid, strerror(-r));
			r = 0;
		}
	}
	if (p->body.hello.version != BROKER_VERSION)
		reason = REASON_VERSION;
	else if (r < 0)
		reason = REASON_BAD_DESCRIPTOR;
	else
		reason = look_at_root(s, &p->body.hello.root, &reply);
	if (reason != REASON_NONE) {
		reply.error = reason == REASON_BAD_DESCRIPTOR ? -EBADF : session_error_of(reason);
		reply.reason = reason;
	}
	r = packet_send(s->client->socket, BROKER_HELLO | BROKER_REPLY, p->header.id, &reply, -1);
	if (r < 0)
		return r;
	if (reason != REASON_NONE) {
		counters_refuse(s->client->broker->counters, reason);
		log_debug("session %u: HELLO is refused: %s", s->client->number, reason_text(reason));
		return reply.error;
	}
	if (peer_process_has_thread(s->client->account.pid, p->body.hello.setter))
		(s->trusted ? own_threads_add_setter : own_threads_add)(&s->own, p->body.hello.setter);
	broker_set_export(s->client, reply.export_path);
	s->begun = true;
	make_room_for_descriptors(s->client->socket, (int)MIN(s->max_ids, ROOM));
	log_begin(s, reply.export_path);
	session_enter(s, SESSION_READY, s->client->broker->recheck_s * 1000);
	return 0;
}

/* ---- MATCHED ---- */

static int say_matched(const struct session *s, const struct ip_address *peer, uint16_t port)
{
	struct broker_matched m = {.reserved_port = port < FIRST_FREE_PORT};

	ip_address_format_port(peer, port, m.peer);
	log_debug("session %u: matched, probed from %s", s->client->number, m.peer);
	return packet_send(s->client->socket, BROKER_MATCHED, 0, &m, -1);
}

static int on_first_match(struct session *s, const struct ip_address *peer, uint16_t port)
{
	int r = locator_set_peer(&s->locator, peer, port);
	const int on = 1;

	if (r < 0)
		return r;
	session_enter(s, SESSION_MATCHED, HELLO_MS);
	/* PROVE and HELLO carry descriptors. */
	(void)setsockopt(s->client->socket, SOL_SOCKET, SO_PASSRIGHTS, &on, sizeof(on));
	return say_matched(s, peer, port);
}

/*
 * The session keeps the auth domain of its first match: the address, and a reserved source port if the first match had
 * one.
 */
static int on_match_again(struct session *s, const struct ip_address *peer, uint16_t port)
{
	const struct peer *p = &s->locator.peer;

	if (!ip_address_equal(&p->address, peer) || (p->port < FIRST_FREE_PORT && port >= FIRST_FREE_PORT)) {
		(void)packet_send_status(s->client->socket, BROKER_GOODBYE, 0, -EACCES, REASON_PEER_CHANGED);
		return -EACCES;
	}
	session_enter(s, SESSION_READY, s->client->broker->recheck_s * 1000);
	return say_matched(s, peer, port);
}

int session_on_match(struct session *s, const struct ip_address *peer, uint16_t port)
{
	if (s->state == SESSION_READY)
		return on_match_again(s, peer, port);
	return s->state == SESSION_ANNOUNCED ? on_first_match(s, peer, port) : -EPROTO;
}
