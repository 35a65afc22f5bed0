/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFSv3 over TCP on libnfs's raw interface, as a transport.
 *
 * One connection and one loop thread, which alone touches libnfs (its contexts are not
 * thread-safe). Other threads hand calls over through a queue and an eventfd. The reconnect is
 * ours: libnfs's own has no backoff. A call that was on the wire when the connection broke is sent
 * again on the next one; JUKEBOX is retried after NFS3_JUKEBOX_MS (fs/nfs/nfs3proc.c
 * NFS_JUKEBOX_RETRY_TIME).
 *
 * nfs3_codec.h translates between struct nfs_call and libnfs's structures.
 */
#pragma once

#include "io/transport.h"

#define NFS3_PORT 2049
#define NFS3_JUKEBOX_MS 5000

struct nfs3_options {
	const char *server;  /* numeric address */
	unsigned port;       /* 0: NFS3_PORT */
	/* Called on the loop thread when the connection came or went. */
	void (*connection_changed)(void *arg, bool connected);
	void *arg;
};

/*
 * Starts the loop thread. Returns at once: calls wait until the server answers. The options'
 * strings are copied.
 */
int nfs3_new(const struct nfs3_options *options, struct transport **ret);

/* What MOUNT says, RFC 1813 appendix I. */
struct nfs3_export {
	struct nfs_fh root;
	bool auth_unix; /* AUTH_UNIX is among the export's flavours, or none are listed */
};

struct nfs3_mount_options {
	const char *server;      /* numeric address */
	const char *export_path;
	unsigned mount_port;     /* 0: ask the port mapper */
	unsigned timeout_ms;
};

/*
 * Asks the server's mountd for the export's root handle and, through the port mapper, for the NFS
 * port. Blocks, for start-up only. On failure the sentence says what the server answered.
 */
int nfs3_mount(const struct nfs3_mount_options *options, struct nfs3_export *ret, char *sentence,
	size_t size);

/* The NFSv3 port that the server's port mapper names; -ENOENT when it names none. Blocks. */
int nfs3_query_port(const char *server, unsigned timeout_ms, unsigned *ret);

/* Tells mountd that the export is not used any more; best effort, blocks up to the timeout. */
void nfs3_unmount(const struct nfs3_mount_options *options);
