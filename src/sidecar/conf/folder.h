/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A folder whose files together are one configuration, in the order of their names: exports.d, %dir. No state; any
 * thread.
 */
#pragma once

#include <stdbool.h>

/*
 * Calls f with the path of each file whose name fits the pattern (fnmatch(3), NULL: any), in the order of the names.
 * The first result of f other than 0 ends the loop and is the result; else 0, or a negative errno. links: symbolic
 * links count as files.
 */
int folder_each(const char *folder, const char *pattern, bool links, int (*f)(const char *path, void *arg), void *arg);
