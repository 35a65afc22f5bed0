/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/paths/data_path.h"

#include "fuse/local/granted_file.h"

static struct data_way way_by_ring(struct granted_file *granted)
{
	return (struct data_way){.path = granted ? &by_ring : &by_server, .granted = granted};
}

static struct data_way way_by_broker(int number)
{
	return (struct data_way){.path = number != 0 ? &by_broker : &by_server, .number = number};
}

/*
 * While an open uses a backing id the kernel writes to the file by the sidecar's descriptor, which alone tells of what
 * the kernel could not write. Else the daemon has written, if anybody has.
 */
static struct data_way choose_sync(const struct fs *fs, struct inode *i)
{
	int number = 0;

	{
		LOCKED(&i->lock);
		if (open_mode_registered(&i->mode) > 0)
			number = i->mode.backing_id;
	}
	return number != 0 ? way_by_broker(number) : way_by_ring(granted_file_of(fs, i));
}

/* The number by which the session knows the open file: of the id, or of the descriptor; 0: the session does not. */
static int number_to_look(const struct fs *fs, const struct file *f)
{
	uint64_t generation = fs_generation(fs);
	struct inode *i = f->inode;

	LOCKED(&i->lock);
	if (open_mode_is_registered(f->path))
		return open_mode_has_id_of(&i->mode, generation) ? i->mode.backing_id : 0;
	return granted_file_serves(i->granted, generation) ? i->granted->number : 0;
}

/*
 * The sidecar changes the file with the credential of the caller that the id or descriptor was granted to. An open by
 * another caller may have other rights: then the number is 0.
 */
static int number_to_change(const struct fs *fs, const struct file *f)
{
	uint64_t generation = fs_generation(fs);
	struct inode *i = f->inode;

	if (!f->write)
		return 0;
	if (open_mode_is_registered(f->path))
		return f->path == OPEN_PATH_PASSTHROUGH ? number_to_look(fs, f) : 0;
	LOCKED(&i->lock);
	if (!granted_file_serves(i->granted, generation) || f->session != generation || i->granted->root != f->root)
		return 0;
	return i->granted->number;
}

/* True if the file is open for local writes: the writer's close or fsync is going to make the truncation stable. */
static bool is_written_locally(const struct fs *fs, struct inode *i)
{
	uint64_t generation = fs_generation(fs);

	LOCKED(&i->lock);
	return i->known.writers > 0 &&
	       ((open_mode_has_id_of(&i->mode, generation) && open_mode_registered(&i->mode) > 0) ||
		       granted_file_writes(i->granted, generation));
}

struct data_way data_path_choose(struct fs *fs, struct inode *i, const struct file *f, enum data_operation operation)
{
	switch (operation) {
	case DATA_READ:
		/* Every open of the file may read: the server, or the sidecar in its place, has allowed it. */
		return way_by_ring(granted_file_of(fs, i));
	case DATA_WRITE:
		/* Only as the session that granted the open, and never to a file with set-id bits. */
		return way_by_ring(f->writes_locally ? granted_file_to_write(fs, i, f->session) : NULL);
	case DATA_SYNC:
		return choose_sync(fs, i);
	case DATA_LOOK:
		return way_by_broker(number_to_look(fs, f));
	case DATA_CHANGE:
		return way_by_broker(number_to_change(fs, f));
	case DATA_TRUNCATE:
		/* The sidecar finds the file by its handle. A mount with sync or noac wants stable data at once. */
		if (!fs_is_sync(fs) && is_written_locally(fs, i))
			return (struct data_way){.path = &by_broker};
		break;
	}
	return (struct data_way){.path = &by_server};
}
