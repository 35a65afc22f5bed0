/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The values of the status keys at one moment, from which status.c makes JSON and metrics.c makes metrics: the
 * expressions in localiofs/status_keys.h use v, a struct status_view, and the functions here.
 *
 * A plain value of its owner, on any thread. It reads counters that are atomic and parts that guard themselves.
 */
#pragma once

#include <netdb.h>

#include "fuse/fs/fs.h"
#include "fuse/kernel/kernel_ring.h"
#include "localiofs/control.h"

/* The state of the mount at one moment: the values that the status keys name. */
struct status_view {
	struct fs *fs;
	struct fs_counters *counters;
	struct server_stats server;
	struct probe_status probe;
	size_t ids_held, ids_idle, ids_left_over;
	size_t locks_held, locks_waiting;
	enum reason names_reason;
	bool with_latency;  /* the operations' histograms, too */
	bool over_io_uring; /* the question itself came over io_uring */
	enum ring_reason ring_reason;
	char address[NI_MAXHOST];
	char options[sizeof(((struct control_options *)NULL)->given)];
};

void status_view_init(struct status_view *v, struct fs *fs, bool over_io_uring);

const char *status_state_name(enum probe_state state);

uint64_t status_opens_direct(struct fs_counters *c);
uint64_t status_opens_remote(struct fs_counters *c);

/*
 * True if the mount is read-only now. The daemon does not learn of a remount, so the kernel's table tells. After a lazy
 * unmount the table does not have the mount, and the mount option counts.
 */
bool status_is_read_only(struct fs *fs);
