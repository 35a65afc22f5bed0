/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The export table follows the server's configuration file: loaded at the start, again when asked,
 * and when the file is written or replaced (its directory is watched, and those of the files that it
 * includes). A file that cannot be
 * understood leaves the table as it was, and the log says the file, the line and what is wrong.
 * Main thread only.
 */
#pragma once

#include <stdbool.h>

#include "sidecar/exports/export_table.h"
#include "sidecar/exports/server_kind.h"

struct exports_watch {
	const struct server_kind *server;
	const char *config;
	const char *file; /* config without its folder */
	struct export_store *store;
	int inotify_fd;
	int folder; /* inotify's number of the file's own */
};

/* -EBADMSG and such when there is no table to start with; said in the log. */
int exports_watch_start(struct exports_watch *w, const struct server_kind *server, const char *config,
	struct export_store *store);
void exports_watch_done(struct exports_watch *w);

/* Loads the file again; true when the table was exchanged. */
bool exports_watch_reload(struct exports_watch *w);
/* inotify_fd is readable: true when it was our file. */
bool exports_watch_event(struct exports_watch *w);

/* What --check prints. */
void exports_print(const struct export_table *t, const char *config);
