/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory in which names are changed: opened by its handle on the export's own mount, checked by the server's own
 * rule, with its attributes around the change.
 *
 * A value of the thread that has it; the descriptor is in the session's descriptor table.
 */
#pragma once

#include <sys/stat.h>

#include "setattr/names_open.h"
#include "sidecar/grant/grant.h"
#include "sidecar/names/alone.h"
#include "table/keyed_hash.h"

struct names_directory {
	int fd;                    /* O_PATH; -1: none */
	const struct location *at; /* the change's: its mount gets the descriptor back; or NULL */
	dev_t device;
	ino_t inode;
	bool noticed;  /* the client gets notices of the directory */
	bool exact;    /* the server's before is exact, so that the sidecar must not tell one without notices */
	uint64_t turn; /* the directory's number for alone.h, known before its inode */
	struct alone alone;
	bool begun; /* of alone */
	/* As they were read last, before the change. */
	struct broker_version version;
	mode_t mode;
	uid_t uid;
};

/* True for a text of at least one byte, then only NULs up to the end of its room. Others could be two texts. */
bool names_is_text(const char *text, size_t room);

/* True for a text that is a name one step down. The server knows what it answers to others. */
bool names_is_plain(const char *name, size_t room);

/*
 * True if the protocol knows all flags of the request. A change with a flag from the future is the server's, since the
 * flag may forbid what the sidecar would do.
 */
bool names_are_flags(uint32_t flags);

/*
 * Opens the directory at a place that lasts as long as *ret, of which this sets the first two members; with its
 * attributes.
 */
int names_directory_find(const struct location *at, struct names_directory *ret, struct statx *ret_stx);

/*
 * Opens the directory at g->at, in which the squashed credential may change names by the server's own rule; the kernel
 * judges later, also whether the mount and its filesystem are writable. The change begins: the attributes that the rule
 * has read are those before it. noticed: the client gets notices of the directory. A negative errno: the server
 * decides.
 */
int names_directory_open(const struct grant_context *g, const struct broker_cred *cred, bool noticed,
	struct names_directory *ret);
void names_directory_close(struct names_directory *d);

/* Reads the attributes before the change once more, after something else than the change has taken time. */
void names_directory_look(struct names_directory *d);

/* The directory's attributes before and after a change. Take a directory without descriptor. */
void names_directory_before(const struct names_directory *d, struct broker_wcc *ret);
void names_directory_after(struct names_directory *d, struct broker_wcc *ret);

/* True if the kernel lets the thread's present credentials change names here; false on what is read-only. */
bool names_directory_may_change(const struct names_directory *d);

/*
 * An O_RDONLY descriptor, which the caller owns, of the directory at g->at, whose names the squashed credential may
 * read by the server's own rule and by the kernel's; and that credential. A negative errno: only the server can tell.
 * flags: O_NOATIME, or 0.
 */
int names_directory_to_read(const struct grant_context *g, const struct broker_cred *asked, int flags,
	struct broker_cred *ret_cred);

/*
 * Reads the names by that descriptor, from the beginning, into a buffer of struct dirent64. The number of bytes; -E2BIG
 * if the room is too small for all names, or another negative errno. May wait for a disk.
 */
ssize_t names_directory_read(int fd, void *ret, size_t room);

/*
 * The same, but *ret is the digest of BROKER_DIGEST. 0 or a negative errno;
 * -E2BIG for more than BROKER_MAX_DIGEST names. May wait for a disk.
 */
int names_directory_digest(int fd, const struct hash_key *key, uint64_t *ret);

/* fsync(2), by which the names are stable. 0 or a negative errno. */
int names_directory_sync(const struct names_directory *d);
