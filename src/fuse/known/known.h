/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known without asking the server: attributes, the names in a directory and those that are
 * not there, and who may walk through it.
 *
 * A directory's attributes say for how long that holds: names and rights were learned under an
 * epoch of it, which ends when its attributes come and are others than before, or when they are in
 * doubt. What this mount does itself to a directory ends none if the server says what the directory
 * was like right before: exactly what is known (weak cache consistency, RFC 1813 2.6; fs/nfs/inode.c
 * nfs_wcc_update_inode).
 *
 * An answer may be older than what it says of a file when something of ours changed the file after
 * the question. attr_clock() tells: it goes on with each change that is answered. Such an answer is
 * given to whoever asked, and not kept.
 *
 * The kernel asks for each step of each path, with its caller, and gets the answers from here. But in
 * a directory that lets everybody through, whoever they are, it is told for how long it need not ask:
 * search permission for all three classes, and the server says that there is no ACL. When that is not
 * so any more the kernel forgets all names (FUSE_NOTIFY_INC_EPOCH, Linux 6.16; without it nothing is
 * told) before whoever changed it, or learned of it, is answered. Only then: with their names all files
 * lose their pages, and what is mounted below is detached.
 *
 * Who may open a file is remembered apart from its attributes, which each write changes: for acregmin, and
 * until this mount changes its mode, owner or ACL, or hears that somebody did.
 *
 * struct known (fuse/node/inode.h) is under the inode's lock, which the functions take.
 *
 * A hot open is an open that needs no question about permission: the inode has a backing id or a descriptor, and the
 * sidecar's answer to an earlier open of the same credential still holds (struct opener). The open asks only for the
 * file's present attributes (BROKER_OPEN_ATTR; nothing with a descriptor or with nocto), because close-to-open is a
 * promise about names, too. With nocto the attributes are told and not believed: the next GETATTR asks the sidecar, for
 * as long as the file has an id. Nor does a hot open for reading ask /proc for the caller's groups, a quarter of its
 * cost, when the sidecar said that groups do not matter (opener.any_groups). If a READ of such an open goes to the
 * server after all, the daemon looks up the groups of the reading process.
 *
 * The kernel must forget all names because it cannot forget some of them in time: it holds the lock of a directory
 * whose mode is being changed, or into which a file is being moved, until the daemon has answered.
 *
 * ESTALE puts all knowledge in doubt at once, because the kernel walks again only once, does not tell FUSE that it
 * does, and each step of the path may lead elsewhere.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fuse/node/inode.h"

#define KNOWN_NAMES  131072
#define KNOWN_RIGHTS 65536
#define KNOWN_WALKS  32 /* names looked for in a directory until it is worth asking for its ACL */

struct fs;

/*
 * Attributes have come that were asked for at this time: for how many seconds they may be believed.
 * 0 when something of ours changed the file since.
 */
unsigned known_attributes(struct fs *fs, struct inode *i, const struct nfs_attr *attr, uint64_t asked);

/* Nothing that is known of it, or was asked for until now, is to be believed any more. */
void known_doubt(struct inode *i);

/*
 * The server does not know a handle any more: any name on the way to it may lead elsewhere. The kernel
 * walks again, once, and each step asks.
 */
void known_stale(struct fs *fs);

/* Whether the inode was found by what is known, or could have been. */
bool known_believed(struct fs *fs, struct inode *i);

/*
 * Whether attributes that were asked for and came at these times (attr_clock(), now_ms()) may be older
 * than what the inode has been since, or what was told of it.
 */
bool known_later(struct inode *i, uint64_t asked, uint64_t came_ms);

/* An open for writing begins (1) or ends (-1). With the inode's lock. */
void known_writer(struct inode *i, int step);

/*
 * Something that changes the inode is on its way, and is answered. wcc: what the server said of the
 * directory, NULL when it is none. True when the names of the directory that are known are still
 * true, but for those that the change was about. ret_asked: when the answer's own attributes must be
 * taken to be asked for.
 */
void known_change_begin(struct inode *i);
bool known_change_end(struct fs *fs, struct inode *i, const struct nfs_wcc *wcc, uint64_t asked, uint64_t *ret_asked);

/* A file lost or got one of several names: the others' attributes are not what they were. */
void known_links_changed(struct fs *fs);

/*
 * The name is this file's; NULL: nobody's. Asked for at that time, of a directory whose attributes came
 * with it. When a change of ours has come between, it is not known whose the name is.
 */
void known_name(struct fs *fs, struct inode *dir, const char *name, const struct nfs_fh *fh, uint64_t asked);
void known_name_forget(struct fs *fs, struct inode *dir, const char *name);

/*
 * The same for names that were listed: the listing came in an epoch of the directory, known_epoch()
 * right behind its attributes. False, and nothing is remembered, when it is not so any more.
 */
bool known_name_listed(struct fs *fs, struct inode *dir, uint64_t epoch, const char *name, const struct nfs_fh *fh,
	uint64_t asked);
