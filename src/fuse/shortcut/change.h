/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes of names and attributes through the sidecar: CREATE, MKDIR, MKNOD, SYMLINK, REMOVE, RMDIR, RENAME, LINK, and
 * SETATTR without a size. Each is done once:
 *
 *	change_message.c  a call as a message to the sidecar, and the reply as the call's result
 *	change.c          the way: once sent, a change waits for its reply or for the end of the connection
 *	by_daemon.c       changes that the daemon itself makes, where it may (fuse/setter/)
 *	doubt.c           the end of the connection came before the reply: the change may have been made, or not
 *	sight.c           the NFS server's other clients must see the change before it is answered
 *
 * A change that was not sent, and a change that the sidecar leaves to the server, goes on to the NFS server. A caller
 * who is killed gets -EINTR, as from the NFS server, and the reply is dropped when it comes.
 *
 * struct changes belongs to the shortcut. Any thread starts changes; they end on the probe's thread, on that of the NFS
 * server, or on the setter's. The lock guards the list of the changes under way, and whether each still has its call.
 */
#pragma once

#include "fuse/memory/memory.h"
#include "fuse/setter/setter.h"

/* ---- change_message.c: pure functions ---- */

struct change_message {
	uint32_t type;
	size_t length;
	union {
		struct broker_make make;
		struct broker_symlink symlink;
		struct broker_remove remove;
		struct broker_rename rename;
		struct broker_link link;
		struct broker_setattr setattr;
	} body;
};

/* True if changes may be answered before they are stable (BROKER_CHANGE_LAZY). */
bool change_is_lazy(const struct fs *fs);

/* False if the call is no change, or one that has no message: the NFS server must answer it. */
bool change_message(const struct fs *fs, const struct nfs_call *call, struct change_message *ret);

/* The results of the call, from a reply with reason 0. */
void change_take_made(const struct fs *fs, const struct broker_made *made, struct nfs_call *call);
void change_take_changed(const struct fs *fs, const struct broker_changed *changed, struct nfs_call *call);

/* ---- doubt.c ---- */

/*
 * Finds out by the NFS server whether a change was made, and repeats it there if not. Handles are compared, never names
 * alone:
 *
 *	REMOVE, RMDIR   made, unless the name is still the child's
 *	RENAME          made if the new name is the child's; -ENOENT if neither name is
 *	LINK            made if the name is the file's
 *	SETATTR         is repeated, because it sets the same values again
 *	CREATE, MKDIR, SYMLINK, MKNOD
 *	                are repeated GUARDED, and -EEXIST is the answer if the name exists: nothing proves that the
 *	                present file is this call's. For CREATE without O_EXCL that makes a plain open of it.
 *
 * The server has looked before at the directories that the caller has put behind (memory.h).
 */
struct doubt {
	struct memory *memory;
	struct nfs_call *call;
	struct nfs_fh child; /* REMOVE, RMDIR, RENAME: the file that had the name when the change was sent */
	/* The call is about to be done, or to be submitted to the NFS server: the owner may free the doubt. */
	void (*ended)(struct doubt *d);
	struct nfs_call step; /* the doubt's own, the question under way */
};

/* The caller has filled in all members but step. */
void doubt_begin(struct doubt *d);

/* Submits a call to the NFS server. */
static inline void to_server(struct memory *memory, struct nfs_call *call)
{
	if (call->groups_untold)
		call->tell_groups(call);
	call->by_sidecar = false;
	memory_submit(memory, call, call->proc == NFS_CREATE ? server_create : server_submit);
}

/* ---- change.c ---- */

struct changes {
	struct fs *fs;
	struct memory *memory;
	pthread_mutex_t lock;
	struct list under_way;
	atomic_bool stalled;           /* the sidecar has not answered for too long */
	atomic_uint_fast64_t heard_ms; /* now_ms() of its last answer */
	/* On the probe's thread: the directory of the last change by the sidecar, and until when by_daemon.c asks for
	   no directory. */
	struct nfs_fh last;
	uint64_t no_asking_ms;
};

/* A change on its way. Freed by its end. */
struct change {
	struct broker_call broker;
	struct setter_job job;
	bool by_setter;   /* the setter has the job, and may end the change at any moment; the lock guards this */
	struct list node; /* of changes.under_way */
	struct changes *changes;
	struct nfs_call *call; /* NULL: given up */
	struct doubt doubt;
	enum nfs_proc proc; /* of the call, as the next two */
	struct nfs_cred cred;
	struct nfs_fh fh, fh2; /* fh2.len 0: it has none */
	uint64_t generation;   /* of the session */
	uint64_t born;         /* fs.born before the daemon made the change */
	uint64_t since;        /* now_ms() */
	uint64_t asked_ms;     /* now_ms() when the caller was last asked */
};

/* The change does not wait any more. Takes its call; NULL if that was given up. */
struct nfs_call *change_take_call(struct change *c);

/* The inode that the directory is known to have under this name, with a reference; NULL if that is not known. */
struct inode *change_known_inode(struct fs *fs, const struct nfs_fh *dir, const char *name);

/* Sends the change to the sidecar, or first the question for its child, if that is not known. The reply ends it. */
void change_begin(struct change *c, const struct change_message *m, const struct broker_lookup *child);

void changes_init(struct changes *cs, struct fs *fs, struct memory *memory);
void changes_done(struct changes *cs);

/* The sidecar has answered a question. */
void changes_heard(struct changes *cs);

/* The reason of the answer to a question by this uid, or REASON_NONE. generation: of the question's session. */
void changes_refused(struct changes *cs, uint64_t generation, uint32_t uid, uint32_t reason);

/* True if the sidecar will answer the call, or hand it on to the NFS server. generation: of the session. */
bool changes_take(struct changes *cs, struct nfs_call *call, uint64_t generation);

/* True if a change of the directory has no reply yet. */
bool changes_are_under_way(struct changes *cs, const struct nfs_fh *dir);

/* On the probe's thread, about once a second: ends the calls of killed callers. True while changes are under way. */
bool changes_housekeep(struct changes *cs);

/* ---- by_daemon.c ---- */

/*
 * True if the daemon makes the change, which may have ended by then. SETATTR of one kind of attributes; MKDIR, RMDIR,
 * and RENAME inside one directory; REMOVE, too, unless the server remembers: the sidecar alone can prove that no
 * process has the file open. Names only in a directory with notices, of which the daemon knows what it had before.
 */
bool change_by_daemon(struct change *c, const struct change_message *m);

/*
 * The sidecar has made the change: after the second one in a row in one directory, asks for a descriptor by which the
 * daemon makes further ones. call: the change's, which is done later. On the probe's thread.
 */
void change_ask_directory(const struct change *c, const struct nfs_call *call);

/* ---- sight.c ---- */

/*
 * Answers a REMOVE, RMDIR or RENAME of the child that the sidecar has made, when the server has looked at the
 * directories and its other clients find the names as they are now (memory.h). mtimes: of call->fh and call->fh2 after
 * the change; 0 if that is not known. False without memory, and the call is not answered.
 *
 * The names are asked for by LOOKUP, unless this mount is alone in the directory: the sidecar's notices tell of no
 * foreign change, and the server's look told the mtime that the change has left. Notices of what others have changed
 * before that mtime was read have come before the sidecar's reply.
 */
bool sight_begin(struct changes *cs, struct nfs_call *call, const struct nfs_fh *child,
	const struct timespec mtimes[2]);

/* memory.touch: touches a directory by the sidecar, unless a change there is under way. True if the touch is sent. */
bool sight_touch(void *changes, const struct nfs_fh *dir, const struct nfs_cred *taker);
