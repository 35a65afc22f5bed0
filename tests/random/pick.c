/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "pick.h"

#include <fcntl.h>
#include <string.h>

/* ---- names ---- */

void pick_new_name(struct making *m, char to[300])
{
	unsigned what = (unsigned)pick_below(m, 100), n = (unsigned)pick_below(m, 14);

	if (what < 80) {
		(void)snprintf(to, 300, "%c", 'a' + n);
	} else if (what < 86) {
		(void)snprintf(to, 300, "%0*u", what < 84 ? 255 : 256, n % 3);
	} else if (what < 92) {
		static const char *const strange[] = {"\xff\xfe", "new\nline", " ", "-rf", "\xc3\xbc", "*?[", "\\",
			"\"", "..."};

		(void)snprintf(to, 300, "%s", strange[n % ARRAY_SIZE(strange)]);
	} else if (what < 94) {
		(void)snprintf(to, 300, "%s", n % 2 ? "." : "..");
	} else {
		(void)snprintf(to, 300, ".hidden%u", n % 4);
	}
}

/* 60 operations in a row prefer the same names, so that they meet the same files. */
bool pick_existing(struct making *m, unsigned want, char to[OP_PATH_MAX])
{
	struct rng hot = rng_make(m->op->number / 60, 7);

	for (int tries = 0; tries < 12 && pool_count(m->pool) > 0; tries++) {
		struct rng *r = pick_percent(m, 40) ? &hot : &m->r;
		const char *path;
		mode_t mode = pool_name(m->pool, m->w, rng_below(r, pool_count(m->pool)), &path);

		if (mode == 0 || !(want & (1U << ((mode & S_IFMT) >> 12))))
			continue;
		memcpy(to, path, strlen(path) + 1);
		return true;
	}
	return false;
}

void path_join(char to[OP_PATH_MAX], const char *directory, const char *name)
{
	char path[2 * OP_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, name);
	path[OP_PATH_MAX - 1] = '\0';
	memcpy(to, path, strlen(path) + 1);
}

