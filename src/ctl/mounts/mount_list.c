/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/mounts/mount_list.h"

#include "mount/mountinfo.h"

static int add(struct mount_list *l, const char *dir)
{
	char **dirs = reallocarray(l->dirs, l->count + 1, sizeof(*dirs));
	char *copy = strdup(dir);

	if (dirs)
		l->dirs = dirs;
	if (!dirs || !copy) {
		free(copy);
		return -ENOMEM;
	}
	l->dirs[l->count++] = copy;
	return 0;
}

static int take_mount(const struct mountinfo *m, void *arg)
{
	return strcmp(m->type, MOUNTINFO_TYPE) == 0 ? add(arg, m->target) : 0;
}

int mount_list_make(struct mount_list *l, char *const *words, size_t count)
{
	int r = 0;

	if (count == 0)
		return mountinfo_each(take_mount, l);
	for (size_t n = 0; n < count && r == 0; n++)
		r = add(l, words[n]);
	return r;
}

void mount_list_done(struct mount_list *l)
{
	for (size_t n = 0; n < l->count; n++)
		free(l->dirs[n]);
	free(l->dirs);
	*l = (struct mount_list){0};
}
