/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/registry_watch.h"

#include <string.h>
#include <sys/inotify.h>

#include "base/clock.h"
#include "base/log.h"

#define WATCHED (IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

int registry_watch_start(struct registry_watch *w)
{
	*w = (struct registry_watch){.inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .done = WAKE_CLOSED};
	if (w->inotify_fd < 0)
		return -errno;
	return wake_open(&w->done);
}

static void watch(const struct registry_watch *w, struct registry_watched *r)
{
	r->watch = inotify_add_watch(w->inotify_fd, r->path, WATCHED);
	if (r->watch < 0)
		log_warning_limited("%s: cannot be watched: %s; if it is removed, restart the sidecar", r->path,
			strerror(errno));
}

void registry_watch_add(struct registry_watch *w, struct broker *b, uid_t uid, gid_t gid)
{
	struct registry_watched *r = &w->list[w->count++];

	*r = (struct registry_watched){.broker = b,
		.path = b->path,
		.uid = uid,
		.gid = gid,
		.done = w->done,
		.next_ms = now_ms() + REGISTRY_WATCH_MS};
	watch(w, r);
}

static void *make(void *arg)
{
	struct registry_watched *r = arg;

	r->result = registry_make(r->path, r->uid, r->gid, &r->made, &r->fault);
	r->ended = true;
	wake_up(r->done);
	return NULL;
}

/* Begins to make the registries that are gone, if the last attempt is long enough ago. */
static void begin(struct registry_watch *w)
{
	for (unsigned n = 0; n < w->count; n++) {
		struct registry_watched *r = &w->list[n];

		if (!r->gone || r->failed || r->runs || now_ms() < r->next_ms)
			continue;
		r->next_ms = now_ms() + REGISTRY_WATCH_MS;
		r->ended = false;
		r->runs = pthread_create(&r->thread, NULL, make, r) == 0;
		r->failed = !r->runs;
	}
}

static void finish(struct registry_watch *w, struct registry_watched *r)
{
	(void)pthread_join(r->thread, NULL); /* does not wait: the thread only returns */
	r->runs = false;
	r->failed = r->result < 0;
	if (r->failed) {
		log_error_limited("%s; SIGHUP tries again", r->fault.text);
		return;
	}
	r->gone = false;
	watch(w, r);
	broker_renew(r->broker, &r->made);
	log_info_limited("%s: was made again; containers that have the old one by a bind mount must be started again",
		r->path);
}

static bool is_ours(const struct inotify_event *e)
{
	return (e->mask & (IN_DELETE | IN_MOVED_FROM)) == 0 ||
	       (e->len > 0 && (strcmp(e->name, BROKER_SOCKET_NAME) == 0 || strcmp(e->name, REGISTRY_FILE_NAME) == 0));
}

static void on_gone(const struct registry_watch *w, struct registry_watched *r)
{
	if (r->gone || r->broker->registry_lost)
		return;
	log_warning_limited("%s: was removed, or a part of it; the sidecar makes it again", r->path);
	r->gone = true;
	r->next_ms = MAX(r->next_ms, now_ms() + REGISTRY_SETTLE_MS);
	(void)inotify_rm_watch(w->inotify_fd, r->watch);
	r->watch = -1;
	broker_close(r->broker);
}

static void read_events(struct registry_watch *w)
{
	_Alignas(struct inotify_event) char buf[4096];
	ssize_t n;

	while ((n = read(w->inotify_fd, buf, sizeof(buf))) > 0)
		for (const char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const void *)p;

			for (unsigned i = 0; i < w->count; i++)
				if (w->list[i].watch == e->wd && is_ours(e))
					on_gone(w, &w->list[i]);
			p += sizeof(*e) + e->len;
		}
}

void registry_watch_event(struct registry_watch *w)
{
	wake_take(w->done);
	for (unsigned n = 0; n < w->count; n++)
		if (w->list[n].runs && w->list[n].ended)
			finish(w, &w->list[n]);
	read_events(w);
	begin(w);
}

void registry_watch_retry(struct registry_watch *w)
{
	for (unsigned n = 0; n < w->count; n++)
		w->list[n].failed = false;
	begin(w);
}

int registry_watch_wait(const struct registry_watch *w)
{
	uint64_t now = now_ms();
	int wait = -1;

	for (unsigned n = 0; n < w->count; n++) {
		const struct registry_watched *r = &w->list[n];
		int left = (int)(r->next_ms - MIN(now, r->next_ms));

		if (r->gone && !r->failed && !r->runs && (wait < 0 || left < wait))
			wait = left;
	}
	return wait;
}