static unsigned depth(const char *path)
{
	unsigned n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* A new name in a directory. Sometimes the directory is a link to one, or no directory. */
static void fresh(struct making *m, char to[OP_PATH_MAX])
{
	char directory[OP_PATH_MAX], name[300];
	unsigned want = pick_percent(m, 5) ? WANT_ANY : pick_percent(m, 8) ? WANT_LNK : WANT_DIR;

	if (pick_percent(m, 30) || !pick_existing(m, want, directory) ||
		(depth(directory) > 5 && !pick_percent(m, 4)) || depth(directory) > 24)
		(void)strcpy(directory, "/");
	pick_new_name(m, name);
	path_join(to, directory, name);
}

/* Another path of the same file. */
static void respell(struct making *m, char path[OP_PATH_MAX], int *dir)
{
	char parent[OP_PATH_MAX], name[300];
	const char *slash = strrchr(path, '/');

	if (!slash || slash[1] == '\0' || strlen(slash) >= sizeof(name) || strlen(path) + 8 >= OP_PATH_MAX)
		return;
	memcpy(name, slash + 1, strlen(slash + 1) + 1);
	path_parent(path, parent);
	if (strcmp(m->w->cwd[m->op->actor].path, parent) == 0 && pick_percent(m, 50)) {
		memcpy(path, name, strlen(name) + 1);
		return;
	}
	for (int n = 0; dir && n < SLOTS; n++)
		if (m->w->slots[n].d && strcmp(m->w->slots[n].path, parent) == 0 && pick_percent(m, 50)) {
			*dir = n;
			memcpy(path, name, strlen(name) + 1);
			return;
		}
	if (pick_percent(m, 3))
		(void)strcat(path, "/");
	else if (pick_percent(m, 4))
		(void)snprintf(path, OP_PATH_MAX, pick_percent(m, 50) ? "%s/./%s" : "%s//%s", parent, name);
}

void pick_path(struct making *m, unsigned chance, unsigned want, char path[OP_PATH_MAX], int *dir)
{
	static const char *const places[] = {"/", "", ".", "..", "/.."};

	if (pick_percent(m, chance)) {
		if (!pick_existing(m, want, path) && !pick_existing(m, WANT_ANY, path))
			fresh(m, path);
	} else {
		fresh(m, path);
	}
	if (pick_percent(m, 1))
		(void)strcpy(path, RNG_PICK(&m->r, places));
	else if (dir && pick_percent(m, 2))
		(void)snprintf(path, OP_PATH_MAX, "%c",
			'a' + (int)pick_below(m, 14)); /* a name in the working directory */
	else
		respell(m, path, dir);
}

/* ---- open files ---- */

int pick_any_slot(struct making *m, bool (*fits)(const struct slot *s))
{
	int from = (int)pick_below(m, SLOTS);

	for (int pass = 0; pass < 2; pass++)
		for (int n = 0; n < SLOTS; n++) {
			const struct slot *s = &m->w->slots[(from + n) % SLOTS];

			if (s->d && (pass == 1 || fits(s)))
				return (from + n) % SLOTS;
		}
	return OP_NONE;
}

bool slot_is_any(const struct slot *s)
{
	return true;
}

bool slot_is_reader(const struct slot *s)
{
	return S_ISREG(s->d->type) && (s->d->flags & O_ACCMODE) != O_WRONLY && !(s->d->flags & O_PATH);
}

bool slot_is_writer(const struct slot *s)
{
	return S_ISREG(s->d->type) && (s->d->flags & O_ACCMODE) != O_RDONLY && !(s->d->flags & O_PATH);
}

bool slot_is_both(const struct slot *s)
{
	return slot_is_reader(s) && slot_is_writer(s);
}

bool slot_is_regular(const struct slot *s)
{
	return S_ISREG(s->d->type) && !(s->d->flags & O_PATH);
}

bool slot_is_directory(const struct slot *s)
{
	return S_ISDIR(s->d->type);
}

int pick_slot(struct making *m, bool (*fits)(const struct slot *s))
{
	return pick_any_slot(m, pick_percent(m, 5) ? slot_is_any : fits);
}

int pick_free_slot(const struct making *m)
{
	for (int n = 0; n < SLOTS; n++)
		if (!m->w->slots[n].d)
			return n;
	return OP_NONE;
}

int pick_map(struct making *m, bool want_used)
{
	int from = (int)pick_below(m, MAPPINGS);

	for (int n = 0; n < MAPPINGS; n++)
		if ((m->w->maps[(from + n) % MAPPINGS].d != NULL) == want_used)
			return (from + n) % MAPPINGS;
	return OP_NONE;
}

int64_t pick_size(const struct making *m, int s)
{
	struct stat st;

	return s != OP_NONE && fstat(m->w->slots[s].fd[REFERENCE], &st) == 0 ? st.st_size : 0;
}

/* ---- numbers ---- */

int64_t pick_length(struct making *m)
{
	unsigned what = (unsigned)pick_below(m, 100);

	if (what < 40)
		return 1 + (int64_t)pick_below(m, 200);
	if (what < 65)
		return 1 + (int64_t)pick_below(m, 5000);
	if (what < 80)
		return 4096 * (1 + (int64_t)pick_below(m, 16));
	if (what < 95)
		return 1 + (int64_t)pick_below(m, 150000);
	return what < 98 ? 0 : 1 + (int64_t)pick_below(m, 3000000);
}

int64_t pick_offset(struct making *m, int64_t size)
{
	unsigned what = (unsigned)pick_below(m, 1000);

	if (what < 450)
		return (int64_t)pick_below(m, 20000);
	if (what < 650)
		return 4096 * (int64_t)pick_below(m, 64);
	if (what < 900)
		return MAX(size - 100 + (int64_t)pick_below(m, 200), 0);
	if (what < 960)
		return (int64_t)pick_below(m, 1 << 20);
	if (what < 980)
		return (1LL << 32) - 5000 + (int64_t)pick_below(m, 10000);
	if (what < 990)
		return (5LL << 30) + (int64_t)pick_below(m, 100000);
	return PICK(m, -1, -5000, 1LL << 45, 1LL << 50, INT64_MAX);
}

int64_t pick_end(struct making *m, int64_t size)
{
	if (pick_percent(m, 3))
		return PICK(m, EXT4_SIZE_MAX + 1, 1LL << 45, 1LL << 50, INT64_MAX);
	return pick_offset(m, size);
}

uint32_t pick_mode(struct making *m)
{
	static const uint16_t plain[] = {0644, 0664, 0666, 0660, 0777, 0755, 0775, 0640, 0600, 0700};
	static const uint16_t odd[] = {0444, 0000, 0200, 0400, 0222, 0711, 0100, 0060, 04755, 02755, 06777, 02644,
		02775, 01777, 04644, 07777, 01644, 0555, 0111, 0007, 0070};

	return pick_percent(m, 72) ? RNG_PICK(&m->r, plain) : RNG_PICK(&m->r, odd);
}

/* Mostly modes with which all actors can use the directory. */
uint32_t pick_directory_mode(struct making *m)
{
	return (uint32_t)PICK(m, 0777, 0777, 0777, 0777, 0777, 0777, 02777, 02777, 0775, 0770, 02775, 0755, 0755, 01777,
		0711, 0700, 0555, 0733);
}

int64_t pick_owner(struct making *m)
{
	return PICK(m, 0, 1001, 1001, 1002, 1002, 65534, 0xffffffff);
}

int64_t pick_group(struct making *m)
{
	return PICK(m, 0, 1001, 1002, 3000, 3000, 3000, 4000, 0xffffffff);
}

int64_t pick_time(struct making *m)
{
	unsigned what = (unsigned)pick_below(m, 100);

	if (what < 25)
		return TIME_NOW;
	if (what < 45)
		return TIME_OMIT;
	if (what < 95)
		return (int64_t)pick_below(m, 0xffffffff) * 1000000000 + (int64_t)pick_below(m, 1000000000);
	return PICK(m, 0, 1, -1000000000LL, -86400LL * 1000000000, 0xffffffffLL * 1000000000,
		0x100000000LL * 1000000000 + 5);
}
