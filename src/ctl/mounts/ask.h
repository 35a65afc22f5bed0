/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The questions to a mount's daemon: ioctls on the mount's root (include/localiofs/control.h), which are answered
 * without the NFS server. On failure each function prints one line on stderr, which names the directory, and returns a
 * negative errno: -ENOTCONN when the daemon has ended. No state; any thread.
 */
#pragma once

#include <jansson.h>

/* The mount's status as the daemon says it, not checked, with the key "mountpoint" added. The caller frees the JSON. */
int ask_status(const char *dir, json_t **ret);

/* The status that localioctl makes for a mount whose daemon has ended; NULL without memory. The caller frees it. */
json_t *ask_status_of_dead(const char *dir);

/* Makes the daemon probe now. */
int ask_probe(const char *dir);

/* 0 if the directory is a localiofs mount whose daemon answers. Waits as long as no daemon has the mount. */
int ask_answers(const char *dir);
