/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/fs/file.h"

/* The mount ends without a RELEASE of the file, and the numbers end with it. */
static void free_opened(struct opened *o)
{
	free(CONTAINER_OF(o, struct file, opened));
}

struct file *file_new(struct fs *fs)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->opened.free = free_opened;
	f->opened.number = slots_add(&fs->opened, &f->opened);
	if (f->opened.number == 0) {
		free(f);
		return NULL;
	}
	return f;
}

void file_free(struct fs *fs, struct file *f)
{
	if (!f)
		return;
	slots_remove(&fs->opened, f->opened.number);
	free(f);
}
