/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Knowledge that needs no question to the server: the attributes of files, the names that a directory has or lacks, and
 * the users who may search a directory.
 *
 * A directory's attributes say how long its names and rights stay valid. Names and rights belong to an epoch of the
 * directory. An epoch ends when attributes arrive that differ from the remembered ones, or when the attributes become
 * doubtful. A change by this mount itself ends no epoch if the server's answer says that the directory's attributes
 * right before the change were the remembered ones (weak cache consistency, RFC 1813 2.6; fs/nfs/inode.c
 * nfs_wcc_update_inode).
 *
 * An answer is outdated if this mount changed the file after the question was sent: the answer may show the file from
 * before the change. attr_clock() detects that, as it advances whenever a change is answered. An outdated answer goes
 * to the caller who asked, and is not remembered.
 *
 * The kernel sends a LOOKUP with the caller's credential for each step of each path, and the daemon answers from this
 * knowledge. But in a directory that everybody may search the kernel is told a timeout, during which it need not ask.
 * Everybody may search a directory if its mode has search permission for all three classes and the server said that the
 * directory has no ACL. When that ends, the kernel forgets all names (FUSE_NOTIFY_INC_EPOCH, Linux 6.16; with an older
 * kernel the timeout is always 0) before the request that changed it, or that learned of the change, is answered. The
 * kernel is told to forget only in that case, because with the names all files lose their pages, and mounts below this
 * mount are detached.
 *
 * In a mount that only one user may use (fs.one_user), the kernel is also told a timeout in a directory that belongs to
 * that user, who was allowed to search it in this epoch: no other user's process can walk through it, and neither ACLs
 * nor groups say anything about an owner. In a mount for all users a private directory gets no timeout. The kernel lets
 * everybody walk through names that it believes, also who has got a descriptor of a directory in a private tree, and
 * nothing tells the daemon that another user comes.
 *
 * The kernel must forget all names because it cannot forget some of them in time: it holds the lock of a directory
 * whose mode is being changed, or into which a file is being moved, until the daemon has answered.
 *
 * The users who may open a file are remembered apart from its attributes, because each write changes the attributes. An
 * entry is valid for acregmin, and until this mount changes the file's mode, owner or ACL, or learns of such a change.
 * After acregmin an open for reading still goes by it, if a descriptor shows that the file's ctime has not changed:
 * mode, owner and ACL have not either. Not so for writing and executing: a mount that becomes read-only or noexec
 * changes no file.
 *
 * Groups and ACLs say nothing about root, who reads and writes every file, nor about the owner, who has the owner's
 * bits of the mode and no others (fs/namei.c acl_permission_check(), rights_ganesha.c). So an answer to them
 * (opener.by_mode) stays right as long as a descriptor shows the same bits and the same owner, through changes of the
 * group's bits, of the group and of the ACL: tar(1) and cp(1) set the mode of each file that they have made, and the
 * first open after that need not ask either. grep -r over 1000 such files takes 40 ms in place of 67.
 *
 * A hot open is an open that needs no question about permission: the inode has a backing id or a descriptor, and the
 * sidecar's answer to an earlier open with the same credential is still valid (struct opener). The open asks the
 * sidecar only for the file's present attributes (BROKER_OPEN_ATTR), because close-to-open is a promise about names,
 * too. With a descriptor or with nocto the open asks nothing: a daemon that the sidecar trusts gets a descriptor for
 * that with the backing id (a looker, granted_file.h), which makes a hot open as fast as one that nobody checks: open,
 * read and close take 11 us on one CPU. The descriptor also answers the GETATTR that the kernel sends for fstat(2)
 * after each read of such a file. If the attributes show another mode or owner than the sidecar's answer to the earlier
 * open, the sidecar is asked again; another ACL is seen when the answer expires. With nocto the kernel is told the
 * attributes with the timeout 0: the next GETATTR asks the sidecar, as long as the file has an id. If the sidecar said
 * that groups do not matter (opener.any_groups), a hot open for reading does not read the caller's groups from /proc,
 * which saves a quarter of its cost. If a READ of such an open goes to the server after all, the daemon looks up the
 * groups of the reading process.
 *
 * With the sidecar's notices (lease.h), the names and rights of a watched directory need no question until a notice
 * comes: the kernel is told KNOWN_WATCHED_MS. The attributes keep the timeouts of the options, since notices do not
 * tell of size and times. A directory is watched from an answer of the sidecar that says so, through this mount's own
 * changes, until a notice of a foreign change, or until attributes arrive that the sidecar has not told. So the first
 * lookup of an epoch asks the sidecar also for a name that a listing by the server has told. A foreign change makes the
 * kernel forget the names of all directories, and with them files that nobody has open, so in a directory that others
 * have changed more than KNOWN_CALM times within KNOWN_UNREST_MS the kernel is told no names: then further changes
 * there take nothing back.
 *
 * ESTALE makes all knowledge doubtful at once, because the kernel walks the path again only once, does not tell FUSE
 * that it does, and each step of the path may lead to another file.
 *
 * struct known (fuse/node/inode.h) is part of the inode. The inode's lock guards it, and the functions take that lock
 * unless their comment says that the caller holds it. Any thread may call the functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fuse/node/inode.h"

