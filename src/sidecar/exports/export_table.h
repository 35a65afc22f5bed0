/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The export table: the NFS server's exports, their clients, and the options for each client.
 *
 * One thread builds a table (server_kind.load). Afterwards the table never changes: threads share it by reference
 * count, without a lock. The export_store has the current table; its mutex guards the exchange, for the time of a
 * pointer's copy.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "localiofs/reason.h"
#include "net/ip_address.h"
#include "base/util.h"

enum squash {
	SQUASH_NONE,    /* no_root_squash */
	SQUASH_ROOT,    /* root_squash: the default of both servers */
	SQUASH_ROOT_ID, /* Ganesha's Root_Id_Squash: changes uid and gid, keeps the groups */
	SQUASH_ALL,
};

/* The options that a layer sets. The layers are client, export, defaults; the next layer gives the options not set. */
enum export_perms_set {
	PERMS_SQUASH = 1 << 0,
	PERMS_ACCESS = 1 << 1,
	PERMS_SECTYPE = 1 << 2,
	PERMS_PROTOCOLS = 1 << 3,
	PERMS_TRANSPORTS = 1 << 4,
	PERMS_ANON_UID = 1 << 5,
	PERMS_ANON_GID = 1 << 6,
	PERMS_PRIVILEGED_PORT = 1 << 7,
	PERMS_MANAGE_GIDS = 1 << 8,
	PERMS_REMEMBERS = 1 << 9,
};

struct export_perms {
	uint32_t set; /* enum export_perms_set */
	enum squash squash;
	bool read, write; /* of data: Access_Type */
	bool sec_sys;
	bool nfs3;
	bool tcp;
	bool privileged_port;
	bool manage_gids;
	bool remembers; /* the server caches attributes and names: Ganesha's Attr_Expiration_Time is not 0 */
	uint32_t anon_uid, anon_gid;
};

enum client_kind {
	CLIENT_ANY,
	CLIENT_NETWORK, /* or a single address */
	/* by name: peer.h finds out which hosts the entry means */
	CLIENT_HOST,
	CLIENT_WILDCARD,
	CLIENT_NETGROUP,
	CLIENT_NOBODY, /* a GSS principal, which no AUTH_UNIX caller is */
};

/* knfsd: the option fsid=, which replaces the filesystem's own identity in handles. */
enum export_fsid_kind {
	EXPORT_FSID_OWN,
	EXPORT_FSID_NUMBER,
	EXPORT_FSID_UUID
};

struct export_fsid {
	enum export_fsid_kind kind;
	uint32_t number;
	char uuid[40]; /* as in the file */
};

/* Why an export or a client gets no grants; text is NULL if it may get grants. */
struct export_refusal {
	enum reason reason;
	char *text;
};

struct export_client {
	enum client_kind kind;
	struct ip_address network;
	unsigned prefix;   /* of 128 */
	char *name;        /* as in the file */
	size_t name_index; /* in export_table.names; for the kinds by name only */
	struct export_perms perms;
	struct export_fsid fsid;
	bool crossmnt;    /* filesystems that are mounted below the path are exported with the same options */
	char *mountpoint; /* exported only while this path is a mount point; "": the export's path; NULL: always */
	struct export_refusal refusal;
};

struct export_entry {
	uint16_t id; /* Ganesha's Export_Id; 0 with knfsd */
	char *path;  /* without a slash at the end, except "/" */
	struct export_perms perms;
	struct export_client *clients; /* in the order of the server's search: the first match decides */
	size_t nclients;
	struct export_refusal refusal;
};

struct server_kind;
struct peer;

struct export_table {
	atomic_uint refs;
	const struct server_kind *server;
	struct export_entry *entries;
	size_t nentries;
	struct export_perms defaults; /* EXPORT_DEFAULTS, then the server's own defaults; every option is set */
	/* One client entry per name that occurs in the table, in any order. */
	const struct export_client **names;
	size_t nnames;
	uint16_t nfs_port; /* Ganesha's port */
	char **folders;    /* the folders of all included files */
	size_t nfolders;
	bool fsid_device; /* NFS_CORE_PARAM fsid_device: handles have the device number */
};

/* An empty table with one reference, whose defaults deny all access; NULL without memory. */
struct export_table *export_table_new(const struct server_kind *server);
struct export_table *export_table_ref(struct export_table *t);
struct export_table *export_table_unref(struct export_table *t);

/* Takes the entry over, also on failure. */
int export_table_add(struct export_table *t, struct export_entry *e);
void export_entry_done(struct export_entry *e);
/* Takes the client over, also on failure. */
int export_entry_add_client(struct export_entry *e, struct export_client *c);

/* Adds the folder of an included file to the folders. 0 or -ENOMEM. */
int export_table_add_source(struct export_table *t, const char *file);

/* Call when the table is complete: gives the clients by name their name_index. 0 or -ENOMEM. */
int export_table_index_names(struct export_table *t);

/* Sets the refusal, unless there is a refusal already. 0 or -ENOMEM. */
int PRINTF(3, 4) export_refuse(struct export_refusal *r, enum reason reason, const char *format, ...);

/*
 * The options of an export for a peer, with every option set, and the client entry that decides (NULL: no entry means
 * the peer, and the export's options decide). REASON_NONE, or why the peer gets no grants.
 */
enum reason export_table_perms(const struct export_table *t, const struct export_entry *e, const struct peer *peer,
	struct export_perms *ret, const struct export_client **ret_client);

/* The entry with this id and path, or NULL. */
const struct export_entry *export_table_find(const struct export_table *t, uint16_t id, const char *path);

/* True if the export e of table a is the same in table b, so that sessions may keep their grants. */
bool export_table_same(const struct export_table *a, const struct export_entry *e, const struct export_table *b);

/* True if the tables have the same exports in the same order; false also of two empty tables. */
bool export_tables_equal(const struct export_table *a, const struct export_table *b);

const char *squash_name(enum squash s);

struct export_store {
	pthread_mutex_t lock;
	struct export_table *current;
};

void export_store_init(struct export_store *s);
void export_store_done(struct export_store *s);
/* The current table, with a reference for the caller. */
struct export_table *export_store_get(struct export_store *s);
/* Makes t the current table, and takes over the caller's reference. */
void export_store_replace(struct export_store *s, struct export_table *t);
