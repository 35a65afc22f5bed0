/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * probe-storm MOUNTS LOCAL-PART DOWN-SECONDS REPROBE-SECONDS: what one NFS server sees of so many mounts. The mounts
 * decide with the daemon's own code (pacing/probe_pace.c, pacing/backoff.c, the limits of io/libnfs/connection.h), in
 * simulated time.
 *
 * At first all mounts are connected. LOCAL-PART percent are on the server's host; each has a session, and repeats the
 * question. The others probe again and again, because the server could have come to their host. Then the server is down
 * for DOWN-SECONDS. Each mount has a request under way, so it tries to reconnect at once, and with its backoff. When it
 * is connected it asks the question again.
 *
 * Prints: connections and questions per second, on average before the restart, and the most in any one second and in
 * any ten seconds after it; and the seconds until 99 % of the mounts are connected. Refused attempts while the server
 * is down are not counted as connections, and have their own column.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/libnfs/connection.h"
#include "pacing/probe_pace.h"

#define BEFORE_S   1200 /* simulated before the restart; the first part of it is not counted */
#define SETTLED_S  600
#define AFTER_S    600
#define BELIEVED_S 900 /* RECHECK_S of the sidecar */
#define BUCKETS    (BEFORE_S + 3600 + AFTER_S)

struct mount {
	struct backoff connecting, probing;
	bool local, connected;
	double connect_at, probe_at; /* seconds */
};

struct event {
	double at;
	unsigned mount;
	bool connects;
};

struct heap {
	struct event *of;
	size_t count;
};

static unsigned long connections[BUCKETS], questions[BUCKETS], refused[BUCKETS];

static void swap(struct event *a, struct event *b)
{
	struct event other = *a;

	*a = *b;
	*b = other;
}

static void push(struct heap *h, double at, unsigned mount, bool connects)
{
	size_t n = h->count++;

	h->of[n] = (struct event){.at = at, .mount = mount, .connects = connects};
	for (; n > 0 && h->of[n].at < h->of[(n - 1) / 2].at; n = (n - 1) / 2)
		swap(&h->of[n], &h->of[(n - 1) / 2]);
}

static struct event pop(struct heap *h)
{
	struct event first = h->of[0];
	size_t n = 0;

	h->of[0] = h->of[--h->count];
	for (;;) {
		size_t least = n, left = 2 * n + 1;

		for (size_t child = left; child <= left + 1 && child < h->count; child++)
			if (h->of[child].at < h->of[least].at)
				least = child;
		if (least == n)
			return first;
		swap(&h->of[n], &h->of[least]);
		n = least;
	}
}

static uint32_t random_number(void)
{
	return (uint32_t)random() << 1 ^ (uint32_t)random();
}

/* The mount asks the question, and decides when it asks again. */
static void ask(struct heap *h, struct mount *m, unsigned number, double now, unsigned reprobe_s)
{
	unsigned wait = m->local ? probe_pace_recheck(BELIEVED_S, true, random_number())
				 : probe_pace_attempt(&m->probing, REASON_NOT_MATCHED, reprobe_s, random_number());

	questions[(size_t)now]++;
	m->probe_at = now + wait / 1000.0;
	push(h, m->probe_at, number, false);
}

static void try_to_connect(struct heap *h, struct mount *m, unsigned number, double now, bool up, unsigned reprobe_s)
{
	const struct backoff_limits *limits = m->local ? &connection_backoff_short : &connection_backoff_long;

	if (up) {
		connections[(size_t)now]++;
		m->connected = true;
		m->connecting.wait_ms = 0;
		ask(h, m, number, now, reprobe_s);
		return;
	}
	refused[(size_t)now]++;
	m->connect_at = now + backoff_next(&m->connecting, limits, random_number()) / 1000.0;
	push(h, m->connect_at, number, true);
}

static unsigned long most(const unsigned long *per_second, unsigned from, unsigned seconds)
{
	unsigned long best = 0;

	for (unsigned n = from; n + seconds < BUCKETS; n++) {
		unsigned long sum = 0;

		for (unsigned i = 0; i < seconds; i++)
			sum += per_second[n + i];
		if (sum > best)
			best = sum;
	}
	return best / seconds;
}

static double mean(const unsigned long *per_second, unsigned from, unsigned to)
{
	unsigned long sum = 0;

	for (unsigned n = from; n < to; n++)
		sum += per_second[n];
	return (double)sum / (to - from);
}

int main(int argc, char **argv)
{
	unsigned mounts, part, down_s, reprobe_s, connected = 0;
	double settled = 0;
	struct mount *all;
	struct heap heap;

	if (argc != 5) {
		(void)fprintf(stderr, "usage: probe-storm MOUNTS LOCAL-PART DOWN-SECONDS REPROBE-SECONDS\n");
		return 2;
	}
	mounts = (unsigned)strtoul(argv[1], NULL, 10);
	part = (unsigned)strtoul(argv[2], NULL, 10);
	down_s = (unsigned)strtoul(argv[3], NULL, 10);
	reprobe_s = (unsigned)strtoul(argv[4], NULL, 10);
	all = calloc(mounts, sizeof(*all));
	heap = (struct heap){.of = calloc(mounts * 3UL + 1, sizeof(*heap.of))};
	if (!all || !heap.of || mounts == 0 || part > 100 || down_s > 3600) {
		(void)fprintf(stderr,
			"probe-storm: expected at least one mount, at most 100 percent and 3600 seconds\n");
		return 2;
	}
	/* The mounts were made one after the other, within a minute. */
	for (unsigned n = 0; n < mounts; n++) {
		all[n] = (struct mount){.local = n % 100 < part, .connected = true, .probe_at = 60.0 * n / mounts};
		push(&heap, all[n].probe_at, n, false);
	}
	for (unsigned n = 0; n < mounts; n++)
		push(&heap, BEFORE_S, n, true);
	while (heap.count > 0) {
		struct event e = pop(&heap);
		struct mount *m = &all[e.mount];

		if (e.at >= BEFORE_S + down_s + AFTER_S)
			break;
		if (e.connects) {
			m->connected = false;
			try_to_connect(&heap, m, e.mount, e.at, e.at >= BEFORE_S + down_s, reprobe_s);
			if (m->connected && ++connected >= mounts * 0.99 && settled == 0)
				settled = e.at - BEFORE_S - down_s;
		} else if (e.at == m->probe_at && m->connected) {
			ask(&heap, m, e.mount, e.at, reprobe_s);
		}
	}
	(void)printf("%.0f %lu %lu %.0f %lu %lu %lu %.1f\n", mean(connections, SETTLED_S, BEFORE_S),
		most(connections, BEFORE_S, 1), most(connections, BEFORE_S, 10), mean(questions, SETTLED_S, BEFORE_S),
		most(questions, BEFORE_S, 1), most(questions, BEFORE_S, 10), most(refused, BEFORE_S + 1, 1), settled);
	free(all);
	free(heap.of);
	return 0;
}
