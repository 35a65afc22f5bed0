/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The answer to one OPEN: attributes, the ACCESS bits that the NFS server would grant, and a backing
 * id where the rules allow one (design: two questions, not one).
 *
 * Runs on the session's thread. The caller has checked that the export is this peer's and served.
 */
#pragma once

#include <stdbool.h>

#include "localiofs/broker_protocol.h"
#include "sidecar/grant/locator.h"

struct grant_context {
	const struct server_kind *server;
	const struct location *at;
	bool may_register; /* false: the session has all the ids it may have */
	bool trusted;      /* a descriptor for writing may be sent */
	int fuse_fd;       /* -1: the client has none to register ids on */
};

/* What comes with an answer; the descriptors are the caller's. */
struct grant {
	int kept;      /* the O_RDONLY descriptor that was opened before the id was made, which COMMIT fsyncs; or -1 */
	int given;     /* a descriptor for the client, or -1: then kept is for SEEK and such */
	bool writable; /* what is kept may be changed */
	struct broker_cred cred; /* the opener after the squash, with whose credential the id was made */
};

/* Fills *reply, its error included, and *ret. */
void grant_open(const struct grant_context *g, const struct broker_open *request, struct broker_open_reply *reply,
	struct grant *ret);

/*
 * The file, O_PATH and the caller's, that may be truncated with *ret_cred. A negative errno where the credential may
 * not write to it, or the server must do it: set-id bits go by who writes.
 */
int grant_truncate(const struct grant_context *g, const struct broker_truncate *request, struct broker_cred *ret_cred);

/*
 * The directory, opened and the caller's, that is to be synced. A negative errno with a reason where the server does
 * not serve the credential, or there is no such directory; without one where it cannot be opened.
 */
int grant_directory(const struct grant_context *g, const struct broker_sync_dir *request, enum reason *ret_reason);

/* The attributes of an O_PATH descriptor, as they go over the wire. */
struct statx;
int grant_attributes(int fd, struct statx *ret_stx, struct broker_attr *ret);
