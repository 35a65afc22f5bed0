/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes of names and attributes. A change is prepared with the session's lock: directories and files are found by
 * their handles, and the credential is squashed. It is made without the lock, since it may wait for ever: for the
 * holder of a delegation, for a disk, or for the lock of a directory, which any process that may read the directory can
 * hold.
 *
 * make.c has MAKE and SYMLINK, change.c all others. A LOOKUP (lookup.c) changes nothing, and takes the same way, since
 * it may wait for the lock of a directory, too.
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
	uint32_t type; /* BROKER_MAKE, SYMLINK, REMOVE, RENAME, LINK, SETATTR; LOOKUP */
	union {
		struct broker_make make;
		struct broker_symlink symlink;
		struct broker_remove remove;
		struct broker_rename rename;
		struct broker_link link;
		struct broker_setattr setattr;
		struct broker_lookup lookup;
	} request;
	struct broker_cred cred;          /* after the squash */
	struct names_directory dir, dir2; /* fd -1: none */
	/* O_PATH, or -1. LINK, SETATTR: the file; of SETATTR it may be a duplicate of the session's descriptor. REMOVE,
	 * RENAME: what had the name. MAKE: the new regular file, which can be read. */
	int file;
	struct stat victim; /* REMOVE, RENAME: of the file, if it is not -1, before the change */
	struct statx new;   /* MAKE: of the new regular file */
	/* REMOVE, RENAME: of a file that the session may have a descriptor of; NULL: it has none. Only to be compared.
	 */
	const struct export_mount *mount;
	unsigned epoch;           /* the session's, in which the change was prepared */
	struct nfs_handle handle; /* of the directory */
	const struct server_kind *server;
	bool stable;                   /* makes names stable before the answer */
	bool now;                      /* is made as soon as it is prepared */
	struct broker_changed changed; /* the reply */
	struct broker_made made;       /* the reply of MAKE and SYMLINK */
	struct broker_found found;     /* the reply of LOOKUP */
	int kept; /* REMOVE, RENAME: the session's own descriptor of what has the name, lent to this change; or -1 */
};

/* An empty change; NULL without memory. Free with name_change_free(). */
struct name_change *name_change_new(uint32_t type, bool stable, bool now);

/* Closes all descriptors. Takes NULL; returns NULL. */
struct name_change *name_change_free(struct name_change *c);

/* Prepare a change, with the session's lock. A negative errno: the server decides. */
int name_change_make(struct name_change *c, const struct grant_context *g, const struct broker_make *request);
int name_change_symlink(struct name_change *c, const struct grant_context *g, const struct broker_symlink *request);
int name_change_lookup(struct name_change *c, const struct grant_context *g, const struct broker_lookup *request);
int name_change_remove(struct name_change *c, const struct grant_context *g, const struct broker_remove *request);
/* g2: of dir2, in the same export and on the same mount. */
int name_change_rename(struct name_change *c, const struct grant_context *g, const struct grant_context *g2,
	const struct broker_rename *request);
/* g2: of the file, in the same export and on the same mount. */
int name_change_link(struct name_change *c, const struct grant_context *g, const struct grant_context *g2,
	const struct broker_link *request);
int name_change_setattr(struct name_change *c, const struct grant_context *g, const struct broker_setattr *request);

/*
 * Before name_change_run(): finds the file that a REMOVE or RENAME takes a name from. True with its handle if the file
 * will lose its last name, for which the change takes the session's descriptor in c->kept. May wait.
 */
bool name_change_victim(struct name_change *c, struct broker_fh *ret);

/* Makes the change, and fills the reply. May wait. */
void name_change_run(struct name_change *c);

/* True if the reply is c->made. */
bool name_change_makes(const struct name_change *c);
/* The reply: c->made, c->found or c->changed. */
const void *name_change_reply(const struct name_change *c);

/*
 * True if the change has taken a name away past a server that remembers names. Then the reply comes after the notices
 * of all changes that it may show: the client takes a directory whose mtime in the reply is the one that the server has
 * seen for one that nobody else has changed. A client that sets BROKER_CHANGE_LAZY does not wait for that.
 */
bool name_change_took(const struct name_change *c);

/* Fills the reply to a change that is not made. */
void name_change_refuse(struct name_change *c, int error, enum reason reason);
