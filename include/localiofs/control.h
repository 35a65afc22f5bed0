/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How localioctl and a remount ask a mount: an ioctl on the root directory, opened with
 * CONTROL_OPEN_FLAGS. It works in every namespace that sees the mount, needs no file of its own, and
 * is answered without asking the NFS server. Only the user who mounted and root get an answer (EPERM
 * otherwise); where a user's mount is not shared (no allow_other) the kernel refuses everybody else,
 * root among them, with EACCES. A mount that is no localiofs answers ENOTTY.
 *
 * The ioctl replaces a socket in a run directory. CONTROL_OPEN_FLAGS has O_SYNC because the daemon answers an open of
 * the root with O_SYNC without the server.
 */
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>

#define CONTROL_OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_SYNC | O_CLOEXEC)

/* JSON text, NUL-terminated; the keys are documented in localioctl(8). */
struct control_status {
	char json[16000];
};

#define CONTROL_GET_STATUS _IOR(0xF5, 1, struct control_status)

/* Mount options as -o takes them: all as they stand, and those that were agreed with the server. */
struct control_options {
	char given[2048];
	char agreed[256];
};

#define CONTROL_GET_OPTIONS _IOR(0xF5, 2, struct control_options)

/* Probe now; while the mount is local: repeat the question. -EOPNOTSUPP where local=off was asked for. */
#define CONTROL_PROBE _IO(0xF5, 3)
