/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ioctls by which localioctl and a remount ask a mount's daemon, and change its options, on the root directory,
 * opened with CONTROL_OPEN_FLAGS. They work in every namespace that sees the mount, need no file of their own, and are
 * answered without the NFS server. Only root and the user who mounted get an answer; other users get EPERM. If a user's
 * mount is not shared (no allow_other), the kernel refuses all other users, root included, with EACCES. A mount of
 * another filesystem answers ENOTTY. Plain values; no state.
 *
 * The ioctl replaces a socket in a run directory. CONTROL_OPEN_FLAGS has O_SYNC because the daemon answers an open of
 * the root with O_SYNC without the server.
 */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define CONTROL_OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_SYNC | O_CLOEXEC)

/* JSON text, NUL-terminated; the keys are documented in localiofs-status(7). */
struct control_status {
	char json[16000];
};

#define CONTROL_GET_STATUS _IOR(0xF5, 1, struct control_status)

/* Mount options as -o takes them: all of the mount, and the values that were agreed with the server. */
struct control_options {
	char given[2048];
	char agreed[256];
};

#define CONTROL_GET_OPTIONS _IOR(0xF5, 2, struct control_options)

/* Probe now; a local mount repeats the question of its session. -EOPNOTSUPP if the mount can never be local. */
#define CONTROL_PROBE _IO(0xF5, 3)

/*
 * Changes options of the running mount: all in the list, or none. The list is as -o takes it. The answer's error is 0,
 * or a negative errno and a sentence that names the wrong option. Only the user who mounted may change options, and a
 * process with CAP_SYS_ADMIN in the daemon's user namespace; EPERM for others, also for uid 0 without capabilities.
 */
struct control_setting {
	char list[1024];
	int error;
	char sentence[500];
};

#define CONTROL_SET_OPTIONS _IOWR(0xF5, 4, struct control_setting)

/* One request of the kernel that has ended, without names. */
struct control_event {
	uint64_t number;             /* grows by 1 with each event */
	uint64_t request;            /* the daemon's number of the request, as in its debug log */
	uint64_t fileid;             /* of the file, or of the directory that has the name */
	uint64_t bytes;              /* of data that was read or written */
	int64_t ended_us;            /* since the epoch */
	uint32_t took_us;            /* from the request to its answer */
	uint32_t uid, pid;           /* of the caller */
	int32_t error;               /* the errno that the caller got, or 0 */
	char operation[16], path[8]; /* as in the status */
};

#define CONTROL_EVENTS    180
#define CONTROL_TRACE_NOW UINT64_MAX

/*
 * The next events after the number in last, or with CONTROL_TRACE_NOW none. The answer's last is for the next question.
 * lost: so many events before the first one were overwritten. The daemon records events from the first question on,
 * until no question came for CONTROL_TRACE_SECONDS; these ioctls are not among them. For the same users as
 * CONTROL_SET_OPTIONS.
 */
struct control_trace {
	uint64_t last, lost;
	uint32_t count, unused;
	struct control_event events[CONTROL_EVENTS];
};

#define CONTROL_GET_TRACE     _IOWR(0xF5, 5, struct control_trace)
#define CONTROL_TRACE_SECONDS 10
