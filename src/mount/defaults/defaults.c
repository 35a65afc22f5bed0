/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/defaults/defaults.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "base/text.h"
#include "table/id_map.h"

#define MAX_BYTES 65536
#define EXPECTED  "expected [Global], [Server \"NAME\"] or [MountPoint \"DIRECTORY\"]"

/* The sections, in the order in which they are applied. */
enum section {
	SECTION_NONE, /* before the first line with brackets */
	SECTION_GLOBAL,
	SECTION_SERVER,
	SECTION_MOUNT_POINT,
};

struct reader {
	const char *path;
	unsigned line;
	enum section applied;         /* the options of this kind of section are applied in this pass */
	enum section section;         /* that of the present line */
	bool matches;                 /* that section is about the mount */
	struct mount_options *o;      /* changed by the sections that match */
	struct mount_options scratch; /* changed by all others, to check them */
	const struct defaults_for *mount;
	bool sloppy;
	char *text; /* a list of the options that were applied */
	size_t used, text_size;
	char *sentence;
	size_t size;
};

static int PRINTF(3, 4) fail(struct reader *r, int error, const char *format, ...)
{
	char reason[512];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(reason, sizeof(reason), format, ap);
	va_end(ap);
	return sentence_fail(r->sentence, r->size, error, "%s:%u: %s", r->path, r->line, reason);
}

/* Cuts off the blanks at both ends, in place. */
static char *strip(char *s)
{
	size_t length;

	while (isspace((unsigned char)*s))
		s++;
	length = strlen(s);
	while (length > 0 && isspace((unsigned char)s[length - 1]))
		s[--length] = '\0';
	return s;
}

static bool same_path(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);

	while (na > 1 && a[na - 1] == '/')
		na--;
	while (nb > 1 && b[nb - 1] == '/')
		nb--;
	return na == nb && memcmp(a, b, na) == 0;
}

static bool is_host(const struct defaults_for *mount, char *name)
{
	size_t length = strlen(name);

	if (name[0] == '[' && name[length - 1] == ']') { /* an IPv6 address, as in SERVER:/EXPORT */
		name[length - 1] = '\0';
		name++;
	}
	return mount->host && strcasecmp(mount->host, name) == 0;
}

static bool is_mount_point(const struct defaults_for *mount, const char *name)
{
	if (!mount->directory || mount->directory[0] == '\0')
		return false;
	return same_path(mount->directory, name) || (mount->given && same_path(mount->given, name));
}

/* Takes a line with brackets. line: without blanks at its ends. */
static int take_section(struct reader *r, char *line)
{
	char *kind = strip(line + 1), *name;
	size_t length = strlen(line);
	char whole[84];

	(void)snprintf(whole, sizeof(whole), SHORT, SHORTEN(line, 80));
	if (line[length - 1] != ']')
		return fail(r, -EINVAL, "%s: expected a ] at the end", whole);
	line[length - 1] = '\0';
	kind = strip(kind);
	name = kind + strcspn(kind, " \t\"");
	if (*name == '\0') {
		if (strcasecmp(kind, "Global") != 0)
			return fail(r, -EINVAL, "%s: " EXPECTED, whole);
		r->section = SECTION_GLOBAL;
		r->matches = true;
		return 0;
	}
	/* KIND "NAME" */
	length = (size_t)(name - kind);
	name = strip(name);
	if (strlen(name) < 3 || name[0] != '"' || name[strlen(name) - 1] != '"')
		return fail(r, -EINVAL, "%s: " EXPECTED, whole);
	name[strlen(name) - 1] = '\0';
	name++;
	if (length == strlen("Server") && strncasecmp(kind, "Server", length) == 0) {
		r->section = SECTION_SERVER;
		r->matches = is_host(r->mount, name);
	} else if (length == strlen("MountPoint") && strncasecmp(kind, "MountPoint", length) == 0) {
		if (name[0] != '/')
			return fail(r, -EINVAL, "%s: expected an absolute path", whole);
		r->section = SECTION_MOUNT_POINT;
		r->matches = is_mount_point(r->mount, name);
	} else {
		return fail(r, -EINVAL, "%s: " EXPECTED, whole);
	}
	return 0;
}

static void note(struct reader *r, const char *option)
{
	int n = snprintf(r->text + r->used, r->text_size - r->used, "%s%s", r->used > 0 ? "," : "", option);

	r->used = MIN(r->used + (size_t)MAX(n, 0), r->text_size - 1);
}

