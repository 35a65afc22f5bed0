/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A wake-up for a thread that waits in poll(2) or in an io_uring: an eventfd(2). The thread polls fd for POLLIN, and
 * calls wake_take() before it looks for its work, so that no wake-up is lost. Several wake-ups that come before
 * wake_take() are one.
 *
 * wake_up() may be called from any thread and from a signal handler (it is write(2), and leaves errno alone), until the
 * owner closes the wake-up. The owner calls everything else. The number of fd holds in a descriptor table that a thread
 * makes for itself by unshare(CLONE_FILES), so a copy of the struct may be used there.
 */
#pragma once

#include <stdint.h>

struct wake {
	int fd; /* -1: not open */
};

#define WAKE_CLOSED      \
	(struct wake)    \
	{                \
		.fd = -1 \
	}

/* 0 or a negative errno; after an error fd is -1. */
int wake_open(struct wake *w);

/* The same for a thread that reads fd in its io_uring, where a read of a non-blocking descriptor does not wait. */
int wake_open_for_ring(struct wake *w);

void wake_up(struct wake w);

/* Makes fd unreadable until the next wake_up(). Not after wake_open_for_ring(): there the read in the ring does it. */
void wake_take(struct wake w);

/* May be closed already. */
void wake_close(struct wake *w);
