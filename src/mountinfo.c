/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mountinfo.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static char *next_word(char **line)
{
	char *word = strsep(line, " ");

	return word ? word : (char *)"";
}

/* ID PARENT MAJ:MIN ROOT TARGET OPTIONS [TAG...] - TYPE SOURCE SUPER_OPTIONS */
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

int mountinfo_each(int (*f)(const struct mountinfo *m, void *arg), void *arg)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
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

struct wanted {
	uint64_t id;
	const char *path;
	int (*f)(const struct mountinfo *m, void *arg);
	void *arg;
	bool found;
};

static int take_wanted(const struct mountinfo *m, void *arg)
{
	struct wanted *w = arg;

	if (m->id != w->id || strcmp(m->target, w->path) != 0)
		return 0;
	w->found = true;
	return w->f(m, w->arg);
}

/* Of the topmost mount there. Not statx(2), which a FUSE mount of somebody else's refuses. */
static int mount_id(const char *path, uint64_t *ret)
{
	/* O_DIRECTORY would trigger an automount, and wait for it. */
	_cleanup_close_ int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char name[64], text[1024], *line;

	if (fd < 0)
		return -errno;
	(void)snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	if (read_small_file(name, text, sizeof(text)) < 0)
		return -EIO;
	line = strstr(text, "mnt_id:");
	if (!line)
		return -EIO;
	line += strlen("mnt_id:");
	line += strspn(line, " \t");
	line[strcspn(line, "\n")] = '\0';
	return parse_u64(line, 0, UINT64_MAX, ret);
}

int mountinfo_at(const char *path, int (*f)(const struct mountinfo *m, void *arg), void *arg)
{
	struct wanted w = {.path = path, .f = f, .arg = arg};
	int r = mount_id(path, &w.id);

	if (r == 0)
		r = mountinfo_each(take_wanted, &w);
	return r == 0 && !w.found ? -EINVAL : r;
}
