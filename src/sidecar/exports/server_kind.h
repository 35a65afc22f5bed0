/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What differs between the NFS servers that the sidecar stands beside: where the exports are
 * written, what the handles look like, how credentials are squashed, who decides about access.
 * Constant tables of functions, one a server (ganesha.c, knfsd.c); everything else is common.
 */
#pragma once

#include "localiofs/broker_protocol.h"
#include "localiofs/nfs_access.h"
#include "localiofs/reason.h"
#include "sidecar/conf/conf_tree.h"
#include "sidecar/exports/export_table.h"
#include "sidecar/backing/filesystem_id.h"
#include "sidecar/backing/nfs_handle.h"

/* A regular file, as far as access to it is concerned. */
struct access_file {
	int fd; /* O_PATH, for the kernel's answer */
	mode_t mode;
	uint32_t uid, gid;
	bool append_only;
	bool read_only; /* the export's mount; Ganesha's ACCESS does not look at that, knfsd's does */
};

struct server_kind {
	const char *name;  /* --server= */
	const char *title; /* for people */
	const char *default_config;
	bool config_includes; /* the configuration may consist of other files of its folder, too */
	bool export_ids;      /* each export has an id of its own, and takes unset options from a block of defaults */

	/* The caller's reference; a negative errno with *error, "file:line: ..." where there is a line. */
	int (*load)(const char *config, struct export_table **ret, struct conf_error *error);

	/* The TCP port that it listens on, or would. */
	uint16_t (*port)(const struct export_table *t);
	/* 1 when it says itself that it serves now, 0 when not, -errno when it says nothing. */
	int (*serves)(void);
	/*
	 * Where it knows callers' groups itself and does not believe theirs: puts those of cred->uid, which it
	 * would take now, into cred. 1; 0 when nobody can tell which; -ENODATA when it believes its callers.
	 */
	int (*managed_groups)(struct broker_cred *cred);

	/* REASON_NONE, or why a handle gets no grants. Pure. */
	enum reason (*decode)(const struct broker_fh *fh, struct nfs_handle *ret);
	/* Whether the handle may be of this export at all; cheap. */
	bool (*names)(const struct export_entry *e, const struct nfs_handle *h);
	/* ... and is, the export's directory being id. c: the entry for the peer, or NULL. */
	bool (*owns)(const struct export_table *t, const struct export_client *c, const struct filesystem_id *id,
		const struct nfs_handle *h);

	/* Whom the table's names mean: an enum peer_verdict each. May wait for name services. */
	void (*know_names)(const struct export_table *t, const struct ip_address *peer, uint8_t *ret_verdicts);

	/*
	 * What the running server goes by, where it can be seen: 1 with those of *perms replaced that it has for
	 * the export's path and this peer, 0 when nobody can tell but the configuration.
	 */
	int (*terms)(const struct ip_address *peer, const char *path, struct export_perms *perms);
	/* The same for where the handle's files are: 1 with the path, to be freed; 0; -ENOMEM. */
	int (*path)(const struct ip_address *peer, const struct nfs_handle *h, char **ret);

	/* The credential that the server acts with. -EINVAL: it refuses the call. Pure. */
	int (*squash)(const struct export_perms *perms, const struct broker_cred *wire, struct broker_cred *ret);

	/*
	 * ACCESS bits for a squashed credential on a regular file, or a negative errno. May run with
	 * other credentials in between (thread_cred). export_writable: the export is not read-only.
	 */
	int (*access)(const struct access_file *f, const struct broker_cred *cred, bool export_writable);
	/*
	 * What READ and WRITE check on top of the kernel's own permission: the server's rule alone. The
	 * owner may always, which the caller knows.
	 */
	bool (*may_read)(const struct access_file *f, const struct broker_cred *cred);
	bool (*may_write)(const struct access_file *f, const struct broker_cred *cred);
};

/* True if the table's server serves now. The answer is at most one second old; any thread may ask, under the function's
 * own mutex. */
bool server_kind_serves(const struct export_table *t);
