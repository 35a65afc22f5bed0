/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/probe.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "log.h"
#include "probe/local_rpc_client.h"
#include "probe/nonce.h"
#include "probe/registry.h"

#define BACKOFF_MIN_MS 200
#define STEP_TIMEOUT_MS 5000  /* one broker exchange, or the question */
#define MATCH_TIMEOUT_MS 1000 /* from the answered question to MATCHED */
#define QUICK_ATTEMPTS 6      /* when what stands in the way passes by itself, and soon */
#define QUICK_PAUSE_MS 10     /* before the second, and twice as long before each further one */

struct probe {
	struct probe_options options;
	char *registry, *asker;
	int fuse_fd;
	struct broker_fh root;
	bool started;
	pthread_t thread;
	int wake_fd;
	atomic_bool stopping, kicked;
	atomic_uint_fast64_t generation; /* of the live session, 0 for none */
	atomic_bool trusted;             /* by the last sidecar that matched */

	pthread_mutex_t lock; /* guards status and session */
	struct probe_status status;
	struct broker_client *session; /* set while generation is not 0 */

	/* The thread's own. */
	struct broker_client *broker; /* of the attempt or session */
	uint64_t last_generation;
	bool matched;
	bool ended;               /* the sidecar said so, or broke the protocol */
	enum reason end_reason;
	unsigned backoff_ms;
	enum reason logged;       /* the reason that the log has already */
};

/* Why an attempt failed; the first fault counts. */
struct attempt {
	struct registry_fault fault;
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
	p->options.session(p->options.arg, p->last_generation, false);
}

