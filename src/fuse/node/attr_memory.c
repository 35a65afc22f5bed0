/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/node/attr_memory.h"

#include "base/clock.h"

bool attr_memory_is_version(const struct attr_memory *m, const struct nfs_attr *attr)
{
	return m->known && m->attr.size == attr->size && timespec_is_same(&m->attr.mtime, &attr->mtime) &&
	       timespec_is_same(&m->attr.ctime, &attr->ctime);
}

unsigned attr_memory_tell(struct attr_memory *m, const struct nfs_attr *attr, const struct attr_limits *limits,
	uint64_t now)
{
	if (!attr_memory_is_version(m, attr)) {
		m->known = true;
		m->interval = limits->min;
		m->interval_ms = now;
	} else if (time_since(m->interval_ms, now) > m->interval * UINT64_C(1000)) {
		m->interval = MAX(MIN(m->interval * 2, limits->max), limits->min);
		m->interval_ms = now;
	}
	m->attr = *attr;
	m->until_ms = now + m->interval * UINT64_C(1000);
	return m->interval;
}

void attr_memory_doubt(struct attr_memory *m)
{
	m->until_ms = 0;
}

uint64_t attr_memory_left_ms(const struct attr_memory *m, uint64_t now)
{
	return m->until_ms > now ? m->until_ms - now : 0;
}

bool attr_memory_pages_are_good(const struct attr_memory *m, const struct nfs_attr *attr)
{
	return !m->pages_are_old && attr_memory_is_version(m, attr);
}

bool attr_memory_pages_are_believed(const struct attr_memory *m, uint64_t now)
{
	return !m->pages_are_old && attr_memory_left_ms(m, now) > 0;
}
