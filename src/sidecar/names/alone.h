/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Was a change of a directory alone among the changes that this process makes? Only then do the directory's attributes
 * from before the change say what the client needs to know: that nothing but its own change came between them and the
 * attributes from afterwards (weak cache consistency, RFC 1813 2.6).
 *
 * Directories share a fixed number of counters, so that two of them may disturb each other: then the answer is false,
 * although true would have been right. Nobody waits: a change that never ends makes answers of its counter false. Any
 * thread; the counters are atomic. Changes by other processes are not seen, like those of local processes by
 * NFS-Ganesha.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A change under way. A value of the thread that makes it. */
struct alone {
	unsigned stripe;
	uint64_t number;
	bool until_now;
};

/* Before the directory's attributes are read for the first time. */
struct alone alone_begin(uint64_t device, uint64_t inode);

/* After they are read for the last time. True if the change was alone. */
bool alone_end(const struct alone *a);
