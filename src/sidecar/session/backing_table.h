/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backing ids that one session has out, each with the real descriptor that was opened before the
 * id was handed out and that COMMIT fsyncs, and a reference to its export's mount. The descriptors that
 * it has out are there, too, under negative numbers and without one of our own. Belongs to the session's
 * thread alone.
 */
#pragma once

#include <stdint.h>

#include "localiofs/broker_protocol.h"
#include "sidecar/backing/export_mount.h"
#include "table/hash_table.h"

/* One id. */
struct backing {
	struct hash_node by_id; /* the table's */
	int32_t id;
	int fd;                  /* the table's; -1 of what was sent away */
	bool writable;           /* the session may change the file by it */
	struct broker_cred cred; /* as which the kernel writes to it */
	struct export_mount *mount;
};

struct backing_table {
	struct hash_table by_id; /* struct backing.by_id */
};

void backing_table_init(struct backing_table *t);
void backing_table_done(struct backing_table *t); /* closes every descriptor */

/* How many ids and descriptors the session has out. */
size_t backing_table_count(const struct backing_table *t);

/* Copies what; takes over its fd, but not on failure, and refers to its mount. An id that is there already gets what is
 * new. */
int backing_table_add(struct backing_table *t, const struct backing *what);
/* NULL when it is not there. */
const struct backing *backing_table_find(const struct backing_table *t, int32_t id);
/* What was granted is withdrawn: none is writable any more. */
void backing_table_withdraw(struct backing_table *t);
/* Closes the descriptor; -ENOENT. */
int backing_table_remove(struct backing_table *t, int32_t id);
