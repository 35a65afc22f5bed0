/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/open/open_offer.h"

#include "fuse/local/backing_ids.h"
#include "fuse/local/granted_file.h"

static bool wants_id(const struct open_mode *m, const struct open_wish *wish, uid_t uid)
{
	return open_mode_registered(m) == 0 &&
	       (!open_mode_has_id_of(m, wish->generation) || (wish->write && (!m->writable || m->root != (uid == 0))));
}

/* True if the sidecar may send this open a descriptor for writing. */
static bool may_write(const struct fs *fs, const struct open_wish *wish)
{
	return wish->write && wish->generation != 0 && fs->uring && probe_is_trusted(fs->probe);
}

/*
 * Beside a cached open the kernel gets no id, because the kernel's own writes would overtake the data that the daemon
 * gathers for the backing file. With .written the write log keeps no data to send again.
 */
struct open_offer open_look(struct fs *fs, struct inode *i, const struct open_wish *wish, uid_t uid)
{
	const struct granted_file *g = i->granted;
	struct open_offer f = {.session = fs_generation(fs),
		.registered = open_mode_registered(&i->mode) > 0,
		.cached = open_mode_cached(&i->mode),
		.wants_id = wants_id(&i->mode, wish, uid),
		.may_write = may_write(fs, wish),
		.instead = g && g->instead,
		.dirty = write_log_dirty(&i->writes)};
	bool writer = granted_file_writes(g, wish->generation);

	f.reads = wish->read && granted_file_serves(g, f.session);
	f.writes = f.may_write && writer;
	f.written = f.registered || (writer && g->writers > 0 && f.cached);
	return f;
}

struct open_offer open_look_ahead(struct fs *fs, const struct open_wish *wish)
{
	return (struct open_offer){.session = fs_generation(fs), .wants_id = true, .may_write = may_write(fs, wish)};
}

/* The sidecar sends a descriptor only where the kernel cannot get a backing id, or may refuse the id. */
uint32_t open_offer_wants(const struct open_offer *f, const struct fs *fs, const struct open_wish *wish)
{
	bool served = open_offer_has_descriptor(f);
	bool passes = fs->passthrough && !(served && f->instead) && !wish->by_daemon && !f->cached;
	uint32_t flags = passes && f->wants_id ? BROKER_OPEN_WANT_ID : 0;

	if (fs->uring && (wish->read || f->may_write) && !served && (flags != 0 || !passes) &&
		backing_ids_may_have_descriptor(fs->ids))
		flags |= BROKER_OPEN_WANT_FD | (f->may_write ? BROKER_OPEN_WANT_WRITE : 0);
	return flags;
}