#define KNOWN_NAMES      131072
#define KNOWN_UNREST_MS  1000 /* so long after too many changes by others the kernel asks for a directory's names */
#define KNOWN_CALM       3    /* so many changes by others within that time are not too many */
#define KNOWN_MADE       4096 /* names of a directory that is known whole; up to 64 KiB */
#define KNOWN_OWN        4096 /* names that this mount has changed */
#define KNOWN_OWN_MS     5000 /* after so long a notice is not of that change any more: it comes within milliseconds */
#define KNOWN_COMPANY_MS 2000 /* for so long a noticed change by others may be under way in the NFS server */
#define KNOWN_WATCHED_MS 600000 /* for so long the kernel may believe names of a directory of which notices come */
#define KNOWN_RIGHTS     65536
#define KNOWN_SETTLED_S  3 /* a change that comes so long after another has a ctime of its own on each filesystem */
#define KNOWN_NEW_FILE_S 0.1
#define KNOWN_WALKS      32 /* after so many lookups in a directory the question for its ACL is worth its cost */

struct fs;

/*
 * Remembers attributes that have arrived. asked: attr_clock() when the request was sent. Returns for how many seconds
 * the kernel may believe the attributes; 0 if this mount has changed the file since. known_attributes_watched():
 * watched is true if notices of the inode's changes come, from before the server looked at it (struct nfs_call).
 */
unsigned known_attributes(struct fs *fs, struct inode *i, const struct nfs_attr *attr, uint64_t asked);
unsigned known_attributes_watched(struct fs *fs, struct inode *i, const struct nfs_attr *attr, uint64_t asked,
	bool watched);

/*
 * The file is new, and its maker, who may be the only one who knows it, has it open: returns for how many seconds the
 * kernel may believe its attributes, since stdio, cp(1) and others ask for them right after the open. The kernel itself
 * asks again after each write, and a file without data cannot be written to by a mapping. Not for longer, because the
 * kernel might get the answer after a notification to forget the attributes (request_tell_attributes()).
 */
double known_new_file_seconds(const struct fs *fs, struct inode *i);

/* Makes doubtful all that is known of the inode, and the answers to all questions sent until now. */
void known_doubt(struct inode *i);

/*
 * The server does not know a handle any more, so any name on the path may belong to another file. All knowledge becomes
 * doubtful: the kernel walks the path again once, and each step asks the server.
 */
void known_stale(struct fs *fs);

/*
 * The options that say for how long answers are believed have changed: the daemon and the kernel ask for everything
 * again. A kernel without FUSE_NOTIFY_INC_EPOCH believes names until their old time ends. Holds the lock of the inode
 * table for about a microsecond per inode.
 */
void known_begin_anew(struct fs *fs);

/* True if the inode's attributes may be believed: a lookup found the inode, or could have, without the server. */
bool known_believed(struct fs *fs, struct inode *i);

/*
 * True if attributes may be older than the inode's state, or than attributes that the kernel was told since. asked:
 * attr_clock() when they were requested. came_ms: now_ms() when they arrived.
 */
bool known_later(struct inode *i, uint64_t asked, uint64_t came_ms);

/* True if the remembered attributes have this size and these times. */
bool known_is_version(struct inode *i, const struct nfs_attr *attr);

/* True if the remembered attributes have a later ctime than these. */
bool known_newer(struct inode *i, const struct nfs_attr *attr);

/* An open for writing begins (step 1) or ends (step -1). The caller holds the inode's lock. */
void known_writer(struct inode *i, int step);

/*
 * A request that changes the inode begins, and is answered. wcc: the directory's attributes before and after the
 * change, from the server's answer; NULL if the inode is no directory. True if the remembered names of the directory
 * are still valid, except for the names that the request changed. *ret_asked: the time (attr_clock()) to give for the
 * attributes in the answer, as if they had been requested then.
 */
void known_change_begin(struct inode *i);
bool known_change_end(struct fs *fs, struct inode *i, const struct nfs_wcc *wcc, uint64_t asked, uint64_t *ret_asked);

