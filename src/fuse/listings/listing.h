/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the listing of a directory that the kernel keeps (FOPEN_CACHE_DIR) is still right. The kernel copies each
 * answer to READDIR into the directory's pages, and serves later readers from these, also those of other opens. With
 * each OPENDIR the daemon says whether the kernel may go on to use its listing (FOPEN_KEEP_CACHE): while the mount is
 * local and notices of the directory's changes come, it may if the directory is in the state of which the listing is,
 * and the sidecar, asked with each OPENDIR, tells the attributes of that state. So a listing is as new as the OPENDIR.
 * A daemon that the sidecar trusts gets a descriptor with that answer, and sees the attributes by itself from then on.
 * Within an open, rewinddir(3) shows changes by others when the kernel hears of new times of the directory
 * (fs/fuse/readdir.c fuse_readdir_cached).
 *
 * All parts of a listing must be of one state (known_state()): of two batches from before and after a change, neither
 * is the directory. A batch is of the state from before its question, if the server told the directory's attributes
 * with it: when these show a change, or a notice tells of one, that state is over, and with it the listing.
 *
 * A server that remembers (fs_server_remembers()) proves nothing by its attributes: NFS-Ganesha may list the names from
 * before a change past it, and tell the present attributes with them (run). So the daemon adds up what the kernel's
 * listing is made of (struct listing_sum). If the sidecar has told the same sum of the directory (BROKER_DIGEST), the
 * listing is that of the directory's state. The sidecar is asked before the first name is answered (readdir.c), or, of
 * a directory that is too long for that, by the next OPENDIR. The sum follows the kernel, which adds an entry only at
 * the place where its listing ends (fuse_add_dirent_to_cache).
 *
 * Only one open at a time uses the kernel's listing; others read past it. A reader in the middle of the directory looks
 * for its offset in the kernel's listing, and if that was made anew meanwhile for another reader, and has no such
 * offset because that file is gone, the kernel takes this for the end of the directory. A listing begins while no other
 * open exists also because an answer to such an open may reach the pages after OPENDIR has dropped them.
 *
 * Nothing else drops the kernel's pages: FUSE_NOTIFY_INVAL_INODE would wait for the lock of a page that a getdents(2)
 * into a page that never comes holds.
 *
 * No state but inode.listing and inode.listing_parts, under the inode's lock, which the functions take. Any thread.
 */
#pragma once

#include "fuse/fs/fs.h"

enum listing_parts {
	LISTING_MIXED, /* of different states, or none: not to be used by a later open */
	LISTING_EMPTY, /* the kernel has no part, and gets the parts of a listing that begins */
	LISTING_SAME,  /* all parts are of the state inode.listing */
	LISTING_WHOLE, /* it is whole, with the sum inode.listing: the sidecar knows whether it is right */
};

enum listing_use {
	LISTING_READ_PAST, /* the open neither reads nor fills the kernel's listing */
	LISTING_BEGIN,     /* the kernel drops its listing, and this open fills it */
	LISTING_KEEP,      /* the open reads the kernel's listing: listing_is_good() */
};

/* True if the kernel may keep listings now. */
bool listing_may_begin(const struct fs *fs);

/* True if the kernel's listing is that of the directory's state, as far as this mount knows without a question. */
bool listing_is_good(struct fs *fs, struct inode *dir);

/*
 * True if a listing that is good is also that of the directory's present state. attr: the directory's attributes, as a
 * descriptor shows them now. Each change after a look has its own ctime on the filesystems of which notices come, on a
 * kernel that can forget names (Linux 6.16). But where time stamps are whole seconds (ext4 with inodes of 128 bytes)
 * only the sidecar can tell, whose answer comes behind all notices.
 */
bool listing_shows(struct inode *dir, const struct nfs_attr *attr);

/*
 * An OPENDIR is about to be answered: adds o to the inode's list of opens, and fills in the flags. Beside other opens
 * the use is always LISTING_READ_PAST.
 */
void listing_open(struct fs *fs, struct inode *dir, struct opened *o, enum listing_use use, struct fuse_file_info *fi);

/*
 * A part is about to be answered to an open with fi.cache_readdir. state: that of the directory when the part was asked
 * for; 0 if it has changed, or if the server remembers.
 */
void listing_part(struct inode *dir, uint64_t state);

/* True if the sidecar should be asked for the directory's digest, since the kernel's listing may be right. */
bool listing_needs_digest(const struct fs *fs, struct inode *dir);

/* The sidecar has told the digest. state: known_state() from before the question. */
void listing_digest(struct inode *dir, uint64_t digest, uint64_t state);

/* The sum of the entries that one open with fi.cache_readdir has brought into the kernel's listing. The opener's. */
struct listing_sum {
	uint64_t digest;
	uint64_t end; /* the offset at which the kernel's listing ends */
	unsigned names;
	/* The sidecar's digest of the directory in this state, when this open began to read it; state 0: not told. */
	uint64_t proved, state;
	bool begun;
	bool over; /* the listing was whole or is too long, or begins anew: it is not known what the kernel has */
};

/* A part is about to be answered from this offset on. */
void listing_sum_part(struct listing_sum *s, uint64_t offset);

/* The part's next entry, which is at the offset, and is followed by the cookie. */
void listing_sum_entry(struct listing_sum *s, const struct hash_key *key, uint64_t offset, const struct nfs_entry *e);

/* The directory in this state has this digest, as the sidecar says. */
void listing_sum_proved(struct listing_sum *s, uint64_t digest, uint64_t state);

/* The part is empty, as the directory ends at the offset: the listing is whole, if nothing is missing. */
void listing_sum_end(struct listing_sum *s, struct inode *dir, uint64_t offset);
