/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/host/server_view.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/whole_io.h"
#include "mount/mountinfo.h"

#define MOUNTS_MAX 4096 /* below one export; with more the answer is false */

/* Mount points and devices of the mounts below a path, sorted. */
struct view {
	const char *path;
	char **lines;
	size_t count;
};

static void view_done(struct view *v)
{
	for (size_t n = 0; n < v->count; n++)
		free(v->lines[n]);
	free(v->lines);
	*v = (struct view){0};
}

static int take_mount(const struct mountinfo *m, void *arg)
{
	struct view *v = arg;
	size_t length = strcmp(v->path, "/") == 0 ? 0 : strlen(v->path);
	char **lines;

	if (strncmp(m->target, v->path, length) != 0 || (m->target[length] != '/' && m->target[length] != '\0'))
		return 0;
	if (v->count == MOUNTS_MAX)
		return -E2BIG;
	lines = reallocarray(v->lines, v->count + 1, sizeof(*lines));
	if (lines == NULL)
		return -ENOMEM;
	v->lines = lines;
	if (asprintf(&lines[v->count], "%s %s", m->device, m->target) < 0)
		return -ENOMEM;
	v->count++;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The view of a process; 0: this one. */
static int view_read(pid_t pid, const char *path, struct view *ret)
{
	int r;

	*ret = (struct view){.path = path};
	r = pid == 0 ? mountinfo_each(take_mount, ret) : mountinfo_each_of(pid, take_mount, ret);
	if (r >= 0 && ret->count > 1)
		qsort(ret->lines, ret->count, sizeof(*ret->lines), by_text);
	return r;
}

static bool same(const struct view *a, const struct view *b)
{
	if (a->count != b->count)
		return false;
	for (size_t n = 0; n < a->count; n++)
		if (strcmp(a->lines[n], b->lines[n]) != 0)
			return false;
	return true;
}

static bool sees_the_same(pid_t pid, const struct view *ours)
{
	struct view other;
	bool equal = view_read(pid, ours->path, &other) >= 0 && same(ours, &other);

	view_done(&other);
	return equal;
}

static bool has_name(const char *pid, const char *process)
{
	char path[300], name[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	if (read_small_file(path, name, sizeof(name)) <= 0)
		return false;
	name[strcspn(name, "\n")] = '\0';
	return strcmp(name, process) == 0;
}

bool server_view_is_ours(const char *process, const char *path)
{
	DIR *proc = opendir("/proc");
	bool equal = true;
	unsigned found = 0;
	struct dirent *e;
	struct view ours;

	if (proc == NULL)
		return false;
	if (view_read(0, path, &ours) < 0)
		equal = false;
	while (equal && (e = readdir(proc)) != NULL) {
		uint64_t pid;

		if (parse_u64(e->d_name, 1, INT32_MAX, &pid) < 0 || !has_name(e->d_name, process))
			continue;
		found++;
		equal = sees_the_same((pid_t)pid, &ours);
	}
	view_done(&ours);
	(void)closedir(proc);
	return equal && found > 0;
}
