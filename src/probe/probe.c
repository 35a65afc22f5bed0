/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/probe.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "localiofs/local_rpc.h"
#include "net/ip_address.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/wake.h"
#include "probe/local_rpc_client.h"
#include "wire/nonce.h"
#include "wire/owner_proof.h"
#include "wire/registry.h"
#include "net/tcp.h"

#define BACKOFF_MIN_MS   200
#define BACKOFF_CHEAP_MS 2000 /* at most, while nobody listens: then an attempt is one connect(2) */
#define STEP_TIMEOUT_MS  5000 /* one broker exchange, or the question */
#define MATCH_TIMEOUT_MS 3000 /* from the answered question to MATCHED; a busy sidecar needs most of a second */
#define QUICK_ATTEMPTS   6    /* when what stands in the way passes by itself, and soon */
#define QUICK_PAUSE_MS   10   /* before the second, and twice as long before each further one */
#define RECHECKS         3    /* questions within the time that the sidecar believes the last one */
#define RECHECK_RETRY_MS 20000

/* One request of the attempt or session, and its answer. */
struct exchange {
	struct broker_call call;
	bool answered;
	int error;
	union {
		struct broker_status status;
		struct broker_announced announced;
		struct broker_hello_reply hello;
	} body;
};

struct announcement {
	struct broker_announce body;
	struct exchange exchange;
};

struct probe {
	struct probe_options options;
	char *registry, *asker;
	int fuse_fd;
	struct broker_fh root;
	bool started;
	pthread_t thread;
	struct wake wake;
	atomic_bool stopping, kicked;
	atomic_uint_fast64_t generation; /* of the live session, 0 for none */
	atomic_bool trusted;             /* by the last sidecar that was given a proof */
	atomic_bool server_remembers;    /* by the last HELLO */

	pthread_mutex_t lock; /* guards status and session */
	struct probe_status status;
	struct broker_client *session; /* set while generation is not 0 */

	/* The thread's own. */
	struct broker_client *broker; /* of the attempt or session */
	uint64_t last_generation;
	struct local_rpc rpc; /* the question under way */
	bool matched;
	struct announcement recheck; /* repeated in the session */
	bool rechecking;             /* it waits for an answer */
	uint64_t recheck_ms;         /* now_ms() of the next one; 0 while one is under way */
	unsigned recheck_every_ms;
	bool ended; /* the sidecar said so, or broke the protocol */
	enum reason end_reason;
	unsigned backoff_ms;
	enum reason logged; /* the reason that the log has already */
};

/* Why an attempt failed; the first fault counts. */
struct attempt {
	struct registry_fault fault;
	bool translated; /* the sidecar saw another address or port than the question came from */
};

static int PRINTF(3, 4) give_up(struct attempt *a, enum reason reason, const char *format, ...)
{
	va_list ap;

	a->fault.reason = reason;
	va_start(ap, format);
	(void)vsnprintf(a->fault.text, sizeof(a->fault.text), format, ap);
	va_end(ap);
	return -ECANCELED;
}

static void begin_generation(struct probe *p)
{
	p->last_generation++;
	{
		LOCKED(&p->lock);
		p->session = broker_client_ref(p->broker);
		p->generation = p->last_generation;
	}
	log_debug("session %" PRIu64 " begins", p->last_generation);
	p->options.session(p->options.arg, p->last_generation, true);
}

static void end_generation(struct probe *p)
{
	struct broker_client *session;

	{
		LOCKED(&p->lock);
		session = STEAL_PTR(p->session);
		p->generation = 0;
	}
	if (!session)
		return;
	(void)broker_client_unref(session);
	log_debug("session %" PRIu64 " ends", p->last_generation);
	p->options.session(p->options.arg, p->last_generation, false);
}

