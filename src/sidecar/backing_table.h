/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backing ids that one session has out, each with the real descriptor that was opened before the
 * id was handed out and that COMMIT fsyncs, and a reference to its export's mount. The descriptors that
 * it has out are there, too, under negative numbers and without one of our own. Belongs to the session's
 * thread alone.
 */
#pragma once

#include <stdint.h>

#include "sidecar/export_mount.h"
#include "util.h"

#define BACKING_BUCKETS 1024

struct backing_table {
	struct list buckets[BACKING_BUCKETS];
	unsigned count;
};

void backing_table_init(struct backing_table *t);
void backing_table_done(struct backing_table *t); /* closes every descriptor */

/* Takes over fd, but not on failure. An id that is there already gets what is new. */
int backing_table_add(struct backing_table *t, int32_t id, int fd, struct export_mount *m);
/* The descriptor, still the table's; -ENOENT. */
int backing_table_find(const struct backing_table *t, int32_t id);
/* Closes the descriptor; -ENOENT. */
int backing_table_remove(struct backing_table *t, int32_t id);