/*
 * The same for a SETATTR of a directory that the sidecar has answered. attr: the directory's attributes after it. A
 * watched directory stays watched, and one that is known whole stays so: notices tell of the names that others make.
 * The epoch ends, and with it the knowledge that the directory has no ACL: if another client has set one right before,
 * the notice of that comes with the attributes of now, and looks like a notice of this change.
 */
void known_set_end(struct fs *fs, struct inode *dir, const struct nfs_attr *attr, uint64_t asked, uint64_t *ret_asked);

/*
 * Which change a notice tells of. This mount's own changes come back as notices, too. known_own_name() remembers what
 * the kernel itself has made of a name: the file with this handle, or nothing (NULL).
 */
struct known_notice {
	const char *name; /* in the directory; NULL: any name */
	bool has_state;   /* what the name is now is known */
	struct nfs_fh fh; /* its file; length 0: the directory has no such name */
	bool has_version;
	struct nfs_attr version; /* size, mtime and ctime of the inode when the notice was sent */
};

enum known_noticed {
	NOTICED_OWN,    /* the kernel and the daemon have that state already */
	NOTICED_LATER,  /* a change by this mount is under way: ask again when it is answered */
	NOTICED_CHANGE, /* a foreign change, which is in doubt now; the kernel believes no name in the directory */
	NOTICED_FORGET, /* the same, and the kernel must forget its names */
};

void known_own_name(struct fs *fs, const struct inode *dir, const char *name, const struct nfs_fh *fh);

/* Every notice of the name is news from now on, whatever this mount has made of the name before. */
void known_name_is_noticed(struct fs *fs, const struct inode *dir, const char *name);

/*
 * A name in the directory, or the attributes of the inode have changed. overdue: LATER is no answer. The kernel forgets
 * the attributes if need be; does not wait.
 */
enum known_noticed known_notice_name(struct fs *fs, struct inode *dir, const struct known_notice *n, bool overdue);
enum known_noticed known_notice_attributes(struct fs *fs, struct inode *i, const struct known_notice *n, bool overdue);

/* Do others change the names of a directory, too? */
enum known_company {
	COMPANY_NONE,    /* notices, which come for KNOWN_COMPANY_MS or since the directory was made, told of none */
	COMPANY_SOME,    /* notices told of others within KNOWN_COMPANY_MS */
	COMPANY_UNKNOWN, /* no notices come, or not for that long */
};

enum known_company known_company(struct fs *fs, const struct nfs_fh *dir);

/* Makes the kernel forget all names (FUSE_NOTIFY_INC_EPOCH): takes no lock in the kernel and does not wait. */
void known_make_kernel_forget(struct fs *fs);

/* A file with several names lost or got a name: the remembered attributes of such files are outdated (link count). */
void known_links_changed(struct fs *fs);

/*
 * Remembers that the name in the directory is the file's with this handle; fh NULL: that the directory has no such
 * name. asked: attr_clock() when the request was sent; the directory's attributes came with its answer. If this mount
 * has changed the directory since, the name is forgotten instead.
 */
void known_name(struct fs *fs, struct inode *dir, const char *name, const struct nfs_fh *fh, uint64_t asked);
void known_name_forget(struct fs *fs, struct inode *dir, const char *name);

/*
 * The same for a name from READDIRPLUS. epoch: known_epoch() right after the attributes of the listed directory
 * arrived. False if that epoch has ended or the answer is outdated; then the name is not remembered.
 */
bool known_name_listed(struct fs *fs, struct inode *dir, uint64_t epoch, const char *name, const struct nfs_fh *fh,
	uint64_t asked);
uint64_t known_epoch(struct inode *dir);

/*
 * known_state() tells the state of a directory: a number, never 0, that grows with each epoch and with each change by
 * this mount. known_is_state(): True if the directory is still in that state, no change by this mount is under way, and
 * notices of others' changes come, which alone known_has_notices() tells.
 */
uint64_t known_state(struct inode *dir);
bool known_has_notices(struct fs *fs, struct inode *dir);
bool known_is_state(struct fs *fs, struct inode *dir, uint64_t state);

/*
 * The kernel is told that a name is the file's (named.h). ctime: the file's ctime, which came from the server with the
 * name; NULL if the name was remembered.
 */
void known_named(struct fs *fs, struct inode *i, struct inode *dir, const char *name, const struct timespec *ctime);

/*
 * The verdict (named.h) on the names that may have led the open to the file. now: the file's present attributes.
 * *ret_dir: the directory to ask about after NAMED_ASK_DIRECTORY.
 */
