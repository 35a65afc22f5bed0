/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "op.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

const struct op_info op_infos[OP_COUNT] = {
#define OP_INFO(kind, name, weight, needs, see) {name, weight, needs, see},
	OP_KINDS(OP_INFO)
#undef OP_INFO
};

/* The numeric fields: their format and their usual value. */
static const struct field {
	const char *name;
	size_t offset, size;
	int64_t usual;
	bool hex;
} fields[] = {
#define FIELD(name, usual, hex)                                                                 \
	{                                                                                       \
#name, offsetof(struct op, name), sizeof(((struct op *)NULL)->name), usual, hex \
	}
	FIELD(slot, OP_NONE, false),
	FIELD(slot2, OP_NONE, false),
	FIELD(dir, OP_NONE, false),
	FIELD(dir2, OP_NONE, false),
	FIELD(flags, 0, true),
	FIELD(mode, 0, true),
	FIELD(a, 0, false),
	FIELD(b, 0, false),
	FIELD(c, 0, false),
	FIELD(seed, 0, true),
#undef FIELD
};

void op_init(struct op *op)
{
	memset(op, 0, sizeof(*op));
	op->slot = op->slot2 = op->dir = op->dir2 = OP_NONE;
}

static int64_t field_get(const struct op *op, const struct field *f)
{
	const void *at = (const char *)op + f->offset;
	int32_t narrow;
	int64_t wide;

	if (f->size == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return f->hex ? (int64_t)(uint32_t)narrow : narrow;
}

static void field_set(struct op *op, const struct field *f, int64_t value)
{
	int32_t narrow = (int32_t)value;

	if (f->size == sizeof(value))
		memcpy((char *)op + f->offset, &value, sizeof(value));
	else
		memcpy((char *)op + f->offset, &narrow, sizeof(narrow));
}

static void print_quoted(FILE *f, const char *name, const char *text)
{
	(void)fprintf(f, " %s=\"", name);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (isalnum(*c) || strchr("/._-+, ", *c))
			(void)fputc(*c, f);
		else
			(void)fprintf(f, "\\%02x", *c);
	(void)fputc('"', f);
}

void op_print(const struct op *op, char *to, size_t size)
{
	FILE *f = fmemopen(to, size, "w");

	if (!f)
		abort();
	(void)fprintf(f, "%u %s actor=%d", op->number, op_infos[op->kind].name, op->actor);
	for (size_t n = 0; n < ARRAY_SIZE(fields); n++) {
		int64_t value = field_get(op, &fields[n]);

		if (value != fields[n].usual)
			(void)fprintf(f, fields[n].hex ? " %s=0x%" PRIx64 : " %s=%" PRId64, fields[n].name, value);
	}
	if (op->path[0])
		print_quoted(f, "path", op->path);
	if (op->path2[0])
		print_quoted(f, "path2", op->path2);
	(void)fclose(f);
}

static const char *parse_quoted(const char *line, char to[OP_PATH_MAX])
{
	size_t n = 0;

	for (; *line && *line != '"'; line++) {
		unsigned byte = (unsigned char)*line;

		if (*line == '\\' && sscanf(line + 1, "%2x", &byte) == 1)
			line += 2;
		if (n + 1 < OP_PATH_MAX)
			to[n++] = (char)byte;
	}
	to[n] = '\0';
	return *line ? line + 1 : NULL;
}

static const char *parse_field(const char *line, struct op *op)
{
	char name[16];
	char *end;
	int length;

	if (sscanf(line, " %15[a-z0-9]=%n", name, &length) != 1)
		return NULL;
	line += length;
	if (strcmp(name, "path") == 0)
		return parse_quoted(line + 1, op->path);
	if (strcmp(name, "path2") == 0)
		return parse_quoted(line + 1, op->path2);
	if (strcmp(name, "actor") == 0) {
		op->actor = (int)strtol(line, &end, 0);
		return end;
	}
	for (size_t n = 0; n < ARRAY_SIZE(fields); n++)
		if (strcmp(name, fields[n].name) == 0) {
			field_set(op, &fields[n],
				fields[n].hex ? (int64_t)strtoull(line, &end, 0) : strtoll(line, &end, 0));
			return end;
		}
	return NULL;
}

int op_parse(const char *line, struct op *ret)
{
	char name[16];
	int length;

	op_init(ret);
	if (sscanf(line, "%u %15s%n", &ret->number, name, &length) != 2)
		return -EINVAL;
	while (ret->kind < OP_COUNT && strcmp(op_infos[ret->kind].name, name) != 0)
		ret->kind++;
	if (ret->kind == OP_COUNT)
		return -EINVAL;
	for (line += length; line; line = parse_field(line, ret)) {
		line += strspn(line, " ");
		if (*line == '\0' || *line == '\n' || *line == '#')
			return 0;
	}
	return -EINVAL;
}

bool op_follows(const struct op *op)
{
	switch (op->kind) {
	case OP_OPEN:
		return !(op->flags & O_NOFOLLOW) && (op->flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	case OP_TRUNCATE:
	case OP_CHMOD:
	case OP_LIST:
	case OP_CHDIR:
		return true;
	case OP_STAT:
	case OP_ACCESS:
	case OP_CHOWN:
	case OP_UTIMENS:
		return !(op->flags & AT_SYMLINK_NOFOLLOW);
	default:
		return false;
	}
}

bool path_has_dots(const char *path)
{
	char text[OP_PATH_MAX], *rest = text, *part;

	memcpy(text, path, strlen(path) + 1);
	while ((part = strsep(&rest, "/")))
		if (strcmp(part, ".") == 0 || strcmp(part, "..") == 0)
			return true;
	return false;
}

void path_parent(const char *path, char to[OP_PATH_MAX])
{
	size_t n = strlen(path);

	memcpy(to, path, n + 1);
	while (n > 1 && to[n - 1] == '/')
		n--;
	while (n > 0 && to[n - 1] != '/')
		n--;
	while (n > 1 && to[n - 1] == '/')
		n--;
	if (n == 0)
		to[n++] = '.';
	to[n] = '\0';
}
