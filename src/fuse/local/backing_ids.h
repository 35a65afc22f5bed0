/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backing ids and descriptors that the sidecar has given this mount, counted until they are given back.
 *
 * An id that its session could not close, because the session ended, is left over: the next session closes it. Only an
 * id that no open file uses may be closed (open_mode_registered()): after the close of an id with open files every new
 * open of the file would be EIO.
 *
 * Ids are closed together: one message for up to BROKER_MAX_RELEASE of them, or for those of BACKING_IDS_GATHER_MS. A
 * message for each one, and its answer, took a tenth of the time that it takes to remove a file. Nobody waits for the
 * close of an id.
 *
 * The mount owns one struct backing_ids. Its lock guards the ids that are gathered and the list of left-over ids; the
 * counts are atomic. Any thread.
 */
#pragma once

#include "probe/probe.h"

#define BACKING_IDS_GATHER_MS 20

struct backing_ids;

int backing_ids_new(struct backing_ids **ret);
struct backing_ids *backing_ids_free(struct backing_ids *b);

/* The probe through which ids are closed. Set once, before the first open. */
void backing_ids_set_probe(struct backing_ids *b, struct probe *probe);

/* The sidecar has registered an id for this mount. It is counted until the sidecar confirms that it is closed. */
void backing_ids_registered(struct backing_ids *b);

/*
 * Closes an id that no open file uses: soon, or when there is a session again. 0 is no id. A negative id is the number
 * of a descriptor, which the daemon has already closed.
 */
void backing_ids_close(struct backing_ids *b, int id);

/* On the probe's thread: closes the gathered ids when it is time. Returns the milliseconds until then, or -1. */
int backing_ids_housekeep(struct backing_ids *b);

/* The session has ended: the gathered ids are left over. */
void backing_ids_session_ended(struct backing_ids *b);

/* A new session: closes the left-over ids. */
void backing_ids_new_session(struct backing_ids *b);

/* Adds to the number of open descriptors. */
void backing_ids_descriptors(struct backing_ids *b, int change);

/* At most half of the descriptors that the daemon may have: its other parts need descriptors, too. */
size_t backing_ids_max_descriptors(const struct backing_ids *b);

/* True if the daemon may take one more descriptor. */
bool backing_ids_may_have_descriptor(const struct backing_ids *b);

/* Makes the probe's thread call its housekeep() soon. */
void backing_ids_wake(struct backing_ids *b);

/* All registered ids, and those of them that are left over. */
void backing_ids_counts(struct backing_ids *b, size_t *ret_held, size_t *ret_left_over);
