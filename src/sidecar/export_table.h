/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The export table: what the NFS server exports, to whom, and under which squash.
 *
 * A table is built by one thread (ganesha_conf_load) and never changes afterwards: others share it
 * by reference count and need no lock. The export_store holds the current one and is the only place
 * where it is exchanged, under its own mutex, held for a pointer's copy.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/ip_address.h"

enum squash {
	SQUASH_NONE,    /* No_Root_Squash */
	SQUASH_ROOT,    /* Root_Squash: the server's default */
	SQUASH_ROOT_ID, /* Root_Id_Squash: the uid and gid only, the groups stay */
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
	uint32_t anon_uid, anon_gid;
};

struct export_client {
	bool any;
	struct ip_address network;
	unsigned prefix; /* of 128 */
	struct export_perms perms;
};

struct export_entry {
	uint16_t id;
	char *path; /* without a slash at its end, but for "/" */
	struct export_perms perms;
	struct export_client *clients; /* in the file's order: the first match counts */
	size_t nclients;
	/* Why it gets no grants although it is exported; NULL when it may. */
	char *refusal;
};

struct export_table {
	atomic_uint refs;
	struct export_entry *entries;
	size_t nentries;
	struct export_perms defaults; /* EXPORT_DEFAULTS over the server's own; everything set */
	uint16_t nfs_port;
	bool fsid_device; /* NFS_CORE_PARAM fsid_device: handles carry the device number */
};

struct export_table *export_table_new(void); /* one reference; NULL without memory */
struct export_table *export_table_ref(struct export_table *t);
struct export_table *export_table_unref(struct export_table *t);

void export_entry_done(struct export_entry *e);

const struct export_entry *export_table_find(const struct export_table *t, uint16_t id);

/* The options that hold for a peer (Ganesha: export_check_access). */
void export_table_perms(const struct export_table *t, const struct export_entry *e,
	const struct ip_address *peer, struct export_perms *ret);

/* Whether sessions that use export id can go on as if nothing had happened. */
bool export_table_same(const struct export_table *a, const struct export_table *b, uint16_t id);

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
