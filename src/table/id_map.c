/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "table/id_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/whole_io.h"

int id_map_parse(struct id_map *m, const char *text)
{
	m->count = 0;
	while (*text != '\0') {
		struct id_extent e;
		int used = 0;

		if (m->count == ID_EXTENTS)
			return -EINVAL;
		if (sscanf(text, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %n", &e.inside, &e.outside, &e.length, &used) !=
				3 ||
			used == 0)
			return -EINVAL;
		m->extents[m->count++] = e;
		text += used;
	}
	return m->count > 0 ? 0 : -EINVAL;
}

int id_map_read(struct id_map *m, const char *path)
{
	char text[ID_EXTENTS * 34];
	ssize_t n = read_small_file(path, text, sizeof(text));

	return n < 0 ? (int)n : id_map_parse(m, text);
}

bool id_map_add(struct id_map *m, uint32_t id)
{
	if (m->count == ID_EXTENTS)
		return false;
	m->extents[m->count++] = (struct id_extent){.inside = id, .outside = id, .length = 1};
	return true;
}

bool id_map_is_plain(const struct id_map *m)
{
	return m->count == 1 && m->extents[0].inside == 0 && m->extents[0].outside == 0 &&
	       m->extents[0].length == UINT32_MAX;
}

uint32_t id_map_overflow_uid(void)
{
	struct id_map uids;

	return id_map_read(&uids, "/proc/self/uid_map") == 0 && id_map_is_plain(&uids) ? UINT32_MAX : 65534;
}

bool id_map_outside(const struct id_map *m, uint32_t inside, uint32_t *ret)
{
	for (unsigned n = 0; n < m->count; n++) {
		const struct id_extent *e = &m->extents[n];

		if (inside >= e->inside && inside - e->inside < e->length) {
			*ret = e->outside + (inside - e->inside);
			return true;
		}
	}
	return false;
}

bool id_map_inside(const struct id_map *m, uint32_t outside, uint32_t *ret)
{
	for (unsigned n = 0; n < m->count; n++) {
		const struct id_extent *e = &m->extents[n];

		if (outside >= e->outside && outside - e->outside < e->length) {
			*ret = e->inside + (outside - e->outside);
			return true;
		}
	}
	return false;
}
