/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Offers metrics to a monitoring system, by a thread of its own, at a path:
 *
 *	PATH.prom	a file, replaced as a whole (rename(2)) every METRICS_FILE_INTERVAL_MS, mode 0644, in
 *Prometheus' text format: for node_exporter's textfile collector. The end of the exporter removes it, so that no old
 *numbers stay. another path	a stream socket, mode 0600, that answers GET / and GET /metrics by HTTP/1.1 with
 *OpenMetrics text: curl --unix-socket PATH http://localhost/metrics
 *
 * Readers are not trusted: METRICS_READERS connections at a time, METRICS_READER_MS for each, METRICS_REQUEST_MAX bytes
 * per request. Other readers wait in the listener's queue. A slow reader delays no other thread of the program.
 *
 * The owner starts and stops the exporter. In between only its thread uses it; on_scrape runs on this thread.
 */
#pragma once

#include "metrics/metrics_text.h"

#define METRICS_READERS          8
#define METRICS_READER_MS        3000
#define METRICS_REQUEST_MAX      8192
#define METRICS_FILE_INTERVAL_MS 15000

struct exporter;

struct exporter_options {
	const char *path;                                     /* absolute; copied */
	const char *prefix;                                   /* of all names; constant */
	void (*on_scrape)(struct metrics_text *m, void *arg); /* writes all families; must not wait for a peer */
	void *arg;
};

/*
 * Makes the socket, or looks if the file can be made. A socket that nobody listens on any more is replaced; anything
 * else at its path is an error. A negative errno and a sentence, which names the path.
 */
int exporter_open(const struct exporter_options *options, struct exporter **ret, char *sentence, size_t size);

/* Writes the first file, and starts the thread. A negative errno. */
int exporter_run(struct exporter *e);

/* Both of these. */
int exporter_start(const struct exporter_options *options, struct exporter **ret, char *sentence, size_t size);

/* Ends the thread, and removes socket or file. Takes NULL; returns NULL. */
struct exporter *exporter_stop(struct exporter *e);
