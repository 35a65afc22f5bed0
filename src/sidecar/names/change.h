/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * REMOVE, RENAME, LINK and SETATTR, and the sync of names for all changes. The session's thread prepares a change:
 * finds directories and files by their handles, and squashes the credential. A worker makes the change, since it may
 * wait for the holder of a delegation or for a disk.
 *
 * The kernel decides about all rights, for a thread with the squashed credential. Whatever the sidecar is not sure that
 * the server would do, it leaves to the server, with nothing changed: files with set-id bits, several kinds of
 * attributes at once, and all errors but those of names that exist or do not exist, for a caller who may change names
 * there.
 *
 * A change belongs to the thread that has it; its descriptors are in the session's descriptor table.
 */
#pragma once

#include "sidecar/names/directory.h"

struct name_change {
	uint32_t type; /* BROKER_REMOVE, RENAME, LINK, SETATTR; or MAKE, SYMLINK: made, and to be synced */
	union {
		struct broker_remove remove;
		struct broker_rename rename;
		struct broker_link link;
		struct broker_setattr setattr;
	} request;
	struct broker_cred cred;          /* after the squash */
	struct names_directory dir, dir2; /* fd -1: none */
	int file;                 /* O_PATH, or -1. LINK, SETATTR: the file. REMOVE, RENAME: what had the name */
	struct stat victim;       /* REMOVE, RENAME: of the file, if it is not -1, before the change */
	bool may;                 /* the caller may take the victim's name */
	struct nfs_handle handle; /* REMOVE, RENAME: of the directory */
	const struct server_kind *server; /* REMOVE, RENAME, LINK */
	bool stable;                      /* makes names stable before the answer */
	struct broker_changed changed;    /* the reply */
	struct broker_made made;          /* the reply of MAKE and SYMLINK */
	int given;                        /* MAKE: the descriptor that goes with the reply; or -1 */
	int kept; /* REMOVE, RENAME: the session's own descriptor of what has the name, lent to this change; or -1 */
};

/* An empty change; NULL without memory. Free with name_change_free(). */
struct name_change *name_change_new(uint32_t type, bool stable);

/* Closes all descriptors. Takes NULL; returns NULL. */
struct name_change *name_change_free(struct name_change *c);

/* Prepare a change, on the session's thread. A negative errno: the server decides. */
int name_change_remove(struct name_change *c, const struct grant_context *g, const struct broker_remove *request);
/* g2: of dir2, in the same export and on the same mount. */
int name_change_rename(struct name_change *c, const struct grant_context *g, const struct grant_context *g2,
	const struct broker_rename *request);
/* g2: of the file, in the same export and on the same mount. */
int name_change_link(struct name_change *c, const struct grant_context *g, const struct grant_context *g2,
	const struct broker_link *request);
int name_change_setattr(struct name_change *c, const struct grant_context *g, const struct broker_setattr *request);

/*
 * The handle of a prepared REMOVE's or RENAME's file that will lose its last name, for which the change takes the
 * session's descriptor in c->kept. False if it needs none.
 */
bool name_change_victim(const struct name_change *c, struct broker_fh *ret);

/* Makes the change, and fills the reply. May wait. */
void name_change_run(struct name_change *c);

/* Fills the reply to a change that is not made. */
void name_change_refuse(struct name_change *c, int error, enum reason reason);
