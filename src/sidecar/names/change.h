/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes of names and attributes. With the session's lock a change gets its request and the places of its handles. It
 * is prepared and made without the lock, since it may wait for ever: for the holder of a delegation, for a disk, or for
 * the lock of a directory, which any process that may read the directory can hold.
 *
 * LOOKUP and LIST change nothing, and take the same way, since they may wait for the lock of a directory, too.
 *
 * The kernel decides about all rights, for a thread with the squashed credential. Whatever the sidecar is not sure that
 * the server would do, it leaves to the server, with nothing changed: files with set-id bits, several kinds of
 * attributes at once, and all errors but those of names that exist or do not exist, for a caller who may change names
 * there. A file that exists is never opened.
 *
 * A change belongs to the thread that has it; its descriptors are in the session's descriptor table.
 */
#pragma once

#include "sidecar/names/directory.h"

struct name_change {
	uint32_t type; /* BROKER_MAKE, SYMLINK, REMOVE, RENAME, LINK, SETATTR; LOOKUP, LIST */
	union {
		struct broker_make make;
		struct broker_symlink symlink;
		struct broker_remove remove;
		struct broker_rename rename;
		struct broker_link link;
		struct broker_setattr setattr;
		struct broker_lookup lookup;
		struct broker_list list;
	} request;
	const struct server_kind *server;
	/*
	 * The place of the request's first handle, and of its second, in the same export and on the same mount. Of both
	 * the export's entry and the locator's slot are not valid any more.
	 */
	struct location at, at2;
	struct export_mount *mount; /* of both; the change has a reference */
	unsigned epoch;             /* the session's, in which the request was read */
	bool noticed, noticed2;     /* the client gets notices of what others change in the directories of at and at2 */
	bool stable;                /* makes names stable before the answer */
	bool may_lend;              /* REMOVE, RENAME: the session may have a descriptor of the file for c->kept */

	struct broker_cred cred;          /* after the squash */
	bool lacks_groups;                /* the request tells no groups, which may decide */
	struct names_directory dir, dir2; /* fd -1: none */
	/*
	 * O_PATH, or -1. LINK, SETATTR: the file; of SETATTR the session may give a duplicate of its own descriptor
	 * before the preparation. REMOVE, RENAME: what had the name. MAKE: the new regular file or directory, which can
	 * be read.
	 */
	int file;
	int kept; /* REMOVE, RENAME: the session's own descriptor of what has the name, lent to this change; or -1 */
	struct stat victim; /* REMOVE, RENAME: of the file, if it is not -1, before the change */
	struct statx new;   /* MAKE: of the new file */

	struct broker_changed changed; /* the reply */
	struct broker_made made;       /* the reply of MAKE and SYMLINK */
	struct broker_found found;     /* the reply of LOOKUP */
	struct broker_listed listed;   /* the reply of LIST */
	uint8_t *entries;              /* LIST: what follows the reply, entries_used bytes */
	size_t entries_used;
};

/* A change with a copy of its request, of length bytes; NULL without memory. Free with name_change_free(). */
struct name_change *name_change_new(uint32_t type, const struct server_kind *server, const void *request,
	size_t length);

/* Closes all descriptors, and gives the reference up. Takes NULL; returns NULL. May wait. */
struct name_change *name_change_free(struct name_change *c);

/*
 * Opens directories and files by their handles, by the rules of the server. False, with the reply filled in, if the
 * server decides. May wait.
 */
bool name_change_prepare(struct name_change *c);

/*
 * After the preparation: finds the file that a REMOVE or RENAME takes a name from. True with its handle if the file
 * will lose its last name, for which the change takes the session's descriptor in c->kept. May wait.
 */
bool name_change_victim(struct name_change *c, struct broker_fh *ret);

/* Makes the prepared change, and fills the reply. May wait. */
void name_change_run(struct name_change *c);

/*
 * Grants the regular file that MAKE has made as an OPEN would; g->at is the new file's place. A refusal leaves the file
 * made, and its open asks again. The caller owns the descriptors of *ret, and has the session's lock.
 */
void name_change_grant(struct name_change *c, const struct grant_context *g, struct grant *ret);

/*
 * Reads the attributes of a directory that MAKE has made once more, with their flags: after the session has begun to
 * watch the directory, so that each name is either seen here or noticed. Leaves them as they are without CAP_FOWNER.
 * May wait.
 */
void name_change_look_into(struct name_change *c);

/*
 * Which kinds of attributes (enum broker_set) a client may change by itself, as the squashed user, because the server
 * has no rules for them but the kernel's.
 */
uint32_t name_change_may_set(const struct grant_context *g);

/*
 * BROKER_SET_NAMES and BROKER_SET_MKDIR, if a client may change names of the directory by itself as the squashed user:
 * the owner, about whom neither groups nor an ACL have a say. Else 0.
 */
uint32_t name_change_may_name(const struct grant_context *g, const struct broker_attr *dir,
	const struct broker_cred *cred);

/* True if the reply is c->made. */
bool name_change_makes(const struct name_change *c);
/* The reply: c->made, c->found, c->listed or c->changed. */
const void *name_change_reply(const struct name_change *c);

/*
 * True if the change has taken a name away past a server that remembers names. Then the reply comes after the notices
 * of all changes that it may show: the client takes a directory whose mtime in the reply is the one that the server has
 * seen for one that nobody else has changed. A client that sets BROKER_CHANGE_LAZY does not wait for that.
 */
bool name_change_took(const struct name_change *c);

/* Fills the reply to a change that is not made. */
void name_change_refuse(struct name_change *c, int error, enum reason reason);
