/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The grant for one OPEN. Two questions are separate: (a) the ACCESS bits that the NFS server grants the credential,
 * and (b) whether the rules allow a backing id, or a descriptor, for the file.
 *
 * Runs with the session's lock, and has no state of its own. locator_find() has already checked that the server serves
 * the export to this peer.
 */
#pragma once

#include <stdbool.h>

#include "localiofs/broker_protocol.h"
#include "sidecar/grant/locator.h"

struct grant_context {
	const struct server_kind *server;
	const struct location *at;
	bool may_register; /* false: the session is at its limit of ids */
	bool own_rights;   /* an id gives the rights of the request's credential only, not of all that AUTH_UNIX can say
			    */
	bool trusted;      /* the client may get a descriptor for writing */
	int fuse_fd;       /* the descriptor on which ids are registered; -1: the client has sent none */
};

struct statx;

/* The grant that belongs to a reply; the caller owns the descriptors. */
struct grant {
	int kept;      /* the O_RDONLY descriptor for COMMIT, SEEK and so on, opened before the id was made; or -1 */
	int given;     /* a descriptor for the client, or -1 */
	bool writable; /* the client may change the file by its id */
	struct broker_cred cred; /* the squashed credential of the opener, with which the id was made */
};

/* Fills *reply, with its error, and *ret. */
void grant_open(const struct grant_context *g, const struct broker_open *request, struct broker_open_reply *reply,
	struct grant *ret);

/*
 * The same for a regular file that this request has made on the export's own mount, so that the mount is writable: by
 * the descriptor that made it, without a search for its handle, which is in g->at. ret->cred is the squashed
 * credential, and reply->attr has the attributes of *stx. The descriptor, opened as EXPORT_MOUNT_READ, becomes
 * ret->kept where such a one is kept; *fd is -1 then. False, with nothing changed: the file must be judged by its
 * handle, because it has lost its name, or because the mount is noexec, which only the other mount of
 * export_mount_resolve() ignores.
 */
bool grant_made(const struct grant_context *g, int *fd, const struct statx *stx, uint32_t flags,
	struct broker_open_reply *reply, struct grant *ret);

/*
 * An O_PATH descriptor, which the caller owns, of the file that may be truncated with *ret_cred. A negative errno if
 * the credential may not write to the file, or if the server must truncate it: a file with set-id bits, for example.
 */
int grant_truncate(const struct grant_context *g, const struct broker_truncate *request, struct broker_cred *ret_cred);

/*
 * A descriptor, which the caller owns, of the directory for SYNC_DIR. A negative errno with a reason if the server does
 * not serve the credential, or no such directory exists; without a reason if the directory cannot be opened.
 */
int grant_directory(const struct grant_context *g, const struct broker_sync_dir *request, enum reason *ret_reason);

/*
 * The credential that the server would act with. -EACCES and a reason if the server refuses the call. *ret_lacks: the
 * request tells no groups, but they could change an answer about what the credential's uid does not own. The owner has
 * the rights of the owner alone (fs/namei.c acl_permission_check, fs/posix_acl.c posix_acl_permission).
 */
int grant_squash_untold(const struct grant_context *g, const struct broker_cred *asked, struct broker_cred *ret,
	bool *ret_lacks, enum reason *ret_reason);

/* The same for answers about anything: REASON_GROUPS if groups are missing. */
int grant_squash(const struct grant_context *g, const struct broker_cred *asked, struct broker_cred *ret,
	enum reason *ret_reason);

/* The attributes of an O_PATH descriptor, in the layout of the protocol. */
int grant_attributes(int fd, struct statx *ret_stx, struct broker_attr *ret);

/* The same of attributes that were read. */
void grant_tell_attributes(const struct statx *s, struct broker_attr *ret);
