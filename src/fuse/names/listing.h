/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the listing of a directory that the kernel keeps (FOPEN_CACHE_DIR) is still right. The kernel copies each
 * answer to READDIR into the directory's pages, and serves later readers from these, also those of other opens. With
 * each OPENDIR the daemon says whether the kernel may go on to use its listing (FOPEN_KEEP_CACHE): while the mount is
 * local and notices of the directory's changes come, it may if the directory is in the state of which the listing is,
 * and the sidecar, asked with each OPENDIR, tells the attributes of that state. So a listing is as new as the OPENDIR.
 * Within an open, rewinddir(3) shows changes by others when the kernel hears of new times of the directory
 * (fs/fuse/readdir.c fuse_readdir_cached).
 *
 * All parts of a listing must be of one state (known_state()): of two batches from before and after a change, neither
 * is the directory. A batch is of a state if the directory was in it before the question and after the answer, and the
 * server told the directory's attributes with the batch: NFS-Ganesha may tell old names, with old attributes.
 *
 * Nothing drops the kernel's pages but an OPENDIR: FUSE_NOTIFY_INVAL_INODE would wait for the lock of a page that a
 * getdents(2) into a page that never comes holds. An answer may reach the pages after an OPENDIR has dropped them. So a
 * listing begins only with an OPENDIR while no other open of the directory exists; an open beside others, after the
 * listing has ended, reads past it.
 *
 * No state but inode.listing and inode.listing_parts, under the inode's lock, which the functions take. Any thread.
 */
#pragma once

#include "fuse/fs/fs.h"

enum listing_parts {
	LISTING_MIXED, /* of different states, or none: not to be used by a later open */
	LISTING_EMPTY, /* the kernel has no part, and gets the parts of a listing that begins */
	LISTING_SAME,  /* all parts are of the state inode.listing */
};

enum listing_use {
	LISTING_READ_PAST, /* the open neither reads nor fills the kernel's listing */
	LISTING_BEGIN,     /* the kernel drops its listing, and this open fills it if no other open may interfere */
	LISTING_KEEP,      /* the kernel may use its listing: listing_is_good() */
};

/* True if the kernel's listing is that of the directory's state, as far as this mount knows without a question. */
bool listing_is_good(struct fs *fs, struct inode *dir);

/* An OPENDIR is about to be answered: adds o to the inode's list of opens, and fills in the flags. */
void listing_open(struct fs *fs, struct inode *dir, struct opened *o, enum listing_use use, struct fuse_file_info *fi);

/* A part is about to be answered. state: that of the directory when the part was asked for; 0 if it has changed. */
void listing_part(struct inode *dir, uint64_t state);