static void on_event(void *arg, uint32_t type, const void *body)
{
	struct probe *p = arg;

	switch (type) {
	case BROKER_MATCHED: {
		const struct broker_matched *m = body;

		p->matched = true;
		log_debug("probe: matched, seen at %.*s", (int)sizeof(m->peer) - 1, m->peer);
		LOCKED(&p->lock);
		(void)snprintf(p->status.peer, sizeof(p->status.peer), "%.*s", (int)sizeof(m->peer) - 1, m->peer);
		break;
	}
	case BROKER_REVOKE:
		/* The old grants serve nothing any more; what is still allowed is granted again. */
		if (p->generation != 0) {
			end_generation(p);
			begin_generation(p);
		}
		break;
	case BROKER_GOODBYE:
		p->ended = true;
		p->end_reason = (enum reason)((const struct broker_status *)body)->reason;
		break;
	default:
		break;
	}
}

/* What run_until() waits for. */
typedef bool (*condition_fn)(struct probe *p, const void *arg);

static void recheck(struct probe *p);

/* The milliseconds until something is to be done, or -1. */
static int time_left(struct probe *p, uint64_t deadline)
{
	uint64_t now = now_ms(), until = deadline;
	int64_t left;

	if (p->rpc.fd >= 0 && (until == 0 || p->rpc.until < until))
		until = p->rpc.until;
	if (p->generation != 0 && p->recheck_ms != 0 && (until == 0 || p->recheck_ms < until))
		until = p->recheck_ms;
	left = until == 0 ? -1 : (int64_t)MIN(until - MIN(now, until), INT32_MAX);
	if (deadline == 0 && p->generation != 0) {
		int housekeep = p->options.housekeep(p->options.arg);

		left = left < 0 || (housekeep >= 0 && housekeep < left) ? housekeep : left;
	}
	return (int)left;
}

/* Handles what comes until the condition holds, the deadline, or the end. */
static int run_until(struct probe *p, condition_fn until, const void *arg, uint64_t deadline)
{
	while (!p->stopping) {
		struct pollfd fds[3] = {{.fd = broker_client_fd(p->broker),
						.events =
							(short)(POLLIN |
								(broker_client_wants_write(p->broker) ? POLLOUT : 0))},
			{.fd = p->wake.fd, .events = POLLIN}, {.fd = p->rpc.fd, .events = p->rpc.events}};
		int r;

		if (until && until(p, arg))
			return 0;
		if (p->ended)
			return -ENOTCONN;
		if (deadline != 0 && now_ms() >= deadline)
			return -ETIMEDOUT;
		if (poll(fds, ARRAY_SIZE(fds), time_left(p, deadline)) < 0)
			continue;
		if (fds[1].revents)
			wake_take(p->wake);
		local_rpc_step(&p->rpc);
		r = broker_client_service(p->broker);
		if (r == -EPROTO) {
			p->end_reason = REASON_PROTOCOL;
			p->ended = true;
		}
		if (r < 0)
			return r;
		if (p->generation != 0)
			recheck(p);
	}
	return -ECANCELED;
}

static void exchange_done(struct broker_call *call, int error, const void *body)
{
	struct exchange *x = CONTAINER_OF(call, struct exchange, call);

	x->answered = true;
	x->error = error;
	if (error < 0)
		return;
	if (call->type == BROKER_HELLO)
		memcpy(&x->body.hello, body, sizeof(x->body.hello));
	else if (call->type == BROKER_ANNOUNCE)
		memcpy(&x->body.announced, body, sizeof(x->body.announced));
	else
		memcpy(&x->body.status, body, sizeof(x->body.status));
}

static void begin_exchange(struct probe *p, struct exchange *x, uint32_t type, const void *body, size_t length, int fd)
{
	memset(x, 0, sizeof(*x));
	x->call.done = exchange_done;
	broker_client_send(p->broker, &x->call, type, body, length, fd);
}

static bool is_answered(struct probe *p, const void *arg)
{
	return ((const struct exchange *)arg)->answered;
}

/* One request of the attempt, waited for; its own memory outlives the connection's use of it. */
static int exchange(struct probe *p, struct exchange *x, uint32_t type, const void *body, size_t length, int fd)
{
	int r;

	begin_exchange(p, x, type, body, length, fd);
	r = run_until(p, is_answered, x, now_ms() + STEP_TIMEOUT_MS);
	/* An answer counts, also when the sidecar hung up behind it. */
	if (x->answered)
		return x->error;
	broker_client_close(p->broker); /* ends the call, which must not outlive x */
	return r;
}

