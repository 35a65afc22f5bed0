/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The shortcut: a struct server in front of the NFS server's, which asks the sidecar first. LOOKUP, GETATTR, ACCESS for
 * reading and searching, READDIR and READDIRPLUS from the beginning, and the changes of names and attributes (change.h)
 * take it during a session, one call at a time; all other calls go to the NFS server, and so does each call that the
 * sidecar does not answer. The layers above see one server.
 *
 * Names take the shortcut only while the session has proved that both give files the same handles: the first names that
 * the NFS server has answered are asked for at the sidecar, too, and SHORTCUT_PROOFS equal answers are the proof.
 *
 * A question that the sidecar has not answered within SHORTCUT_PATIENCE_MS goes to the NFS server, and no call takes
 * the shortcut until the sidecar has answered one. The same is true for OPEN of a file after SHORTCUT_OPEN_PATIENCE_MS:
 * such an open is remote until the file is closed, so it is worth a longer wait; and what the sidecar opens too late is
 * given back. So a sidecar that is stopped, or that waits for a filesystem, delays a process once. A change that was
 * sent waits on, because the sidecar may still do it; and so do fsync and the close of a file that was written locally,
 * which may take long for the disk's sake.
 *
 * done() of a call runs on the probe's thread, or on that of the NFS server. struct shortcut belongs to the mount; its
 * lock guards the questions under way.
 */
#pragma once

#include "fuse/fs/fs.h"
#include "localiofs/reason.h"

#define SHORTCUT_PROOFS           3
#define SHORTCUT_PATIENCE_MS      2000
#define SHORTCUT_OPEN_PATIENCE_MS 10000

struct shortcut;

/*
 * CREATE through the sidecar: the wishes of the file's opener for the backing file, and the sidecar's reply, as to
 * BROKER_OPEN in that session. ACCESS of a directory: the same, with no wish but BROKER_OPEN_WANT_LOOK. Belongs to the
 * opener, who sets wants. Plain value.
 */
struct opening {
	uint32_t wants;   /* BROKER_OPEN_WANT_ flags */
	uint64_t session; /* 0: there is no reply */
	struct broker_open_reply reply;
	int fd; /* the descriptor that came with the reply, or -1 */
};

/* Gives up the id or descriptor of a reply that was not used. */
void opening_drop(struct fs *fs, struct opening *o);

/* Takes nfs over. fs->probe is set before the first session, and may be NULL. -ENOMEM, and nfs stays the caller's. */
int shortcut_new(struct fs *fs, struct server *nfs, struct shortcut **ret);

/* The server that the mount uses; server_free() frees the shortcut with the NFS server's. */
struct server *shortcut_server(struct shortcut *s);

/* The NFS server itself, for the probe, which compares its answers with the sidecar's. */
struct server *shortcut_nfs(struct shortcut *s);

/*
 * Asks the sidecar on behalf of a handler, not of a call: by BROKER_OPEN for a file that is opened, and for attributes
 * of a directory, or by BROKER_DIGEST. call: the handler's, with done(), which gets the reply, or -ENOTCONN, -ETIMEDOUT
 * or -ENOMEM without one, perhaps before this function returns. Any thread.
 */
void shortcut_open(struct shortcut *s, struct broker_call *call, const struct broker_open *body);
void shortcut_look(struct shortcut *s, struct broker_call *call, const struct broker_open *body);
void shortcut_digest(struct shortcut *s, struct broker_call *call, const struct broker_digest *body);

/*
 * Gives questions that wait too long to the NFS server, and ends changes whose callers were killed. On the probe's
 * thread, as probe_options.housekeep, whose result it returns.
 */
int shortcut_housekeep(struct shortcut *s);

/* A session has ended: the NFS server looks at all that the sidecar has changed. Any thread. */
void shortcut_session_ended(struct shortcut *s);

/* The NFS server has answered a request's call: part of the proof. Any thread. */
void shortcut_learn(struct shortcut *s, const struct nfs_call *answered);

/*
 * True if an answer of the NFS server may have attributes of the file from before a change by the sidecar (memory.h).
 * asked: attr_clock() when the call was made. Any thread.
 */
bool shortcut_is_behind(struct shortcut *s, const struct nfs_fh *fh, uint64_t asked);

/*
 * Data of the file was changed past a server that remembers: the server looks at the file soon (memory.h). Any thread.
 */
void shortcut_written(struct shortcut *s, const struct nfs_fh *fh);

/*
 * True if so many files wait for the server's look, or so many looks have failed, that writers should wait. Any thread.
 */
bool shortcut_is_full(struct shortcut *s);

/*
 * The sidecar finds no file with this handle, or other names in this directory than the server has told. A server that
 * remembers may not know yet: it looks before it answers the next call about the file. Any thread.
 */
void shortcut_found_other(struct shortcut *s, const struct nfs_fh *fh);

/* REASON_NONE if names take the shortcut now, or the reason why not. */
enum reason shortcut_reason(struct shortcut *s);

/* A session begins: its sidecar may answer, whatever the last one did. On the probe's thread. */
void shortcut_new_session(struct shortcut *s);

/* A user's wish: names that take no shortcut because of other mounts are tried again at once. */
void shortcut_try_again(struct shortcut *s);
