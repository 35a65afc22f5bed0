/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mount points that a command is about: those given as words, or all localiofs mounts that this process sees. The
 * caller owns the list; zeroed is empty. One thread. Errors: -ENOMEM, or an errno of reading /proc/self/mountinfo.
 */
#pragma once

#include "base/util.h"

struct mount_list {
	char **dirs;
	size_t count;
};

/* Fills an empty list with copies of the words, or with all mounts where there are no words. */
int mount_list_make(struct mount_list *l, char *const *words, size_t count);

void mount_list_done(struct mount_list *l);