static void on_event(void *arg, uint32_t type, const void *body)
{
	struct probe *p = arg;

	switch (type) {
	case BROKER_MATCHED: {
		const struct broker_matched *m = body;

		p->matched = true;
		p->trusted = m->trusted;
		LOCKED(&p->lock);
		(void)snprintf(p->status.peer, sizeof(p->status.peer), "%.*s",
			(int)sizeof(m->peer) - 1, m->peer);
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

/* Handles what comes until *until_true, the deadline, or the end. */
static int run_until(struct probe *p, const bool *until_true, uint64_t deadline)
{
	while (!p->stopping) {
		int timeout = -1;
		struct pollfd fds[2] = {{.fd = broker_client_fd(p->broker),
						.events = (short)(POLLIN |
							(broker_client_wants_write(p->broker) ? POLLOUT : 0))},
			{.fd = p->wake_fd, .events = POLLIN}};
		uint64_t now = now_ms();
		int r;

		if (until_true && *until_true)
			return 0;
		if (p->ended)
			return -ENOTCONN;
		if (deadline != 0 && now >= deadline)
			return -ETIMEDOUT;
		if (deadline != 0)
			timeout = (int)(deadline - now);
		else if (p->generation != 0)
			timeout = p->options.housekeep(p->options.arg);
		if (poll(fds, 2, timeout) < 0)
			continue;
		if (fds[1].revents) {
			uint64_t n;

			(void)!read(p->wake_fd, &n, sizeof(n));
		}
		r = broker_client_service(p->broker);
		if (r == -EPROTO) {
			p->end_reason = REASON_PROTOCOL;
			p->ended = true;
		}
		if (r < 0)
			return r;
	}
	return -ECANCELED;
}

struct exchange {
	struct broker_call call;
	bool answered;
	int error;
	union {
		struct broker_status status;
		struct broker_hello_reply hello;
	} body;
};

static void exchange_done(struct broker_call *call, int error, const void *body)
{
	struct exchange *x = CONTAINER_OF(call, struct exchange, call);

	x->answered = true;
	x->error = error;
	if (error < 0)
		return;
	if (call->type == BROKER_HELLO)
		memcpy(&x->body.hello, body, sizeof(x->body.hello));
	else
		memcpy(&x->body.status, body, sizeof(x->body.status));
}

/* One request of the attempt, waited for; its own memory outlives the connection's use of it. */
static int exchange(struct probe *p, struct exchange *x, uint32_t type, const void *body, size_t length,
	int fd)
{
	int r;

	memset(x, 0, sizeof(*x));
	x->call.done = exchange_done;
	broker_client_send(p->broker, &x->call, type, body, length, fd);
	r = run_until(p, &x->answered, now_ms() + STEP_TIMEOUT_MS);
	/* An answer counts, also when the sidecar hung up behind it. */
	if (x->answered)
		return x->error;
	broker_client_close(p->broker); /* ends the call, which must not outlive x */
	return r;
}

static int connect_broker(struct probe *p, struct attempt *a, int registry)
{
	struct sockaddr_un address;
	int r = registry_broker_address(registry, &address, &a->fault);

	if (r < 0)
		return r;
	r = broker_client_connect(&address, registry_root_uid(), on_event, p, &p->broker);
	if (r == -EPERM)
		return give_up(a, REASON_BAD_BROKER, "%s/" BROKER_SOCKET_NAME " is served by a process that is not root's",
			p->registry);
	if (r < 0)
		return give_up(a, REASON_NO_BROKER, "%s/" BROKER_SOCKET_NAME ": %s", p->registry, strerror(-r));
	return 0;
}

static int announce(struct probe *p, struct attempt *a, const struct nonce *n)
{
	struct broker_announce body = {.version = BROKER_VERSION};
	struct exchange x;
	int r;

	memcpy(body.nonce, n->uuid, sizeof(body.nonce));
	memcpy(body.proof, n->proof, sizeof(body.proof));
	r = exchange(p, &x, BROKER_ANNOUNCE, &body, sizeof(body), -1);
	if (r < 0)
		return give_up(a, REASON_BAD_BROKER, "the sidecar did not answer the announcement: %s", strerror(-r));
	if (x.body.status.error < 0)
		return give_up(a, (enum reason)x.body.status.reason, "the sidecar refused the announcement: %s",
			reason_text(x.body.status.reason));
	return 0;
}

static int ask_and_match(struct probe *p, struct attempt *a, const struct nonce *n)
{
	struct local_rpc_question q = {.port = p->options.port,
		.reserved_port = p->options.reserved_port,
		.timeout_ms = STEP_TIMEOUT_MS,
		.stop_fd = -1};
	enum reason answer;
	int r = p->options.server_address(p->options.arg, &q.server);

	if (r < 0)
		return give_up(a, REASON_NFS_DOWN, "%s", reason_text(REASON_NFS_DOWN));
	memcpy(q.uuid, n->uuid, sizeof(q.uuid));
	p->matched = false;
	answer = local_rpc_ask(&q);
	/* Whatever was answered, or not, only MATCHED on our own connection counts. */
	r = run_until(p, &p->matched, now_ms() + (answer == REASON_NONE ? MATCH_TIMEOUT_MS : 0) + 1);
	if (r == 0)
		return 0;
	if (answer == REASON_NONE)
		answer = REASON_NOT_MATCHED;
	return give_up(a, answer, "port %u: %s", p->options.port, reason_text(answer));
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
		return give_up(a, REASON_BAD_BROKER, "the sidecar did not answer HELLO: %s", strerror(-r));
	/* HELLO may be there before the kernel has read our answer to INIT: no mount's descriptor yet. */
	*ret_again = x.body.hello.reason == REASON_BAD_DESCRIPTOR;
	if (x.body.hello.error < 0)
		return give_up(a, (enum reason)x.body.hello.reason, "%s", reason_text(x.body.hello.reason));
	r = p->options.root_attr(p->options.arg, &after);
	if (r < 0)
		return give_up(a, REASON_NFS_DOWN, "the NFS server does not say what the root is: %s", strerror(-r));
	if (!same_file(&x.body.hello.root, &before) || !same_file(&x.body.hello.root, &after))
		return give_up(a, REASON_WRONG_EXPORT,
			"%s (file id %" PRIu64 " type %o there, %" PRIu64 " type %o by NFS)",
			reason_text(REASON_WRONG_EXPORT), x.body.hello.root.fileid,
			x.body.hello.root.mode & S_IFMT, after.fileid, after.mode & S_IFMT);
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
	struct nonce nonce = NONCE_NONE;
	int r;

	p->ended = false;
	*ret_again = false;
	registry = registry_open(p->registry, &a->fault);
	if (registry < 0)
		return registry;
	r = connect_broker(p, a, registry);
	if (r < 0)
		return r;
	r = nonce_make(registry, p->asker, &nonce, &a->fault);
	if (r < 0)
		return r;
	r = announce(p, a, &nonce);
	if (r == 0)
		r = ask_and_match(p, a, &nonce);
	nonce_drop(&nonce);
	if (r < 0)
		return r;
	return hello(p, a, ret_again);
}

static void drop_broker(struct probe *p)
{
	if (!p->broker)
		return;
	broker_client_close(p->broker);
	p->broker = broker_client_unref(p->broker);
}

/* Until that time (now_ms()), or until somebody wants an attempt at once, or the end. */
static void wait_until(struct probe *p, uint64_t until)
{
	while (!p->stopping && !atomic_exchange(&p->kicked, false)) {
		struct pollfd fd = {.fd = p->wake_fd, .events = POLLIN};
		uint64_t now = now_ms();

		if (now >= until)
			return;
		if (poll(&fd, 1, (int)MIN(until - now, 3600000U)) > 0) {
			uint64_t n;

			(void)!read(p->wake_fd, &n, sizeof(n));
		}
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
		p->status.sidecar_pid =
			state == PROBE_STATE_LOCAL ? broker_client_peer_pid(p->broker) : 0;
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

static void wait_before_next(struct probe *p)
{
	uint32_t jitter = 0;
	uint64_t until;

	(void)getrandom(&jitter, sizeof(jitter), GRND_NONBLOCK);
	until = now_ms() + p->backoff_ms + jitter % (p->backoff_ms / 4 + 1);
	p->backoff_ms = MIN(p->backoff_ms * 2, p->options.reprobe_s * 1000U);
	wait_until(p, until);
}

static void serve_session(struct probe *p)
{
	int r;

	begin_generation(p);
	set_status(p, PROBE_STATE_LOCAL, REASON_LOCAL, reason_text(REASON_LOCAL));
	r = run_until(p, NULL, 0);
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
			serve_session(p);
		} else if (!p->stopping) {
			set_status(p, PROBE_STATE_REMOTE, a.fault.reason, a.fault.text);
		}
		wait_before_next(p);
	}
	return NULL;
}

void probe_wake(struct probe *p)
{
	uint64_t one = 1;

	(void)!write(p->wake_fd, &one, sizeof(one));
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
	p->status.state = PROBE_STATE_PROBING;
	p->status.reason = REASON_PROBING;
	(void)snprintf(p->status.detail, sizeof(p->status.detail), "%s", reason_text(REASON_PROBING));
	(void)pthread_mutex_init(&p->lock, NULL);
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = !p->registry || !p->asker ? -ENOMEM : p->wake_fd < 0 ? -errno : 0;
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
	(void)close_fd(p->wake_fd);
	(void)pthread_mutex_destroy(&p->lock);
	free(p->registry);
	free(p->asker);
	free(p);
	return NULL;
}

void probe_kick(struct probe *p)
{
	if (p->generation != 0)
		return;
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

void probe_send(
	struct probe *p, struct broker_call *call, uint32_t type, const void *body, size_t length)
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
