/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The uids or gids of a user namespace: /proc/PID/uid_map and gid_map, user_namespaces(7). A plain value of its owner;
 * no state, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ID_EXTENTS 340 /* UID_GID_MAP_MAX_EXTENTS of the kernel */

struct id_map {
	unsigned count;
	struct id_extent {
		uint32_t inside, outside, length;
	} extents[ID_EXTENTS];
};

/* Parses the text of a map. Returns 0, or -EINVAL. */
int id_map_parse(struct id_map *m, const char *text);

/* Reads a map. Returns 0 or a negative errno. The ids outside are those of the reading process's parent namespace. */
int id_map_read(struct id_map *m, const char *path);

/* Adds one id, which is the same on both sides. False if the map is full. */
bool id_map_add(struct id_map *m, uint32_t id);

/* True if the map maps each id to itself. */
bool id_map_is_plain(const struct id_map *m);

/*
 * The uid with which the kernel shows all users that this process's user namespace does not map; UINT32_MAX if it maps
 * all.
 */
uint32_t id_map_overflow_uid(void);

/* Translate an id. False, and *ret unchanged, if the map does not have the id. */
bool id_map_outside(const struct id_map *m, uint32_t inside, uint32_t *ret);
bool id_map_inside(const struct id_map *m, uint32_t outside, uint32_t *ret);
