/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/mountinfo.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/whole_io.h"

static char *next_word(char **line)
{
	char *word = strsep(line, " ");

	return word ? word : (char *)"";
}

/* Parses a line: ID PARENT MAJ:MIN ROOT TARGET OPTIONS [TAG...] - TYPE SOURCE SUPER_OPTIONS */
static int parse_line(char *line, struct mountinfo *ret)
{
	char *rest = line, *word;
	uint64_t id;

	line[strcspn(line, "\n")] = '\0';
	if (parse_u64(next_word(&rest), 0, UINT64_MAX, &id) < 0)
		return -EINVAL;
	ret->id = id;
	(void)next_word(&rest);
	ret->device = next_word(&rest);
	(void)next_word(&rest);
	ret->target = unescape_octal(next_word(&rest));
	do
		word = next_word(&rest);
	while (rest && strcmp(word, "-") != 0);
	ret->type = unescape_octal(next_word(&rest));
	ret->source = unescape_octal(next_word(&rest));
	ret->super_options = next_word(&rest);
	return ret->super_options[0] ? 0 : -EINVAL;
}

static int each_in(const char *path, int (*f)(const struct mountinfo *m, void *arg), void *arg)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int r = 0;

	if (!file)
		return -errno;
	while (r == 0 && getline(&line, &size, file) > 0) {
		struct mountinfo m;

		if (parse_line(line, &m) == 0)
			r = f(&m, arg);
	}
	return r;
}

uint32_t mountinfo_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/mnt", &st) < 0 ? 0 : (uint32_t)st.st_ino;
}

int mountinfo_each(int (*f)(const struct mountinfo *m, void *arg), void *arg)
{
	return each_in("/proc/self/mountinfo", f, arg);
}

int mountinfo_each_of(pid_t pid, int (*f)(const struct mountinfo *m, void *arg), void *arg)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	return each_in(path, f, arg);
}

struct wanted {
	uint64_t id;
	const char *path; /* NULL: the mount point may have any path */
	int (*f)(const struct mountinfo *m, void *arg);
	void *arg;
	bool found;
};

static int take_wanted(const struct mountinfo *m, void *arg)
{
	struct wanted *w = arg;

	if (m->id != w->id || (w->path && strcmp(m->target, w->path) != 0))
		return 0;
	w->found = true;
	return w->f(m, w->arg);
}

static int find_wanted(int fd, struct wanted *w)
{
	/* Not statx(2), which fails on another user's FUSE mount, or never returns. */
	int r = read_fdinfo(fd, "mnt_id", &w->id);

	if (r == 0)
		r = mountinfo_each(take_wanted, w);
	return r == 0 && !w->found ? -EINVAL : r;
}

int mountinfo_at(const char *path, int (*f)(const struct mountinfo *m, void *arg), void *arg)
{
	/* A descriptor of the topmost mount. O_DIRECTORY would trigger an automount and wait for it. */
	_cleanup_close_ int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct wanted w = {.path = path, .f = f, .arg = arg};

	return fd < 0 ? -errno : find_wanted(fd, &w);
}

int mountinfo_of_fd(int fd, int (*f)(const struct mountinfo *m, void *arg), void *arg)
{
	struct wanted w = {.f = f, .arg = arg};

	return find_wanted(fd, &w);
}
