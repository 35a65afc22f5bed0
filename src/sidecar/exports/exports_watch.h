/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps the export table up to date with the server's configuration file: loads the file at the start, on request, and
 * when a file in a watched folder is written or replaced. The folders of the file and of its included files are
 * watched. A file with an error leaves the table unchanged, and the log says the file, the line and the error. Main
 * thread only.
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
	int folder; /* inotify's watch of the file's own folder */
};

/* Loads the first table. A negative errno (-EBADMSG for an error in the file) after a message in the log. */
int exports_watch_start(struct exports_watch *w, const struct server_kind *server, const char *config,
	struct export_store *store);
void exports_watch_done(struct exports_watch *w);

/*
 * Loads the file again; true if the store has the file's table. A file that says the same as before leaves the present
 * table, and with it what the sessions know of handles and tell of changes, unless `anew`: names of hosts may have
 * other addresses now.
 */
bool exports_watch_reload(struct exports_watch *w, bool anew);
/* Call when inotify_fd is readable. True if the configuration may have changed. */
bool exports_watch_event(struct exports_watch *w);

/* Prints a table for --check. */
void exports_print(const struct export_table *t, const char *config);
