/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a server's cookies form a circle, in which a listing would have no end. Brent's algorithm: remembers a
 * cookie, and the next one after twice as many replies. The replies follow each other without a seek, so if the
 * remembered cookie comes again, the server has led there.
 *
 * One circle per open directory, under its lock.
 */
#pragma once

#include "io/server.h"

struct circle {
	uint64_t last, mark;
	unsigned replies, mark_after;
};

/* True if the server has led the reader round. reply: to READDIR or READDIRPLUS. */
bool circle_closes(struct circle *c, const struct nfs_call *reply);
