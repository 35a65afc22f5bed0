/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sidecar's view of itself, its exports and its sessions, as JSON: localiofs-sidecar(8) lists the keys. The view
 * belongs to main, and is constant after the start; any thread may call the functions.
 *
 * The functions look at sessions under the broker's lock and the session's own locks, and at descriptors by /proc. They
 * make no call on a client's file or socket, so no client can block them. VIEW_FILES and VIEW_EXPORTS limit the time
 * and the size of an answer; the numbers of files per filesystem are always complete.
 */
#pragma once

#include <jansson.h>

#include "sidecar/broker/broker.h"

#define VIEW_FILES   1024 /* of all sessions together, by path */
#define VIEW_EXPORTS 1024
#define VIEW_MOUNTS  32 /* filesystems per session */

struct view {
	struct broker *brokers;
	unsigned nbrokers;
	struct export_store *exports;
	struct account *account;
	struct counters *counters;
	const char *config; /* the server's file */
	time_t started;
};

/* The whole view; NULL without memory. */
json_t *view_json(const struct view *v);

/* view_exports.c: adds "exports" and "exports_left_out". */
void view_add_exports(json_t *to, const struct export_table *t);

/* view_requests.c: adds "requests", "left_to_server" and "notices". */
void view_add_requests(json_t *to, const struct view *v);
/* view_requests.c: the name of a request on files; NULL if the type is none. */
const char *view_request_name(uint32_t type);

/*
 * view_session.c: a session under the lock of its broker. Counts *files down for each file that it names, and ends the
 * list of files at 0.
 */
json_t *view_session(const struct broker_session *s, unsigned *files);

/*
 * view_status.c: the sidecar's state in a few words, and all that is wrong. faulty: the last look at the exports' file
 * found an error.
 */
void view_status(const struct view *v, bool faulty, char *ret, size_t size);

/* Text from files and peers: a string of JSON, with '?' for all that is not text. */
json_t *view_text(const char *text);