enum named_verdict known_judge_name(struct fs *fs, struct inode *i, const struct nfs_attr *now, struct nfs_fh *ret_dir);

/*
 * now: the directory's present attributes. ctime: that of the file, read before them. True if both prove that all names
 * that the kernel believes are still the file's.
 */
bool known_directory_is(struct fs *fs, struct inode *i, const struct nfs_fh *dir, const struct nfs_attr *now,
	const struct timespec *ctime);

/* A file may have lost a name in that directory: the next lookup in the directory asks the server. */
void known_name_lost(struct fs *fs, const struct nfs_fh *dir);

/* Takes the lock. True if the names and rights of the directory may be believed; *ret is its epoch in both cases. */
bool known_current_epoch(const struct fs *fs, struct inode *dir, uint64_t *ret);

/*
 * True if the supplementary groups of the caller may decide whether the caller has these rights on the directory, of
 * S_IROTH and S_IXOTH. They do not if the credential is the owner's, or if the rights of group and others are the same
 * and no ACL has more to say: with no rights in the mode for either, an ACL has none but the owner's. They may also
 * take rights away: in a directory of mode 0701 the members of its group may not search. now: the directory's
 * attributes; NULL: the remembered ones.
 */
bool known_groups_matter(struct fs *fs, struct inode *dir, const struct nfs_attr *now, const struct nfs_cred *cred,
	mode_t rights);

/* Remembers that the credential has the allowed ACCESS bits. asked: attr_clock() when the request was sent. */
void known_rights(struct fs *fs, struct inode *dir, const struct nfs_cred *cred, uint32_t allowed, uint64_t asked);

/* True if the credential is known to have all these rights. */
bool known_allowed(struct fs *fs, struct inode *dir, const struct nfs_cred *cred, uint32_t bits);

/* The sidecar's answer to an open: the rights that the server would grant this credential. */
struct opener {
	uint32_t access;         /* ACCESS bits */
	bool root;               /* the server treats the credential as root */
	bool by_mode;            /* as root or as the owner, and opens look at the file: the mode alone decides */
	bool any_groups;         /* the answer is the same for any groups with this uid and gid */
	uint64_t session;        /* probe_generation() of the session that answered */
	uint32_t mode, uid, gid; /* the file's when the sidecar answered */
	struct timespec ctime;   /* the same; 0 if a later change could have the same ctime (KNOWN_SETTLED_S) */
	bool expired;            /* after acregmin; set by known_may_open() */
};

/*
 * Remembers the sidecar's answer for the credential. asked: attr_clock() when the question was sent. o->ctime is the
 * file's in the answer.
 */
void known_opener(struct fs *fs, struct inode *i, const struct nfs_cred *cred, const struct opener *o, uint64_t asked);

/*
 * True if an answer for the credential is remembered, and valid or expired; *ret is the answer. has_groups: the
 * credential includes the caller's groups; without them only an answer with any_groups counts.
 */
bool known_may_open(struct fs *fs, struct inode *i, const struct nfs_cred *cred, bool has_groups, struct opener *ret);

/*
 * The remembered size and times of the file may be old, while its names and its owner are still right. True if the
 * kernel may believe attributes that it was told: then the caller invalidates them in the kernel, and afterwards passes
 * *ret_tellings to known_attributes_taken_back(), which takes back all attributes that the kernel was told until this
 * call.
 */
bool known_attributes_expire(struct inode *i, uint64_t *ret_tellings);
void known_attributes_taken_back(struct inode *i, uint64_t tellings);

/*
 * True if the kernel may show attributes other than attr, the file's present ones, without asking the daemon. The
 * kernel keeps the first of two answers that cross (fs/fuse/inode.c fuse_change_attributes_i). So after the daemon has
 * told attributes that differ from the attributes that the kernel believes, the daemon does not know which of them the
 * kernel kept, until it takes all of them back. *ret_tellings is for known_attributes_taken_back().
 */
bool known_kernel_may_differ(struct inode *i, const struct nfs_attr *attr, uint64_t *ret_tellings);

/*
 * Close-to-open: attr has the file's present attributes. If the kernel may show others, puts all that is known of the
 * file in doubt, and makes the kernel ask for size and times before it uses them again. Does not wait.
 */
void known_compare(struct fs *fs, struct inode *i, const struct nfs_attr *attr);

/* An open does not look at the file (nocto): size and times may be old, so makes the kernel ask. Does not wait. */
void known_version_expires(struct fs *fs, struct inode *i);

