/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One event of fanotify(7), as a group with FAN_REPORT_DFID_NAME_TARGET and FAN_REPORT_TID reports it: which directory,
 * which name in it, which object. A value that points into the buffer it was read from. The functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file as fanotify names it: its filesystem, and the handle that name_to_handle_at(2) gives. */
struct event_fid {
	uint32_t fsid[2]; /* statfs f_fsid */
	int type;
	uint32_t length; /* bytes; 0: the event does not name the file */
	const uint8_t *bytes;
};

struct notice_event {
	uint64_t mask;
	int thread;    /* that made the change */
	bool overflow; /* events were lost */
	struct event_fid dir;
	struct event_fid object;
	const char *name; /* in dir; NULL: none. The name "." is the directory itself, and becomes the object. */
};

enum event_kind {
	EVENT_ATTRIBUTES = 1, /* of the object */
	EVENT_NAME = 2,       /* the name in dir */
};

/* The events that the groups wait for. */
#define EVENT_MASK (FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO | FAN_ATTRIB | FAN_CLOSE_WRITE | FAN_ONDIR)

/* Takes the first event of a buffer apart. Returns the number of its bytes; 0 if there is no whole event. */
size_t event_parse(const void *buffer, size_t left, struct notice_event *ret);

/* What has changed: a set of enum event_kind. */
unsigned event_changes(const struct notice_event *e);

/*
 * 1 if the name is the object's after the event, 0 if the directory has no such name, -1 if that is not known: the
 * kernel merges events, and does not say which came last.
 */
int event_name_state(const struct notice_event *e);