/* A request got no answer: the sidecar has said why, or nothing. */
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
	r = broker_client_connect(&address, on_event, p, &p->broker);
	if (r < 0)
		return give_up(a, REASON_NO_BROKER, "%s/" BROKER_SOCKET_NAME ": %s", p->registry, strerror(-r));
	return 0;
}

/* ---- the announcement and the question ---- */

static void announcement_init(struct announcement *n)
{
	n->body = (struct broker_announce){.version = BROKER_VERSION};
	nonce_half(n->body.uuid);
}

static void announced_nonce(const struct announcement *n, uint8_t ret[NONCE_BYTES])
{
	nonce_make(n->body.uuid, n->exchange.body.announced.uuid, ret);
}

/* That the sidecar on this socket writes the registry that is seen here. */
static int check_slot(struct attempt *a, int registry, const struct announcement *n)
{
	uint8_t nonce[NONCE_BYTES], hash[NONCE_BYTES];
	struct registry_slot slot;
	int r = registry_read_slot(registry, n->exchange.body.announced.slot, &slot, &a->fault);

	if (r < 0)
		return r;
	announced_nonce(n, nonce);
	nonce_hash(nonce, hash);
	if (slot.state != REGISTRY_SLOT_ANNOUNCED || memcmp(slot.hash, hash, sizeof(hash)) != 0)
		return give_up(a, REASON_BAD_REGISTRY,
			"slot %u of the registry does not hold the announced nonce: another sidecar's socket lies "
			"there",
			n->exchange.body.announced.slot);
	return 0;
}

static int announce(struct probe *p, struct attempt *a, int registry, struct announcement *n)
{
	const struct broker_announced *answer = &n->exchange.body.announced;
	int r;

	announcement_init(n);
	r = exchange(p, &n->exchange, BROKER_ANNOUNCE, &n->body, sizeof(n->body), -1);
	if (r < 0)
		return unanswered(p, a, "the announcement", r);
	if (answer->error < 0)
		return give_up(a, (enum reason)answer->reason, "the sidecar refused the announcement: %s",
			reason_text(answer->reason));
	p->recheck_every_ms = MAX(answer->recheck_s, 1) * 1000U / RECHECKS;
	log_debug("probe: announced in slot %u", answer->slot);
	return check_slot(a, registry, n);
}

/* -ENOTCONN while there is no NFS connection that could say where to. */
static int begin_question(struct probe *p, const struct announcement *n, unsigned *ret_port)
{
	unsigned told = n->exchange.body.announced.probeport;
	struct local_rpc_question q = {.reserved_port = p->options.reserved_port, .timeout_ms = STEP_TIMEOUT_MS};
	int r = p->options.server_address(p->options.arg, &q.server);

	if (r < 0)
		return r;
	q.port = p->options.port != 0 ? p->options.port : told != 0 && told <= UINT16_MAX ? told : LOCAL_RPC_PORT;
	*ret_port = q.port;
	announced_nonce(n, q.uuid);
	log_debug("probe: asks the server's host at port %u", q.port);
	p->matched = false;
	local_rpc_end(&p->rpc);
	local_rpc_begin(&p->rpc, &q);
	return 0;
}

static bool is_matched(struct probe *p, const void *arg)
{
	return p->matched;
}

static bool is_matched_or_answered(struct probe *p, const void *arg)
{
	return p->matched || p->rpc.answer != REASON_PROBING;
}

static void format_source(const struct probe *p, char ret[IP_ADDRESS_TEXT])
{
	struct ip_address address;
	uint16_t port;

	if (ip_address_from_sockaddr(&p->rpc.source, &address, &port) < 0)
		ret[0] = '\0';
	else
		ip_address_format_port(&address, port, ret);
}

/*
 * The session's auth domain is what the sidecar saw. Where that is not what our own socket had, somebody between may
 * have passed the question on; the second time the same is taken for the way things are, and said.
 */