uint64_t known_epoch(struct inode *dir);

/*
 * named.h: the kernel is told that a name is the file's. ctime: the file's, which came from the server with the name;
 * NULL when the name was known.
 */
void known_named(struct fs *fs, struct inode *i, struct inode *dir, const char *name, const struct timespec *ctime);

/* What an open may think of the names that led to the file. *ret_dir: what NAMED_ASK_DIRECTORY is to be asked about. */
enum named_verdict known_judge_name(struct fs *fs, struct inode *i, const struct nfs_attr *now, struct nfs_fh *ret_dir);

/* The directory is like this now: true if that proves the names of the file, which had this ctime before. */
bool known_directory_is(struct fs *fs, struct inode *i, const struct nfs_fh *dir, const struct nfs_attr *now,
	const struct timespec *ctime);

/* The file may have lost a name in that directory: the next step there asks the server. */
void known_name_lost(struct fs *fs, const struct nfs_fh *dir);

/* Of the ACCESS bits that were asked for the credential has these. */
void known_rights(struct fs *fs, struct inode *dir, const struct nfs_cred *cred, uint32_t allowed, uint64_t asked);

/* Whether the credential is known to have all these rights. */
bool known_allowed(struct fs *fs, struct inode *dir, const struct nfs_cred *cred, uint32_t bits);

/* What the sidecar said to an open: the server would grant this credential so much. */
struct opener {
	uint32_t access;  /* ACCESS bits */
	bool root;        /* it is the server's root */
	bool any_groups;  /* and would anybody with its uid and gid */
	uint64_t session; /* probe_generation() */
};

/* The credential was told so, asked at that time. */
void known_opener(struct fs *fs, struct inode *i, const struct nfs_cred *cred, const struct opener *o, uint64_t asked);

/* Whether it is known still; *ret is what it was told. Without the groups only where they do not matter. */
bool known_may_open(struct fs *fs, struct inode *i, const struct nfs_cred *cred, bool has_groups, struct opener *ret);

/*
 * What is known of its size and times may be old, though its name and who it belongs to are not. Whether the
 * kernel may believe what it was told, and is to be told so. Once it has been, what it was told until *ret_tellings
 * was taken is taken back.
 */
bool known_attributes_expire(struct inode *i, uint64_t *ret_tellings);
void known_attributes_taken_back(struct inode *i, uint64_t tellings);

/*
 * True if the kernel may show attributes other than attr, the file's present ones, without asking the daemon. The
 * kernel keeps the first of two answers that cross (fs/fuse/inode.c fuse_change_attributes_i). So when the daemon has
 * told attributes that differ from those which the kernel believes, the daemon does not know which the kernel kept,
 * until it takes them back. *ret_tellings is for known_attributes_taken_back().
 */
bool known_kernel_may_differ(struct inode *i, const struct nfs_attr *attr, uint64_t *ret_tellings);

/*
 * A write(2) to the file is about to be answered: from then on the kernel believes no size and no times that it asked
 * for earlier (fs/fuse/file.c fuse_write_update_attr).
 */
void known_attributes_written(struct inode *i);

/* The file has another inode by now, by which it may be changed: nothing is believed of this one any more. */
void known_retired(struct inode *i);

/* Who may open the file is about to change. */
void known_openers_change(struct inode *i);

/*
 * The file of that name as lookupcache= allows it: 0, its inode with a reference, its attributes and
 * for how many seconds they may be believed; -ENOENT when there is none; -EAGAIN when the server must
 * be asked.
 */
int known_lookup(struct fs *fs, struct inode *dir, const char *name, const struct nfs_cred *cred, struct inode **ret,
	struct nfs_attr *ret_attr, double *ret_seconds);

/*
 * Whether it is time to ask whether a directory has an ACL, which is so once in an epoch, which is given back: many
 * names were found in it, or it changed while the kernel walks through it. Then the answer. One that a change of ours
 * has outdated is dropped, and asked for again after KNOWN_WALKS more names, when no change is on its way.
 */
bool known_asks_acl(struct fs *fs, struct inode *dir, uint64_t *ret_epoch);
void known_acl(struct fs *fs, struct inode *dir, bool has_acl, uint64_t epoch, uint64_t asked);

/* For how many seconds the kernel may believe a name of a file in the directory, or that there is none. */
double known_entry_seconds(struct fs *fs, struct inode *dir, struct inode *i);
double known_absence_seconds(struct fs *fs, struct inode *dir);

/*
 * The kernel will move a name from one directory to another, and believe it there as long as it would
 * have where it was. i: the file; NULL when it is not known.
 */
void known_moved(struct fs *fs, struct inode *i, struct inode *from, struct inode *to);

/* True if it is known whose the name is; *ret: NULL when it is nobody's, or a reference. */
bool known_owner(struct fs *fs, struct inode *dir, const char *name, struct inode **ret);

/* What a known name leads to, whoever asks; NULL or a reference. */
struct inode *known_file(struct fs *fs, struct inode *dir, const char *name);
