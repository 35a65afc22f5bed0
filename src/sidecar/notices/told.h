/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The filter of one session: the files and directories whose handles the session was told. Only their changes concern
 * it. An entry takes about 110 bytes (a kernel handle of 8 to 20 bytes, an NFS handle of 28 to 48), and the table has
 * TOLD_MAX of them at most, 7 MB.
 *
 * The table is part of a struct listener; the lock of struct notices guards it.
 */
#pragma once

#include "localiofs/broker_protocol.h"
#include "sidecar/notices/event.h"
#include "table/hash_table.h"

#define TOLD_MAX       65536
#define TOLD_MAX_FILES 32768 /* with so many entries only directories are added */

/* May the peer know the names of a directory? */
enum told_names {
	TOLD_NAMES_UNDECIDED, /* nobody has looked since the directory's attributes changed */
	TOLD_NAMES_OPEN,
	TOLD_NAMES_SECRET,
};

struct told {
	struct hash_node node;
	uint32_t fsid[2];
	int type;
	uint32_t fid_length;
	uint32_t fh_length;
	uint32_t turn;   /* counts changes of the attributes */
	uint8_t names;   /* enum told_names */
	bool once;       /* a file: its next change is told, and further ones when it was asked for again */
	uint8_t bytes[]; /* the kernel's handle, then the NFS handle */
};

struct told_table {
	struct hash_table all;
};

void told_init(struct told_table *t);
void told_done(struct told_table *t);

/* Makes the table empty. */
void told_forget(struct told_table *t);

/*
 * Adds the file or directory, unless it is there. True if it is there now under this NFS handle; false if it is there
 * under another one, at the limit, and without memory.
 */
bool told_add(struct told_table *t, const struct event_fid *fid, const struct broker_fh *fh, bool directory);

/*
 * Adds a new directory in the directory dir, by the handle that the server would give it. False if no handle can be
 * made, at the limit, and without memory.
 */
bool told_add_beside(struct told_table *t, const struct told *dir, const struct event_fid *fid);

/* The entry, or NULL. */
struct told *told_find(const struct told_table *t, const struct event_fid *fid);

/* The NFS handle by which the session knows the file. */
void told_handle(const struct told *e, struct broker_fh *ret);

/* Frees the entry of a file that is gone. */
void told_remove(struct told_table *t, struct told *e);
