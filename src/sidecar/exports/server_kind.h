/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The differences between the kinds of NFS server: the file with the exports, the layout of file handles, the squash of
 * credentials, the decision on access. One constant table of functions per kind (ganesha.c, knfsd.c); all other code is
 * common. Unless a function says otherwise, any thread may call it.
 */
#pragma once

#include "localiofs/broker_protocol.h"
#include "localiofs/nfs_access.h"
#include "localiofs/reason.h"
#include "sidecar/conf/conf_tree.h"
#include "sidecar/exports/export_table.h"
#include "sidecar/backing/filesystem_id.h"
#include "handle/nfs_handle.h"

/* The properties of a regular file or a directory that decide about access. */
struct access_file {
	int fd; /* O_PATH, for the kernel's permission check */
	mode_t mode;
	uint32_t uid, gid;
	bool append_only;
	bool read_only; /* the export's mount is read-only; knfsd's ACCESS looks at this, Ganesha's does not */
};

struct server_kind {
	const char *name;  /* --server= */
	const char *title; /* for people */
	const char *default_config;
	bool config_includes; /* the configuration may include other files */
	bool export_ids;      /* each export has an id of its own, and takes unset options from a block of defaults */

	/*
	 * A table with a reference for the caller; a negative errno with *error, "file:line: ..." if there is a line.
	 */
	int (*load)(const char *config, struct export_table **ret, struct conf_error *error);

	/* The server's TCP port, from its configuration while it does not run. */
	uint16_t (*port)(const struct export_table *t);
	/*
	 * 1 if the server reports that it serves now, 0 if it reports that it does not, -errno if it reports nothing.
	 */
	int (*serves)(void);
	/*
	 * For servers that look groups up instead of believing the caller: puts the groups that the server takes for
	 * cred->uid into cred. 1; 0 if these groups are unknown; -ENODATA if the server believes the caller's groups.
	 */
	int (*managed_groups)(struct broker_cred *cred);

	/*
	 * The name (comm) of the server's process, whose view of mounts decides where a name leads; NULL: the kernel
	 * serves, and leaves an exported filesystem only where the export has crossmnt.
	 */
	const char *process;

	/* The server makes changes of names stable before it answers. */
	bool syncs_names;
	/*
	 * A directory's attributes before a change and the change are one step for the server: the kernel's holds the
	 * directory's lock (fs/nfsd/nfsfh.c fh_fill_pre_attrs). The sidecar cannot. So it tells none then, unless the
	 * client gets notices of the directory, which tell of the changes that come between.
	 */
	bool exact_wcc;

	/* Takes a handle apart. REASON_NONE, or why the handle gets no grants. Pure. */
	enum reason (*decode)(const struct broker_fh *fh, struct nfs_handle *ret);
	/* Puts a handle together, as the server makes it for NFSv3. 0, or -EOVERFLOW. Pure. */
	int (*encode)(const struct nfs_handle *h, struct broker_fh *ret);
	/* True if the handle may be of this export; cheap, a first selection. */
	bool (*names)(const struct export_entry *e, const struct nfs_handle *h);
	/* True if the handle is of the export whose directory is id. c: the entry for the peer, or NULL. */
	bool (*owns)(const struct export_table *t, const struct export_client *c, const struct filesystem_id *id,
		const struct nfs_handle *h);

	/*
	 * Finds out which of the table's names mean the peer: one enum peer_verdict per name. May wait for name
	 * services.
	 */
	void (*know_names)(const struct export_table *t, const struct ip_address *peer, uint8_t *ret_verdicts);

	/*
	 * The options that the running server uses for the export's path and this peer: 1, and replaces them in *perms.
	 * 0 if the server does not show its options; then those of the configuration are valid.
	 */
	int (*terms)(const struct ip_address *peer, const char *path, struct export_perms *perms);
	/*
	 * The directory that the running server uses for the handle: 1 with the path, which the caller frees; 0;
	 * -ENOMEM.
	 */
	int (*path)(const struct ip_address *peer, const struct nfs_handle *h, char **ret);

	/* The credential that the server acts with. -EINVAL if the server refuses the call. Pure. */
	int (*squash)(const struct export_perms *perms, const struct broker_cred *wire, struct broker_cred *ret);

	/*
	 * enum nfs_access: the server's answer to ACCESS, for a squashed credential on a regular file; or a negative
	 * errno. May change the thread's credentials while it runs (thread_cred). export_writable: the export is not
	 * read-only. Of a directory READ and EXECUTE, its search, are as the server's READ and LOOKUP, or denied.
	 */
	int (*access)(const struct access_file *f, const struct broker_cred *cred, bool export_writable);
	/*
	 * True if the server's own rule allows the search of a directory, without the kernel's permission check, which
	 * the caller makes.
	 */
	bool (*may_search)(const struct access_file *f, const struct broker_cred *cred);
	/* The same for changes of the names in a directory. */
	bool (*may_change_names)(const struct access_file *f, const struct broker_cred *cred);
	/*
	 * True if the server's own rule for READ or WRITE allows the access, without the kernel's permission check. The
	 * owner is always allowed; the caller handles the owner.
	 */
	bool (*may_read)(const struct access_file *f, const struct broker_cred *cred);
	bool (*may_write)(const struct access_file *f, const struct broker_cred *cred);
};

/*
 * True if the table's server serves now. The answer is at most one second old; any thread may ask, under the function's
 * own mutex.
 */
bool server_kind_serves(const struct export_table *t);
