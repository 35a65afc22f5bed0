/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One WRITE and its data, from the request until the data is stable.
 *
 * The memory of a full-size write is kept for the next one while files are open for writing: page faults for a megabyte
 * cost more than the copy of the data. A lock of its own guards that memory. A write itself is its owner's until the
 * write is answered, and the write log's from then on.
 */
#pragma once

#include "io/server.h"

#define DATA_WRITE_MAX (1U << 20) /* bytes that one request of the kernel can carry */

struct commit;

struct data_write {
	struct nfs_call call; /* args.io covers the whole range once the write is answered */
	struct list kept;
	struct nfs_verf verf;
	struct commit *commit;
	bool sent; /* submitted */
	bool full_size;
	void *owner; /* for the writer, until the write is answered */
	char data[];
};

/* A write with room for so many bytes, which the caller fills; NULL without memory. Any thread. */
struct data_write *data_write_new(size_t size);

/* Takes NULL; returns NULL. */
struct data_write *data_write_free(struct data_write *w);

/* Frees the memory that no write uses: a writer has closed its file. */
void data_write_trim(void);
