/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/host/server_view.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/util.h"
#include "base/whole_io.h"
#include "mount/mountinfo.h"

#define MOUNTS_MAX    4096 /* below one export; with more the answer is false */
#define PROCESSES_MAX 16   /* of the server; the same */
#define ANSWERS_MAX   64   /* of the paths that were asked for last */

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

static bool has_name(pid_t pid, const char *process)
{
	char path[40], name[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (read_small_file(path, name, sizeof(name)) <= 0)
		return false;
	name[strcspn(name, "\n")] = '\0';
	return strcmp(name, process) == 0;
}

/* ---- the server's processes ---- */

static struct {
	pthread_mutex_t lock;
	char process[32]; /* whose processes are known */
	uint64_t scanned_ms;
	pid_t pids[PROCESSES_MAX];
	size_t count; /* with more than PROCESSES_MAX the views differ */
	struct answer {
		char *path;
		uint64_t viewed_ms;
		bool same;
	} answers[ANSWERS_MAX];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void scan(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	known.count = 0;
	known.scanned_ms = now_ms();
	if (proc == NULL)
		return;
	while (known.count <= PROCESSES_MAX && (e = readdir(proc)) != NULL) {
		uint64_t pid;

		if (parse_u64(e->d_name, 1, INT32_MAX, &pid) < 0 || !has_name((pid_t)pid, known.process))
			continue;
		if (known.count < PROCESSES_MAX)
			known.pids[known.count] = (pid_t)pid;
		known.count++;
	}
	(void)closedir(proc);
}

/* True if a known process is not the server's any more. */
static bool one_has_ended(void)
{
	for (size_t n = 0; n < MIN(known.count, (size_t)PROCESSES_MAX); n++)
		if (!has_name(known.pids[n], known.process))
			return true;
	return false;
}

static void look_for(const char *process)
{
	uint64_t pause_ms = known.count > 0 ? VIEW_SCAN_MS : VIEW_ANSWER_MS;

	if (strcmp(known.process, process) != 0) {
		(void)snprintf(known.process, sizeof(known.process), "%s", process);
		scan();
	} else if (time_since(known.scanned_ms, now_ms()) >= pause_ms || one_has_ended()) {
		scan();
	}
}

/* ---- the answers ---- */

static bool compare(const char *path)
{
	struct view ours;
	bool equal = view_read(0, path, &ours) >= 0 && known.count > 0 && known.count <= PROCESSES_MAX;

	for (size_t n = 0; equal && n < known.count; n++)
		equal = sees_the_same(known.pids[n], &ours);
	view_done(&ours);
	return equal;
}

/* The path's answer, or in place of the oldest one a new one, whose viewed_ms is 0. NULL without memory. */
static struct answer *find(const char *path)
{
	struct answer *oldest = &known.answers[0];

	for (size_t n = 0; n < ANSWERS_MAX; n++) {
		struct answer *a = &known.answers[n];

		if (a->path != NULL && strcmp(a->path, path) == 0)
			return a;
		if (a->viewed_ms < oldest->viewed_ms)
			oldest = a;
	}
	free(oldest->path);
	*oldest = (struct answer){.path = strdup(path)};
	return oldest->path != NULL ? oldest : NULL;
}

void server_view_forget(void)
{
	LOCKED(&known.lock);
	for (size_t n = 0; n < ANSWERS_MAX; n++)
		known.answers[n].viewed_ms = 0;
}

bool server_view_is_ours(const char *process, const char *path)
{
	LOCKED(&known.lock);
	struct answer *a = find(path);

	if (a == NULL)
		return false;
	if (a->viewed_ms == 0 || time_since(a->viewed_ms, work_ms()) >= VIEW_ANSWER_MS ||
		strcmp(known.process, process) != 0) {
		look_for(process);
		a->same = compare(path);
		a->viewed_ms = now_ms();
	}
	return a->same;
}
