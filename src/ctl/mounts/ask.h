/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The questions to a mount's daemon: ioctls on the mount's root (include/localiofs/control.h), which are answered
 * without the NFS server. On failure each function prints one line on stderr, which names the directory, and returns a
 * negative errno: -ENOTCONN when the daemon has ended, -ETIMEDOUT when it does not answer within IN_CHILD_SECONDS. No
 * state; for programs with one thread.
 */
#pragma once

#include <jansson.h>

#include "localiofs/control.h"

/* The mount's status as the daemon says it, not checked, with the key "mountpoint" added. The caller frees the JSON. */
int ask_status(const char *dir, json_t **ret);

/*
 * The status that localioctl makes for a mount whose daemon has ended or hangs, by the error of ask_status(). NULL for
 * other errors, and without memory. The caller frees it.
 */
json_t *ask_status_of_lost(const char *dir, int error);

/* The same, for every error: the state of a mount that may not be asked is "unknown". */
json_t *ask_status_of_silent(const char *dir, int error);

/* Makes the daemon probe now. */
int ask_probe(const char *dir);

/*
 * Asks for the next events of a mount (CONTROL_GET_TRACE), in place. root: the mount's open root, which is opened once,
 * since each open is an event. dir is for errors.
 */
int ask_trace(const char *dir, int root, struct control_trace *question);

/* Changes the options in setting->list. -EINVAL and the like are the daemon's; it said why, and so does the line. */
int ask_change(const char *dir, const struct control_setting *setting);

/* 0 if the directory is a localiofs mount whose daemon answers. */
int ask_answers(const char *dir);
