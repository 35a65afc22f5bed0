/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/probe_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "mount/mountinfo.h"
#include "wire/owner_proof.h"

static int PRINTF(3, 4) give_up(struct attempt *a, enum reason reason, const char *format, ...)
{
	va_list ap;

	a->fault.reason = reason;
	va_start(ap, format);
	(void)vsnprintf(a->fault.text, sizeof(a->fault.text), format, ap);
	va_end(ap);
	return -ECANCELED;
}

static bool is_answered(struct probe *p, const void *arg)
{
	return ((const struct exchange *)arg)->answered;
}

/* Sends a request and waits for its reply. */
static int exchange(struct probe *p, struct exchange *x, uint32_t type, const void *body, size_t length, int fd)
{
	int r;

	probe_begin_exchange(p, x, type, body, length, fd);
	r = probe_run_until(p, is_answered, x, now_ms() + STEP_TIMEOUT_MS);
	/* A reply counts, even if the sidecar closed the connection after it. */
	if (x->answered)
		return x->error;
	broker_client_close(p->broker); /* ends the call, which must not outlive x */
	return r;
}

/* The fault of a request without a reply. The sidecar may have said why before. */
static int unanswered(struct probe *p, struct attempt *a, const char *what, int error)
{
	if (p->ended)
		return give_up(a, p->end_reason, "%s", reason_text(p->end_reason));
	return give_up(a, REASON_BAD_BROKER, "the sidecar did not answer %s: %s", what, strerror(-error));
}

static int connect_broker(struct probe *p, struct attempt *a, int registry, struct registry_mark *ret_mark)
{
	struct sockaddr_un address;
	_cleanup_close_ int fd = registry_open_socket(registry, ret_mark, &a->fault);
	int r;

	if (fd < 0)
		return fd;
	registry_socket_address(fd, &address);
	r = broker_client_connect(&address, probe_on_event, p, &p->broker);
	if (r < 0)
		return give_up(a, REASON_NO_BROKER, "%s/" BROKER_SOCKET_NAME ": %s", p->registry, strerror(-r));
	return 0;
}

/* 0 if the sidecar behind this socket writes the registry that this process sees. */
static int check_slot(struct attempt *a, int registry, const struct announcement *n)
{
	uint8_t nonce[NONCE_BYTES], hash[NONCE_BYTES];
	struct registry_slot slot;
	int r = registry_read_slot(registry, n->exchange.body.announced.slot, &slot, &a->fault);

	if (r < 0)
		return r;
	probe_announced_nonce(n, nonce);
	nonce_hash(nonce, hash);
	if (slot.state != REGISTRY_SLOT_ANNOUNCED || memcmp(slot.hash, hash, sizeof(hash)) != 0)
		return give_up(a, REASON_BAD_REGISTRY,
			"slot %u of the registry does not hold the announced nonce: the broker socket is another "
			"sidecar's",
			n->exchange.body.announced.slot);
	return 0;
}

static int announce(struct probe *p, struct attempt *a, int registry, struct announcement *n)
{
	const struct broker_announced *answer = &n->exchange.body.announced;
	int r;

	probe_announcement_init(n);
	r = exchange(p, &n->exchange, BROKER_ANNOUNCE, &n->body, sizeof(n->body), -1);
	if (r < 0)
		return unanswered(p, a, "the announcement", r);
	if (answer->error < 0)
		return give_up(a, (enum reason)answer->reason, "the sidecar refused the announcement: %s",
			reason_text(answer->reason));
	p->believed_s = answer->recheck_s;
	p->number = answer->session;
	log_debug("probe: session %u: announced in slot %u", p->number, answer->slot);
	return check_slot(a, registry, n);
}

static bool is_matched(struct probe *p, const void *arg)
{
	return p->matched;
}

static bool is_matched_or_answered(struct probe *p, const void *arg)
{
	return p->matched || p->rpc.answer != REASON_PROBING;
}

/*
 * The session's auth domain is the address that the sidecar saw. If the question came from another address, a process
 * in between may have relayed it. So the attempt fails once. The second time, address translation is taken to be
 * the reason: the attempt goes on, and the status tells of it.
 */
static int check_peer(struct probe *p, struct attempt *a, bool *ret_again)
{
	char own[IP_ADDRESS_TEXT], seen[BROKER_PEER_LEN];
	bool first = !a->translated;

	probe_format_source(p, own);
	{
		LOCKED(&p->lock);
		(void)snprintf(seen, sizeof(seen), "%s", p->status.peer);
	}
	a->translated = strcmp(own, seen) != 0;
	if (!a->translated || !first)
		return 0;
	*ret_again = true;
	return give_up(a, REASON_NOT_MATCHED, "the probe came from %s, but the sidecar saw %s", own, seen);
}