/*
 * A write(2) to the file is about to be answered: the answer makes the kernel drop the size and the times that it
 * believes (fs/fuse/file.c fuse_write_update_attr).
 */
void known_attributes_written(struct inode *i);

/* The inode is retired: the file may change through its new inode, so the kernel gets no timeout for this one again. */
void known_retired(struct inode *i);

/*
 * server: the attributes of a file with a backing id, as the server tells them with its name. A server that remembers
 * attributes may tell those from before a local change. True if the kernel may be told the remembered attributes again,
 * for the rest of their time: they may be believed, and the server's are the same or older. *ret and *ret_seconds are
 * for the answer.
 */
bool known_tell_again(struct fs *fs, struct inode *i, const struct nfs_attr *server, struct nfs_attr *ret,
	double *ret_seconds);

/*
 * The set of users who may open the file is about to change: all answers remembered for it are forgotten, but for those
 * by the mode alone.
 */
void known_openers_change(struct inode *i);

/*
 * Looks a name up in the remembered names, as far as lookupcache= allows. 0: the file's inode with a reference, its
 * attributes, and for how many seconds the kernel may believe them. -ENOENT: the directory has no such name. -EAGAIN:
 * the server must be asked; if *ret is not NULL, only for the attributes of this inode, of which it is a reference.
 */
int known_lookup(struct fs *fs, struct inode *dir, const char *name, const struct nfs_cred *cred, struct inode **ret,
	struct nfs_attr *ret_attr, double *ret_seconds);

/*
 * known_asks_acl(): True if the server should be asked now whether a directory has an ACL. That is the case once per
 * epoch: after KNOWN_WALKS lookups in the directory, or when the directory changed while the kernel may walk through it
 * without asking and there is no lease with a sidecar, which is asked first. *ret_epoch: the epoch. known_acl() gets
 * the answer. An outdated answer is dropped, and the question is asked again after KNOWN_WALKS more lookups, when no
 * change is in progress.
 */
bool known_asks_acl(struct fs *fs, struct inode *dir, uint64_t *ret_epoch);
void known_acl(struct fs *fs, struct inode *dir, bool has_acl, uint64_t epoch, uint64_t asked);

/*
 * known_wants_no_acl(): True if the sidecar should be asked with a LOOKUP whether the directory has an ACL.
 * known_no_acl(): it has none. attr: its attributes in the same answer, which known_attributes() has got; an ACL that
 * was set since has changed the ctime. asked: attr_clock() when the question was sent.
 */
bool known_wants_no_acl(struct fs *fs, struct inode *dir);
void known_no_acl(struct inode *dir, const struct nfs_attr *attr, uint64_t asked);

/*
 * A file, but no directory, has no ACL by the server's answer, with these attributes: that holds for as long as the
 * attributes stay the same and are believed. No file is remembered that was changed less than KNOWN_SETTLED_S ago.
 */
void known_no_file_acl(struct inode *i, const struct nfs_attr *attr, uint64_t asked);
bool known_has_no_file_acl(struct fs *fs, struct inode *i);

/*
 * A directory that this mount has made is known whole, as far as the sidecar has found it empty: it has no names but
 * those that known_may_have() was told before they were made. That ends with the directory's epoch, after KNOWN_MADE
 * names, and with a name that somebody else has made; and nobody relies on it while the directory is not watched.
 * mkdir: the answered call; known_attributes() has got its attributes. If this daemon itself has made the directory, it
 * is watched without an answer that says so (lease.h).
 */
void known_new_directory(struct fs *fs, struct inode *dir, const struct nfs_call *mkdir, uint64_t asked);
void known_may_have(struct inode *dir, const char *name);

/*
 * For how many seconds the kernel may believe that a name in the directory is this file's, and that the directory has
 * no such name.
 */
double known_entry_seconds(struct fs *fs, struct inode *dir, struct inode *i);
double known_absence_seconds(struct fs *fs, struct inode *dir);

/*
 * The server has answered a RENAME to another directory: the kernel will move the name, and go on to believe it for the
 * timeout that the name had in the old directory. Makes the kernel forget all names if that is too long. i: the file;
 * NULL if it is not known.
 */
void known_moved(struct fs *fs, struct inode *i, struct inode *from, struct inode *to);

/*
 * True if the name is remembered and may be believed. *ret: a reference to the name's file; NULL if the directory has
 * no such name.
 */
bool known_owner(struct fs *fs, struct inode *dir, const char *name, struct inode **ret);

/* The file of a remembered name, with a reference, or NULL. Looks at neither the rights of a caller nor timeouts. */
struct inode *known_file(struct fs *fs, struct inode *dir, const char *name);
