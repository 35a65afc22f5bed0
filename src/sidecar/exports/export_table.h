/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The export table: what the NFS server exports, to whom, and under which squash.
 *
 * A table is built by one thread (a server_kind's load) and never changes afterwards: others share it
 * by reference count and need no lock. The export_store holds the current one and is the only place
 * where it is exchanged, under its own mutex, held for a pointer's copy.
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
	SQUASH_ROOT,    /* root_squash: either server's default */
	SQUASH_ROOT_ID, /* Ganesha's Root_Id_Squash: the uid and gid only, the groups stay */
	SQUASH_ALL,
};

/* What one layer says; what it does not say (set) comes from the next: client, export, defaults. */
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
	bool remembers; /* attributes and names, without asking the filesystem: Ganesha's Attr_Expiration_Time is not 0
			 */
	uint32_t anon_uid, anon_gid;
};

enum client_kind {
	CLIENT_ANY,
	CLIENT_NETWORK, /* or one address */
	/* By name; whom they mean is peer.h's to find out. */
	CLIENT_HOST,
	CLIENT_WILDCARD,
	CLIENT_NETGROUP,
	CLIENT_NOBODY, /* a principal: no AUTH_UNIX caller */
};

/* knfsd: what names the filesystem in handles instead of its own identity. */
enum export_fsid_kind {
	EXPORT_FSID_OWN,
	EXPORT_FSID_NUMBER,
	EXPORT_FSID_UUID
};

struct export_fsid {
	enum export_fsid_kind kind;
	uint32_t number;
	char uuid[40]; /* as it was written */
};

/* Why something gets no grants; text is NULL when it may. */
struct export_refusal {
	enum reason reason;
	char *text;
};

struct export_client {
	enum client_kind kind;
	struct ip_address network;
	unsigned prefix;   /* of 128 */
	char *name;        /* as it was written */
	size_t name_index; /* of those that go by name: export_table.names */
	struct export_perms perms;
	struct export_fsid fsid;
	bool crossmnt;    /* filesystems that are mounted below are exported, too, on the same terms */
	char *mountpoint; /* exported while this is one; "" is the export's path; NULL: always */
	struct export_refusal refusal;
};

struct export_entry {
	uint16_t id; /* Ganesha's; 0 with knfsd */
	char *path;  /* without a slash at its end, but for "/" */
	struct export_perms perms;
	struct export_client *clients; /* in the order of the server's search: the first match counts */
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
	struct export_perms defaults; /* EXPORT_DEFAULTS over the server's own; everything set */
	/* A client entry for each name that stands in any; the order is of no meaning. */
	const struct export_client **names;
	size_t nnames;
	uint16_t nfs_port; /* Ganesha's */
	char **folders;    /* of files that the table was made from, besides that of its first one */
	size_t nfolders;
	bool fsid_device; /* NFS_CORE_PARAM fsid_device: handles carry the device number */
};

/* One reference, everything denied by default; NULL without memory. */
struct export_table *export_table_new(const struct server_kind *server);
struct export_table *export_table_ref(struct export_table *t);
struct export_table *export_table_unref(struct export_table *t);

/* Takes the entry over, also on failure. */
int export_table_add(struct export_table *t, struct export_entry *e);
void export_entry_done(struct export_entry *e);
/* Takes the client over, also on failure. */
int export_entry_add_client(struct export_entry *e, struct export_client *c);

/* A further file, whose folder is to be watched. -ENOMEM. */
int export_table_add_source(struct export_table *t, const char *file);

/* The table is complete: whoever goes by name gets its name_index. -ENOMEM. */
int export_table_index_names(struct export_table *t);

/* The first reason is enough: a second one changes nothing. -ENOMEM. */
int PRINTF(3, 4) export_refuse(struct export_refusal *r, enum reason reason, const char *format, ...);

/*
 * The options that hold for a peer, every field set, and the client entry that says so (NULL: none
 * does, the defaults hold). REASON_NONE, or why the peer gets no grants.
 */
enum reason export_table_perms(const struct export_table *t, const struct export_entry *e, const struct peer *peer,
	struct export_perms *ret, const struct export_client **ret_client);

/* The entry of the same export in another table: same id, same path; or NULL. */
const struct export_entry *export_table_find(const struct export_table *t, uint16_t id, const char *path);

/* Whether sessions that use an export of a can go on with b as if nothing had happened. */
bool export_table_same(const struct export_table *a, const struct export_entry *e, const struct export_table *b);

const char *squash_name(enum squash s);

struct export_store {
	pthread_mutex_t lock;
	struct export_table *current;
};

void export_store_init(struct export_store *s);
void export_store_done(struct export_store *s);
/* A reference of the caller's. */
struct export_table *export_store_get(struct export_store *s);
/* Takes over the caller's reference. */
void export_store_replace(struct export_store *s, struct export_table *t);