static int ask_and_match(struct probe *p, struct attempt *a, const struct announcement *n, bool *ret_again)
{
	enum reason answer;
	unsigned port;
	int r = probe_begin_question(p, n, &port);

	if (r < 0)
		return give_up(a, REASON_NFS_DOWN, "%s", reason_text(REASON_NFS_DOWN));
	r = probe_run_until(p, is_matched_or_answered, NULL, now_ms() + STEP_TIMEOUT_MS);
	answer = r == -ETIMEDOUT ? REASON_PROBE_TIMEOUT : p->rpc.answer;
	/* The answer itself proves nothing: only MATCHED on this process's own connection counts. */
	if (r == 0 && !p->matched)
		r = probe_run_until(p, is_matched, NULL, now_ms() + (answer == REASON_NONE ? MATCH_TIMEOUT_MS : 0) + 1);
	local_rpc_end(&p->rpc);
	if (r == 0)
		return check_peer(p, a, ret_again);
	if (p->ended)
		return unanswered(p, a, "the question", r);
	if (answer == REASON_NONE || answer == REASON_PROBING)
		answer = REASON_NOT_MATCHED;
	return give_up(a, answer, "port %u: %s", port, reason_text(answer));
}

/*
 * A process that owns the machine proves that to the sidecar, which then sends it descriptors for writing. A process
 * that cannot prove it goes on without.
 */
static int prove(struct probe *p, struct attempt *a, const struct announcement *n, const struct registry_mark *socket)
{
	struct owner_proof proof = {.device = socket->device, .inode = socket->inode};
	_cleanup_close_ int fd = -1;
	struct exchange x;
	int r;

	p->trusted = false;
	memcpy(proof.challenge, n->exchange.body.announced.challenge, sizeof(proof.challenge));
	fd = owner_proof_make(&proof);
	if (fd < 0)
		return 0;
	r = exchange(p, &x, BROKER_PROVE, NULL, 0, fd);
	if (r < 0)
		return unanswered(p, a, "the proof", r);
	p->trusted = x.body.status.error == 0;
	log_debug("probe: session %u: the sidecar %s that this process owns the machine", p->number,
		p->trusted ? "believes" : "does not believe");
	return 0;
}

static bool same_file(const struct broker_attr *a, const struct broker_attr *b)
{
	return a->fileid == b->fileid && (a->mode & S_IFMT) == (b->mode & S_IFMT);
}

static bool same_state(const struct broker_attr *a, const struct broker_attr *b)
{
	return a->size == b->size && a->ctime_sec == b->ctime_sec && a->ctime_nsec == b->ctime_nsec;
}

/* The server may be on this host and still serve another export: both must see the same file behind the root handle. */
static int hello(struct probe *p, struct attempt *a, bool *ret_again)
{
	struct broker_hello body = {.version = BROKER_VERSION, .root = p->root, .setter = p->options.setter};
	struct broker_attr before, after;
	struct exchange x;
	int r;

	*ret_again = false;
	r = p->options.root_attr(p->options.arg, &before);
	if (r < 0)
		return give_up(a, REASON_NFS_DOWN, "the NFS server does not answer GETATTR of the mount's root: %s",
			strerror(-r));
	r = exchange(p, &x, BROKER_HELLO, &body, sizeof(body), p->fuse_fd);
	if (r < 0)
		return unanswered(p, a, "HELLO", r);
	/* HELLO may arrive before the kernel has read the reply to FUSE_INIT, and then fuse_fd is no mount's yet. */
	*ret_again = x.body.hello.reason == REASON_BAD_DESCRIPTOR;
	if (x.body.hello.error < 0)
		return give_up(a, (enum reason)x.body.hello.reason, "%s", reason_text(x.body.hello.reason));
	p->server_remembers = x.body.hello.server_remembers != 0;
	p->same_mounts = x.body.hello.mounts != 0 && x.body.hello.mounts == mountinfo_namespace();
	r = p->options.root_attr(p->options.arg, &after);
	if (r < 0)
		return give_up(a, REASON_NFS_DOWN, "the NFS server does not answer GETATTR of the mount's root: %s",
			strerror(-r));
	if (!same_file(&x.body.hello.root, &before) || !same_file(&x.body.hello.root, &after))
		return give_up(a, REASON_WRONG_EXPORT,
			"%s (file id %" PRIu64 " type %o at the sidecar, %" PRIu64 " type %o by NFS)",
			reason_text(REASON_WRONG_EXPORT), x.body.hello.root.fileid, x.body.hello.root.mode & S_IFMT,
			after.fileid, after.mode & S_IFMT);
	if (!same_state(&x.body.hello.root, &before) && !same_state(&x.body.hello.root, &after)) {
		*ret_again = true;
		return give_up(a, REASON_WRONG_EXPORT,
			"the export's root has another size or change time at the NFS server than at the sidecar");
	}
	LOCKED(&p->lock);
	(void)snprintf(p->status.export_path, sizeof(p->status.export_path), "%.*s",
		(int)sizeof(x.body.hello.export_path) - 1, x.body.hello.export_path);
	return 0;
}

int probe_attempt(struct probe *p, struct attempt *a, bool *ret_again)
{
	_cleanup_close_ int registry = -1;
	struct registry_mark socket;
	struct announcement n;
	int r;

	p->ended = false;
	p->number = 0;
	*ret_again = false;
	log_debug("probe: looks at the registry %s", p->registry);
	registry = registry_open(p->registry, &a->fault);
	if (registry < 0)
		return registry;
	r = connect_broker(p, a, registry, &socket);
	if (r == 0)
		r = announce(p, a, registry, &n);
	if (r == 0)
		r = ask_and_match(p, a, &n, ret_again);
	if (r == 0)
		r = prove(p, a, &n, &socket);
	if (r == 0)
		r = hello(p, a, ret_again);
	if (r < 0)
		log_debug("probe: session %u: %s", p->number, a->fault.text);
	return r;
}
