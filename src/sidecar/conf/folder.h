/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A folder whose files are read one after the other, as if they were one: exports.d, %dir. Any thread. */
#pragma once

#include <stdbool.h>

/*
 * Calls f with the path of each file whose name fits the pattern (fnmatch(3), NULL: any), in the order of
 * their names, until it returns something else than 0, and returns that, or a negative errno. links: symbolic
 * links count as files.
 */
int folder_each(const char *folder, const char *pattern, bool links, int (*f)(const char *path, void *arg), void *arg);
