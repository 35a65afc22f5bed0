/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/probe_internal.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define QUICK_ATTEMPTS 6  /* while the obstacle goes away by itself soon */
#define QUICK_PAUSE_MS 10 /* before the second, and twice as long before each further one */

/* Waits until that time (now_ms()), probe_kick() or probe_stop(). */
static void wait_until(struct probe *p, uint64_t until)
{
	while (!p->stopping && !atomic_exchange(&p->kicked, false)) {
		struct pollfd fd = {.fd = p->wake.fd, .events = POLLIN};
		uint64_t now = now_ms();

		if (now >= until)
			return;
		(void)probe_poll(p, &fd, 1, (int)MIN(until - now, 3600000U));
		if (fd.revents)
			wake_take(p->wake);
	}
}

/* One attempt, and a few more while the obstacle goes away by itself. */
static int try_quickly(struct probe *p, struct attempt *a)
{
	bool passes = false;
	int r = -ECANCELED;

	for (unsigned i = 0; i < QUICK_ATTEMPTS && !p->stopping; i++) {
		if (i > 0)
			wait_until(p, now_ms() + (QUICK_PAUSE_MS << (i - 1)));
		r = probe_attempt(p, a, &passes);
		if (r == 0)
			break;
		probe_end_connection(p);
		if (!passes)
			break;
	}
	return r;
}

static void set_status(struct probe *p, enum probe_state state, enum reason reason, const char *detail)
{
	{
		LOCKED(&p->lock);
		p->status.matched += state == PROBE_STATE_LOCAL;
		p->status.switches += p->status.state != PROBE_STATE_PROBING && p->status.state != state;
		p->status.state = state;
		p->status.reason = reason;
		p->status.last_probe = time(NULL);
		p->status.sidecar_pid = state == PROBE_STATE_LOCAL ? broker_client_peer_pid(p->broker) : 0;
		(void)snprintf(p->status.detail, sizeof(p->status.detail), "%s", detail);
	}
	if (p->options.status_changed)
		p->options.status_changed(p->options.arg);
	if (p->logged == reason)
		return;
	p->logged = reason;
	if (state == PROBE_STATE_LOCAL)
		log_info_limited("%s is local: the sidecar exports %s, session %u", p->asker, p->status.export_path,
			p->number);
	else
		log_info_limited("%s is remote (%s): %s", p->asker, reason_code(reason), detail);
}

static void wait_before_next(struct probe *p, enum reason reason)
{
	wait_until(p, now_ms() + probe_pace_attempt(&p->backoff, reason, p->reprobe_s, backoff_random()));
}

static void serve_session(struct probe *p, const struct attempt *a)
{
	char own[IP_ADDRESS_TEXT], detail[256];
	int r;

	probe_format_source(p, own);
	(void)snprintf(detail, sizeof(detail),
		a->translated
			? "%s; it saw another address than %s, from which the probe came: NAT or a relay lies between"
			: "%s",
		reason_text(REASON_LOCAL), own);
	probe_begin_generation(p);
	p->kicked = false;
	probe_begin_rechecks(p);
	set_status(p, PROBE_STATE_LOCAL, REASON_LOCAL, detail);
	r = probe_run_until(p, NULL, NULL, 0);
	probe_end_generation(p);
	probe_end_connection(p);
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

		if (p->paused) {
			set_status(p, PROBE_STATE_REMOTE, REASON_OFF, reason_text(REASON_OFF));
			wait_until(p, UINT64_MAX);
			continue;
		}

		{
			LOCKED(&p->lock);
			p->status.attempts++;
		}
		if (try_quickly(p, &a) == 0) {
			p->backoff.wait_ms = 0;
			serve_session(p, &a);
		} else if (!p->stopping) {
			set_status(p, PROBE_STATE_REMOTE, a.fault.reason, a.fault.text);
		}
		wait_before_next(p, a.fault.reason);
	}
	probe_abandon_changes(p);
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
	p->reprobe_s = options->reprobe_s;
	p->registry = strdup(options->registry);
	p->asker = strdup(options->asker);
	p->rpc = (struct local_rpc)LOCAL_RPC_NONE;
	list_init(&p->ending);
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

void probe_pause(struct probe *p, bool pause)
{
	p->paused = pause;
	probe_kick(p);
}

void probe_set_reprobe(struct probe *p, unsigned seconds)
{
	p->reprobe_s = seconds;
}

void probe_status(struct probe *p, struct probe_status *ret)
{
	LOCKED(&p->lock);
	*ret = p->status;
}
