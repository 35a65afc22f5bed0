/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A wake-up for a thread that waits in poll(2) or in an io_uring: an eventfd(2). The thread polls fd for POLLIN. It
 * calls wake_take() before it looks for its work, so that no wake-up is lost. wake_take() takes all wake-ups that have
 * come before.
 *
 * Any thread or signal handler may call wake_up() until the owner closes the wake-up. Only the owner calls the other
 * functions. After unshare(CLONE_FILES) fd has the same number in the thread's own descriptor table, so a copy of the
 * struct is valid there.
 */
#pragma once

#include <stdint.h>

struct wake {
	int fd; /* -1: not open */
};

#define WAKE_CLOSED ((struct wake){.fd = -1})

/* 0 or a negative errno. After an error fd is -1. */
int wake_open(struct wake *w);

/* The same for a thread that reads fd through its io_uring. The read must wait, so fd is not non-blocking. */
int wake_open_for_ring(struct wake *w);

/* Wakes the thread up. Calls only write(2), and keeps errno. */
void wake_up(struct wake w);

/* Makes fd unreadable until the next wake_up(). Not for wake_open_for_ring(), where the read of the ring does so. */
void wake_take(struct wake w);

/* Closes fd. Closing twice is allowed. */
void wake_close(struct wake *w);
