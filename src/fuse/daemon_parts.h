/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of the daemon of one mount: the connection to the server, the link to the probe, and what they share.
 *
 * The main thread owns the daemon: it makes all parts, and stops and frees them (daemon.c). Callbacks run on the loop
 * thread of struct server and on the probe's thread, between the start and the stop of each.
 */
#pragma once

#include <semaphore.h>

#include "fuse/daemon.h"
#include "fuse/fs/fs.h"

struct exporter;

#define QUESTION_TIMEOUT_MS 30000 /* of the daemon's own calls to the server */

struct daemon {
	struct fs fs;
	const struct daemon_options *options;
	const struct server_version *version;
	struct server_options server; /* set before the first attempt to connect */
	struct server_place place;
	struct exporter *exporter; /* NULL without metrics= */
	char name[100];            /* SERVER:/EXPORT, short enough for a sentence */
	bool mounted;
	bool decided;      /* local=required: the first probe has ended; the probe's thread only */
	enum reason lost;  /* local=required: the reason that was logged last; the probe's thread only */
	char refusal[800]; /* local=required: why there is no mount; read after the probe's end */
	sem_t connected;
	bool root_stale; /* the server does not know the root's handle; only struct server's loop thread uses this */
};

/*
 * connect.c: finds the export, connects, and asks for the root's attributes and the sizes of requests. Tries until the
 * server answers or refuses, or the time is over (retry=, bg, mounttimeout=); the last attempt comes at the end of that
 * time. Returns 0, or a negative errno and a sentence.
 */
int connect_reach_server(struct daemon *d, char *sentence, size_t size);

/*
 * probe_link.c: makes the probe and, if the options and the kernel allow it, the ring for local files. Makes nothing
 * with local=off. The probe starts when the kernel has accepted the mount. Returns 0, or a negative errno.
 */
int probe_link_make(struct daemon *d);
int probe_link_start(struct daemon *d);
/* With local=required: ends the mount, which is not ready yet. The detail may have the remedy, a reason's text. */
void probe_link_refuse(struct daemon *d, const char *detail, const char *remedy);

/* daemon.c: the mount answers requests, and whoever waits for it may know. Once, on any thread. */
void daemon_ready(struct daemon *d);

/* metrics.c: makes d->exporter, if metrics= asks for it. A negative errno and a sentence. */
int metrics_open(struct daemon *d, char *sentence, size_t size);
