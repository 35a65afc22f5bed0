/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFSv3 over TCP on libnfs's raw interface, as a struct server.
 *
 * One loop thread serves up to SERVER_CONNECTIONS_MAX connections and alone touches
 * them and libnfs (its contexts are not thread-safe); other
 * threads hand calls over through a queue and an eventfd. A call goes to the connection that has the
 * fewest, and stays there (io/connection.h). The first connection leads: while none is up, it alone
 * tries to reach the server, with backoff, going through the addresses of the server's name.
 *
 * Timeouts are nfs(5)'s for TCP: an answer that is not there after timeo is asked for again, with
 * the same bytes, then after timeo more each time; after timeo * (retrans + 1) a soft mount fails
 * the call, and a hard one says so once. If nothing at all was answered by then, the connection is
 * made anew. JUKEBOX is retried after NFS3_JUKEBOX_MS (fs/nfs/nfs3proc.c
 * NFS_JUKEBOX_RETRY_TIME).
 *
 * nfs3_codec.h translates between struct nfs_call and libnfs's structures.
 */
#pragma once

#include "io/server.h"

#define NFS3_PORT           2049
#define NFS3_JUKEBOX_MS     5000
#define NFS3_TIMEOUT_MAX_MS 600000 /* NFS_MAX_TCP_TIMEOUT */

struct nfs3_options {
	const char *host;    /* the server's name, to be resolved again; NULL: it stays where it is */
	const char *address; /* numeric, the first to try */
	unsigned port;       /* 0: NFS3_PORT */
	int family;          /* of the name's other addresses: AF_UNSPEC for any */
	unsigned nconnect;   /* connections; 0: one */
	bool reserved_port;  /* come from ports below 1024 where that is allowed */
	int soft;            /* 0: hard; otherwise the negative errno of a call that took too long */
	unsigned timeo_ms;   /* 0: 60 s */
	unsigned retrans;
	/* On the loop thread: the first connection came up, or the last one was lost. */
	void (*connection_changed)(void *arg, bool connected);
	/* On the loop thread: the server does not know this handle (any more). NULL: nobody asks. */
	void (*stale)(void *arg, const struct nfs_fh *fh);
	void *arg;
};

/*
 * Starts the loop thread. Returns at once: calls wait until the server answers. The options'
 * strings are copied.
 */
int nfs3_new(const struct nfs3_options *options, struct server **ret);

/* A sentence for server_stats.last_error. */
const char *nfs3_why_away(int error);

/* What MOUNT says, RFC 1813 appendix I. */
struct nfs3_export {
	struct nfs_fh root;
	bool auth_unix; /* AUTH_UNIX is among the export's flavours, or none are listed */
};

struct nfs3_mount_options {
	const char *server; /* numeric address */
	const char *export_path;
	unsigned mount_port; /* 0: ask the port mapper */
	unsigned timeout_ms;
};

/*
 * Asks the server's mountd for the export's root handle and, through the port mapper, for the NFS
 * port. Blocks, for start-up only. On failure the sentence says what the server answered: -EACCES,
 * -ENOENT, -ENOTDIR, -ENAMETOOLONG and -EPROTO are its last word, others may pass.
 */
int nfs3_mount(const struct nfs3_mount_options *options, struct nfs3_export *ret, char *sentence, size_t size);

/* The NFSv3 port that the server's port mapper names; -ENOENT when it names none. Blocks. */
int nfs3_query_port(const char *server, unsigned timeout_ms, unsigned *ret);

/* Tells mountd that the export is not used any more; best effort, blocks up to the timeout. */
void nfs3_unmount(const struct nfs3_mount_options *options);