static int check_peer(struct probe *p, struct attempt *a, bool *ret_again)
{
	char own[IP_ADDRESS_TEXT], seen[BROKER_PEER_LEN];
	bool first = !a->translated;

	format_source(p, own);
	{
		LOCKED(&p->lock);
		(void)snprintf(seen, sizeof(seen), "%s", p->status.peer);
	}
	a->translated = strcmp(own, seen) != 0;
	if (!a->translated || !first)
		return 0;
	*ret_again = true;
	return give_up(a, REASON_NOT_MATCHED, "the probe came from %s, and the sidecar saw %s", own, seen);
}

static int ask_and_match(struct probe *p, struct attempt *a, const struct announcement *n, bool *ret_again)
{
	enum reason answer;
	unsigned port;
	int r = begin_question(p, n, &port);

	if (r < 0)
		return give_up(a, REASON_NFS_DOWN, "%s", reason_text(REASON_NFS_DOWN));
	r = run_until(p, is_matched_or_answered, NULL, now_ms() + STEP_TIMEOUT_MS);
	answer = r == -ETIMEDOUT ? REASON_PROBE_TIMEOUT : p->rpc.answer;
	/* Whatever was answered, or not, only MATCHED on our own connection counts. */
	if (r == 0 && !p->matched)
		r = run_until(p, is_matched, NULL, now_ms() + (answer == REASON_NONE ? MATCH_TIMEOUT_MS : 0) + 1);
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
 * In the session: asks again from time to time and after each reconnect, without waiting. Whether the address is still
 * ours the sidecar judges: it ends a session whose address went to somebody else, or whose last match is too old.
 */
static void recheck(struct probe *p)
{
	uint64_t now = now_ms();
	unsigned port;

	if (atomic_exchange(&p->kicked, false))
		p->recheck_ms = p->recheck_ms != 0 ? now : 0;
	if (p->recheck_ms != 0 && now >= p->recheck_ms) {
		p->recheck_ms = 0;
		p->rechecking = true;
		announcement_init(&p->recheck);
		begin_exchange(p, &p->recheck.exchange, BROKER_ANNOUNCE, &p->recheck.body, sizeof(p->recheck.body), -1);
	}
	if (p->rechecking && p->recheck.exchange.answered) {
		p->rechecking = false;
		if (p->recheck.exchange.error < 0 || p->recheck.exchange.body.announced.error < 0 ||
			begin_question(p, &p->recheck, &port) < 0)
			p->recheck_ms = now + MIN(p->recheck_every_ms, RECHECK_RETRY_MS);
	}
	if (p->recheck_ms == 0 && !p->rechecking && p->rpc.answer != REASON_PROBING)
		p->recheck_ms = now + (p->rpc.answer == REASON_NONE ? p->recheck_every_ms
								    : MIN(p->recheck_every_ms, RECHECK_RETRY_MS));
}

/* Who owns the machine shows it: then the sidecar sends descriptors for writing. Nothing fails for want of that. */
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
	log_debug("probe: the sidecar %s that this process owns the machine",
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

/* Same host is not yet same export: both must see the same file behind the root handle. */
static int hello(struct probe *p, struct attempt *a, bool *ret_again)
{
	struct broker_hello body = {.version = BROKER_VERSION, .root = p->root};
	struct broker_attr before, after;
	struct exchange x;
	int r;

	*ret_again = false;
	r = p->options.root_attr(p->options.arg, &before);
	if (r < 0)
		return give_up(a, REASON_NFS_DOWN, "the NFS server does not say what the root is: %s", strerror(-r));
	r = exchange(p, &x, BROKER_HELLO, &body, sizeof(body), p->fuse_fd);
	if (r < 0)
		return unanswered(p, a, "HELLO", r);
	/* HELLO may be there before the kernel has read our answer to INIT: no mount's descriptor yet. */
	*ret_again = x.body.hello.reason == REASON_BAD_DESCRIPTOR;
	if (x.body.hello.error < 0)
		return give_up(a, (enum reason)x.body.hello.reason, "%s", reason_text(x.body.hello.reason));
	p->server_remembers = x.body.hello.server_remembers != 0;
	r = p->options.root_attr(p->options.arg, &after);
	if (r < 0)
		return give_up(a, REASON_NFS_DOWN, "the NFS server does not say what the root is: %s", strerror(-r));
	if (!same_file(&x.body.hello.root, &before) || !same_file(&x.body.hello.root, &after))
		return give_up(a, REASON_WRONG_EXPORT,
			"%s (file id %" PRIu64 " type %o there, %" PRIu64 " type %o by NFS)",
			reason_text(REASON_WRONG_EXPORT), x.body.hello.root.fileid, x.body.hello.root.mode & S_IFMT,
			after.fileid, after.mode & S_IFMT);
	if (!same_state(&x.body.hello.root, &before) && !same_state(&x.body.hello.root, &after)) {
		*ret_again = true;
		return give_up(a, REASON_WRONG_EXPORT,
			"the export's root has another size or change time in the NFS server than in the sidecar");
	}
	LOCKED(&p->lock);
	(void)snprintf(p->status.export_path, sizeof(p->status.export_path), "%.*s",
		(int)sizeof(x.body.hello.export_path) - 1, x.body.hello.export_path);
	return 0;
}

/* From nothing to a session that is ready for grants, or why not. */
static int attempt_once(struct probe *p, struct attempt *a, bool *ret_again)
{
	_cleanup_close_ int registry = -1;
	struct registry_mark socket;
	struct announcement n;
	int r;

	p->ended = false;
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
		log_debug("probe: %s", a->fault.text);
	return r;
}

static void drop_broker(struct probe *p)
{
	if (!p->broker)
		return;
	local_rpc_end(&p->rpc);
	broker_client_close(p->broker);
	p->broker = broker_client_unref(p->broker);
}

/* Until that time (now_ms()), or until somebody wants an attempt at once, or the end. */
static void wait_until(struct probe *p, uint64_t until)
{
	while (!p->stopping && !atomic_exchange(&p->kicked, false)) {
		struct pollfd fd = {.fd = p->wake.fd, .events = POLLIN};
		uint64_t now = now_ms();

		if (now >= until)
			return;
		if (poll(&fd, 1, (int)MIN(until - now, 3600000U)) > 0)
			wake_take(p->wake);
	}
}

static int attempt(struct probe *p, struct attempt *a)
{
	bool passes = false;
	int r = -ECANCELED;

	for (unsigned i = 0; i < QUICK_ATTEMPTS && !p->stopping; i++) {
		if (i > 0)
			wait_until(p, now_ms() + (QUICK_PAUSE_MS << (i - 1)));
		r = attempt_once(p, a, &passes);
		if (r == 0)
			break;
		drop_broker(p);
		if (!passes)
			break;
	}
	return r;
}

static void set_status(struct probe *p, enum probe_state state, enum reason reason, const char *detail)
{
	{
		LOCKED(&p->lock);
		p->status.state = state;
		p->status.reason = reason;
		p->status.last_probe = time(NULL);
		p->status.sidecar_pid = state == PROBE_STATE_LOCAL ? broker_client_peer_pid(p->broker) : 0;
		(void)snprintf(p->status.detail, sizeof(p->status.detail), "%s", detail);
	}
	if (p->logged == reason)
		return;
	p->logged = reason;
	if (state == PROBE_STATE_LOCAL)
		log_info("%s is local: the sidecar exports %s", p->asker, p->status.export_path);
	else
		log_info("%s is remote (%s): %s", p->asker, reason_code(reason), detail);
}

static void wait_before_next(struct probe *p, enum reason reason)
{
	uint32_t jitter = 0;
	uint64_t until;

	(void)!getrandom(&jitter, sizeof(jitter), GRND_NONBLOCK);
	if (reason == REASON_NO_REGISTRY || reason == REASON_NO_BROKER)
		p->backoff_ms = MIN(p->backoff_ms, BACKOFF_CHEAP_MS);
	until = now_ms() + p->backoff_ms + jitter % (p->backoff_ms / 4 + 1);
	p->backoff_ms = MIN(p->backoff_ms * 2, p->options.reprobe_s * 1000U);
	wait_until(p, until);
}

static void serve_session(struct probe *p, const struct attempt *a)
{
	char own[IP_ADDRESS_TEXT], detail[256];
	int r;

	format_source(p, own);
	(void)snprintf(detail, sizeof(detail),
		a->translated
			? "%s; it saw another address than %s, from which the probe came: NAT or a relay lies between"
			: "%s",
		reason_text(REASON_LOCAL), own);
	begin_generation(p);
	p->kicked = false;
	p->rechecking = false;
	p->recheck_ms = now_ms() + p->recheck_every_ms;
	set_status(p, PROBE_STATE_LOCAL, REASON_LOCAL, detail);
	r = run_until(p, NULL, NULL, 0);
	end_generation(p);
	drop_broker(p);
	if (r != -ECANCELED) {
		enum reason why = p->ended ? p->end_reason : REASON_SESSION_LOST;

		set_status(p, PROBE_STATE_REMOTE, why, reason_text(why));
	}
}

static void *run(void *arg)
{
	struct probe *p = arg;

	while (!p->stopping) {
		struct attempt a = {.fault = {.reason = REASON_NONE}};

		{
			LOCKED(&p->lock);
			p->status.attempts++;
		}
		if (attempt(p, &a) == 0) {
			p->backoff_ms = BACKOFF_MIN_MS;
			serve_session(p, &a);
		} else if (!p->stopping) {
			set_status(p, PROBE_STATE_REMOTE, a.fault.reason, a.fault.text);
		}
		wait_before_next(p, a.fault.reason);
	}
	return NULL;
}

void probe_wake(struct probe *p)
{
	wake_up(p->wake);
}

int probe_new(const struct probe_options *options, struct probe **ret)
{
	struct probe *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->options = *options;
	p->registry = strdup(options->registry);
	p->asker = strdup(options->asker);
	p->backoff_ms = BACKOFF_MIN_MS;
	p->rpc = (struct local_rpc)LOCAL_RPC_NONE;
	p->status.state = PROBE_STATE_PROBING;
	p->status.reason = REASON_PROBING;
	(void)snprintf(p->status.detail, sizeof(p->status.detail), "%s", reason_text(REASON_PROBING));
	(void)pthread_mutex_init(&p->lock, NULL);
	r = wake_open(&p->wake);
	if (!p->registry || !p->asker)
		r = -ENOMEM;
	if (r < 0) {
		(void)probe_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

int probe_start(struct probe *p, int fuse_fd, const struct broker_fh *root)
{
	int r;

	p->fuse_fd = fuse_fd;
	p->root = *root;
	r = -pthread_create(&p->thread, NULL, run, p);
	p->started = r == 0;
	return r;
}

void probe_stop(struct probe *p)
{
	if (!p || !p->started)
		return;
	p->stopping = true;
	probe_wake(p);
	(void)pthread_join(p->thread, NULL);
	p->started = false;
}

struct probe *probe_free(struct probe *p)
{
	if (!p)
		return NULL;
	probe_stop(p);
	wake_close(&p->wake);
	(void)pthread_mutex_destroy(&p->lock);
	free(p->registry);
	free(p->asker);
	free(p);
	return NULL;
}

void probe_kick(struct probe *p)
{
	p->kicked = true;
	probe_wake(p);
}

void probe_status(struct probe *p, struct probe_status *ret)
{
	LOCKED(&p->lock);
	*ret = p->status;
}

uint64_t probe_generation(struct probe *p)
{
	return p->generation;
}

bool probe_is_trusted(const struct probe *p)
{
	return p->generation != 0 && p->trusted;
}

bool probe_server_remembers(const struct probe *p)
{
	return p->server_remembers;
}

void probe_send(struct probe *p, struct broker_call *call, uint32_t type, const void *body, size_t length)
{
	struct broker_client *session = NULL;

	{
		LOCKED(&p->lock);
		if (p->session)
			session = broker_client_ref(p->session);
	}
	if (!session) {
		call->done(call, -ENOTCONN, NULL);
		return;
	}
	broker_client_send(session, call, type, body, length, -1);
	(void)broker_client_unref(session);
}
