/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/conf/folder.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>

#include "base/util.h"

static bool is_wanted(const struct dirent *d, const char *pattern, bool links)
{
	if (d->d_type != DT_REG && !(links && (d->d_type == DT_LNK || d->d_type == DT_UNKNOWN)))
		return false;
	return pattern == NULL || fnmatch(pattern, d->d_name, 0) == 0;
}

int folder_each(const char *folder, const char *pattern, bool links, int (*f)(const char *path, void *arg), void *arg)
{
	struct dirent **names = NULL;
	int count = scandir(folder, &names, NULL, versionsort), r = count < 0 ? -errno : 0;

	for (int i = 0; i < count; i++) {
		_cleanup_free_ char *path = NULL;

		if (r == 0 && is_wanted(names[i], pattern, links))
			r = asprintf(&path, "%s/%s", folder, names[i]->d_name) < 0 ? -ENOMEM : f(path, arg);
		free(names[i]);
	}
	free(names);
	return r;
}