/* Takes a line NAME or NAME = VALUE, without blanks at its ends. */
static int take_line(struct reader *r, char *line)
{
	bool applies = r->matches && r->section == r->applied;
	char *equals = strchr(line, '=');
	char sentence[400];
	int error;

	if (r->section == SECTION_NONE)
		return fail(r, -EINVAL, SHORT ": an option before the first section; " EXPECTED, SHORTEN(line, 80));
	if (equals) {
		char *value = strip(equals + 1);

		*equals = '\0';
		line = strip(line);
		equals = line + strlen(line);
		*equals = '=';
		memmove(equals + 1, value, strlen(value) + 1);
	}
	if (applies)
		note(r, line);
	error = options_take_default(applies ? r->o : &r->scratch, line, r->sloppy, sentence, sizeof(sentence));
	if (error == -EINVAL)
		return fail(r, error, "%s", sentence);
	return error;
}

/* Reads all lines, and applies those of the sections of one kind. The text is changed. */
static int read_lines(struct reader *r, char *text)
{
	char *rest = text, *line;
	int error = 0;

	r->line = 0;
	r->section = SECTION_NONE;
	options_init(&r->scratch);
	while (error == 0 && (line = strsep(&rest, "\n"))) {
		r->line++;
		line = strip(line);
		if (*line == '[')
			error = take_section(r, line);
		else if (*line != '\0' && *line != '#' && *line != ';')
			error = take_line(r, line);
	}
	return error;
}

/* The file may be trusted as the command line is: only its owner can write it, who is root or the user who mounts. */
static int check_owner(struct reader *r, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return sentence_fail(r->sentence, r->size, -EPERM, "%s is no regular file", r->path);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return sentence_fail(r->sentence, r->size, -EPERM,
			"%s has mode %o, so others than its owner may write it; expected 644", r->path,
			(unsigned)st->st_mode & 07777);
	/* In a user namespace root of the host, whose file it may be, is shown as the overflow uid. */
	if (st->st_uid != 0 && st->st_uid != geteuid() && st->st_uid != id_map_overflow_uid())
		return sentence_fail(r->sentence, r->size, -EPERM, "%s belongs to uid %u; expected root", r->path,
			(unsigned)st->st_uid);
	return 0;
}

/* *ret is NULL if there is no file. The caller frees it. */
static int read_file(struct reader *r, char **ret)
{
	/* With O_NONBLOCK, since an open of a FIFO would wait. */
	_cleanup_close_ int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t n = 0, used = 0;
	int error;

	*ret = NULL;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return sentence_fail(r->sentence, r->size, -errno, "%s cannot be read: %s", r->path, strerror(errno));
	error = check_owner(r, &st);
	if (error < 0)
		return error;
	text = malloc(MAX_BYTES + 1);
	if (!text)
		return -ENOMEM;
	while (used <= MAX_BYTES && (n = read(fd, text + used, (size_t)(MAX_BYTES + 1 - used))) > 0)
		used += n;
	if (n < 0)
		return sentence_fail(r->sentence, r->size, -errno, "%s cannot be read: %s", r->path, strerror(errno));
	if (used > MAX_BYTES)
		return sentence_fail(r->sentence, r->size, -EINVAL, "%s has more than %d bytes", r->path, MAX_BYTES);
	text[used] = '\0';
	if (strlen(text) != (size_t)used)
		return sentence_fail(r->sentence, r->size, -EINVAL, "%s is no text: it has a byte 0", r->path);
	*ret = STEAL_PTR(text);
	return 0;
}

int defaults_apply(struct mount_options *o, const char *path, const struct defaults_for *mount, bool sloppy,
	char *ret_text, size_t text_size, char *sentence, size_t size)
{
	_cleanup_free_ char *text = NULL;
	struct reader r = {.path = path,
		.o = o,
		.mount = mount,
		.sloppy = sloppy,
		.text = ret_text,
		.text_size = text_size,
		.sentence = sentence,
		.size = size};
	int error;

	ret_text[0] = '\0';
	error = read_file(&r, &text);
	for (r.applied = SECTION_GLOBAL; error == 0 && text && r.applied <= SECTION_MOUNT_POINT; r.applied++) {
		_cleanup_free_ char *copy = strdup(text);

		error = copy ? read_lines(&r, copy) : -ENOMEM;
	}
	if (error == -ENOMEM)
		return sentence_fail(sentence, size, error, "%s: %s", path, strerror(ENOMEM));
	return error;
}
