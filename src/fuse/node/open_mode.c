/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/node/open_mode.h"

bool open_mode_is_registered(enum open_path path)
{
	return path == OPEN_PATH_PASSTHROUGH || path == OPEN_PATH_PASSTHROUGH_DIRECT;
}

unsigned open_mode_registered(const struct open_mode *m)
{
	return m->opens[OPEN_PATH_PASSTHROUGH] + m->opens[OPEN_PATH_PASSTHROUGH_DIRECT];
}

bool open_mode_written_locally(const struct open_mode *m)
{
	return open_mode_registered(m) > 0 || m->map_written;
}

bool open_mode_seen_locally(const struct open_mode *m)
{
	return open_mode_registered(m) > 0 || m->mapped;
}

unsigned open_mode_total(const struct open_mode *m)
{
	return open_mode_registered(m) + m->opens[OPEN_PATH_CACHED] + m->opens[OPEN_PATH_DIRECT] +
	       m->opens[OPEN_PATH_DIRECT_MAPPABLE];
}

bool open_mode_cached(const struct open_mode *m)
{
	return m->opens[OPEN_PATH_CACHED] + m->opens[OPEN_PATH_DIRECT_MAPPABLE] > 0;
}

bool open_mode_has_id_of(const struct open_mode *m, uint64_t generation)
{
	return m->backing_id > 0 && generation > 0 && m->generation == generation;
}

static bool own_id_serves(const struct open_mode *m, const struct open_wish *w)
{
	return open_mode_has_id_of(m, w->generation) && (!w->write || (m->writable && m->root == w->root));
}

static bool granted_id_serves(const struct open_wish *w)
{
	return w->granted_id > 0 && w->generation > 0 && (w->granted_writable || !w->write);
}

int open_mode_choose(const struct open_mode *m, const struct open_wish *w)
{
	if (open_mode_registered(m) > 0) {
		/* The kernel opens the backing file with the open's own flags. */
		if (w->write && !m->writable)
			return -ESTALE;
		return own_id_serves(m, w) && !w->by_daemon ? OPEN_PATH_PASSTHROUGH : OPEN_PATH_PASSTHROUGH_DIRECT;
	}
	if (!open_mode_cached(m) && !w->by_daemon && (own_id_serves(m, w) || granted_id_serves(w)))
		return OPEN_PATH_PASSTHROUGH;
	if (!w->append && !m->map_written)
		return OPEN_PATH_CACHED;
	return w->read ? OPEN_PATH_DIRECT_MAPPABLE : OPEN_PATH_DIRECT;
}

int open_mode_count(struct open_mode *m, const struct open_wish *w, enum open_path path)
{
	int useless = w->granted_id;

	if (path == OPEN_PATH_PASSTHROUGH && open_mode_registered(m) == 0 && !own_id_serves(m, w)) {
		useless = m->backing_id;
		m->backing_id = w->granted_id;
		m->writable = w->granted_writable;
		m->root = w->root;
		m->generation = w->generation;
	}
	m->opens[path]++;
	if (open_mode_is_registered(path) && w->read) {
		m->mapped = true;
		m->map_written = m->map_written || w->write;
	}
	return useless;
}

bool open_mode_uncount(struct open_mode *m, enum open_path path)
{
	unsigned before = open_mode_registered(m);

	m->opens[path]--;
	return before > 0 && open_mode_registered(m) == 0;
}

int open_mode_take_id(struct open_mode *m)
{
	int id = m->backing_id;

	if (open_mode_registered(m) > 0)
		return 0;
	m->backing_id = 0;
	return id;
}
