/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/grant/locator.h"

#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "mount/mountinfo.h"
#include "sidecar/host/nfs_server.h"
#include "sidecar/host/server_view.h"

#define FIRST_FREE_PORT  1024 /* lower ports are reserved for root: the option secure */
#define CONNECTED_FOR_MS 1000
#define SAID_FOR_MS      1000
#define CHECKED_FOR_MS   1000

int locator_init(struct locator *l, struct export_table *table)
{
	*l = (struct locator){.lock = PTHREAD_MUTEX_INITIALIZER,
		.table = table,
		.mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC),
		.used = calloc(table->nentries + 1, sizeof(bool))};
	if (l->used != NULL)
		return 0;
	close_fdp(&l->mounts_fd);
	l->table = export_table_unref(table);
	return -ENOMEM;
}

void locator_done(struct locator *l)
{
	locator_drop_mounts(l);
	free(l->used);
	peer_done(&l->peer);
	close_fdp(&l->mounts_fd);
	(void)export_table_unref(l->table);
}

int locator_set_peer(struct locator *l, const struct ip_address *address, uint16_t port)
{
	l->peer.address = *address;
	l->peer.port = port;
	return peer_learn(&l->peer, l->table);
}

static void drop_slot(struct locator *l, unsigned i)
{
	struct locator_slot old = l->slots[i];

	{
		LOCKED(&l->lock);
		l->slots[i] = l->slots[--l->nslots];
	}
	(void)export_mount_unref(old.mount);
	free(old.path);
}

void locator_drop_mounts(struct locator *l)
{
	while (l->nslots > 0)
		drop_slot(l, l->nslots - 1);
}

/* REASON_NONE if options let the peer use the export. */
static enum reason judge(const struct locator *l, const struct export_perms *p)
{
	if (!p->read || !p->sec_sys || !p->nfs3 || !p->tcp || (p->privileged_port && l->peer.port >= FIRST_FREE_PORT))
		return REASON_CLIENT_DENIED;
	return p->manage_gids ? REASON_EXPORT_OPTIONS : REASON_NONE;
}

/* The options of an export for the peer. REASON_NONE, or why the peer gets no grants. */
static enum reason authorise(const struct locator *l, const struct export_entry *e, struct export_perms *ret,
	const struct export_client **ret_client)
{
	enum reason reason = export_table_perms(l->table, e, &l->peer, ret, ret_client);

	return reason != REASON_NONE ? reason : judge(l, ret);
}

/*
 * Replaces *perms by the running server's options, if the server shows them. REASON_NONE, or why the peer gets no
 * grants.
 */
static enum reason follow_server(const struct locator *l, struct locator_slot *slot, struct export_perms *perms)
{
	uint64_t now = work_ms();

	if (slot->asked_ms == 0 || time_since(slot->asked_ms, now) >= SAID_FOR_MS) {
		slot->asked_ms = now;
		slot->said = *perms;
		slot->says = l->table->server->terms(&l->peer.address, slot->path, &slot->said) > 0;
	}
	if (!slot->says)
		return REASON_NONE;
	*perms = slot->said;
	return judge(l, perms);
}

static bool same_fsid(const struct nfs_handle *a, const struct nfs_handle *b)
{
	return a->export_id == b->export_id && a->fsid_type == b->fsid_type && a->fsid_length == b->fsid_length &&
	       memcmp(a->fsid, b->fsid, a->fsid_length) == 0;
}

/* An export that owns the handle. */
struct candidate {
	const struct export_entry *entry;
	const struct export_client *client; /* NULL: no client entry means the peer */
	struct export_perms perms;
	enum reason reason; /* why the peer gets no grants; or REASON_NONE */
	char *path;         /* the directory of the handle's filesystem; allocated */
	bool said;          /* the running server uses this path (server_kind.path) */
};

static bool identify(const char *path, struct filesystem_id *ret)
{
	_cleanup_close_ int fd = export_mount_open_directory(path, O_RDONLY);

	return fd >= 0 && filesystem_id_read(fd, ret) >= 0;
}

static bool is_mount_point(const char *path)
{
	struct filesystem_id id;

	return identify(path, &id) && id.mount_root;
}

static bool owns_at(const struct locator *l, const struct nfs_handle *h, const struct candidate *c, const char *path)
{
	struct filesystem_id id;

	return identify(path, &id) && l->table->server->owns(l->table, c->client, &id, h);
}

static bool is_below(const char *path, const char *top)
{
	size_t length = strcmp(top, "/") == 0 ? 0 : strlen(top);

	return strncmp(path, top, length) == 0 && path[length] == '/' && path[length + 1] != '\0';
}

struct mount_search {
	const struct locator *locator;
	const struct nfs_handle *handle;
	struct candidate *candidate;
};

/* True for types of filesystem whose lookup neither mounts another filesystem nor waits for another host or process. */
static bool is_harmless(const char *type)
{
	static const char *const others[] = {"autofs", "nfs", "cifs", "smb", "ceph", "afs", "9p", "fuse", "proc",
		"sysfs"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strncmp(type, others[i], strlen(others[i])) == 0)
			return false;
	return true;
}

static int try_mount(const struct mountinfo *m, void *arg)
{
	struct mount_search *s = arg;
	struct candidate *c = s->candidate;

	if (!is_harmless(m->type) || !is_below(m->target, c->entry->path) ||
		!owns_at(s->locator, s->handle, c, m->target))
		return 0;
	c->path = strdup(m->target);
	return c->path != NULL ? 1 : -ENOMEM;
}

/* match_fsid() of nfs-utils: 1 with the path, 0 if the handle is not of this export; -ENOMEM. */
static int find_path(const struct locator *l, const struct nfs_handle *h, struct candidate *c)
{
	struct mount_search s = {.locator = l, .handle = h, .candidate = c};
	const char *mountpoint = c->client != NULL ? c->client->mountpoint : NULL;

	if (mountpoint != NULL && !is_mount_point(mountpoint[0] != '\0' ? mountpoint : c->entry->path))
		return 0;
	if (owns_at(l, h, c, c->entry->path)) {
		c->path = strdup(c->entry->path);
		return c->path != NULL ? 1 : -ENOMEM;
	}
	/* fsid=UUID names the export's own filesystem, none that is mounted below. */
	if (c->client == NULL || !c->client->crossmnt || c->client->fsid.kind == EXPORT_FSID_UUID)
		return 0;
	return mountinfo_each(try_mount, &s);
}

static bool same_terms(const struct candidate *a, const struct candidate *b)
{
	return a->reason == b->reason && a->perms.squash == b->perms.squash && a->perms.write == b->perms.write &&
	       a->perms.anon_uid == b->perms.anon_uid && a->perms.anon_gid == b->perms.anon_gid;
}

/* subexport() of nfs-utils */
static bool is_subexport(const struct candidate *a, const struct candidate *b)
{
	return b->client != NULL && b->client->crossmnt && is_below(a->entry->path, b->entry->path);
}

/* Keeps the better of two candidates in *best, and frees the other. */
static void choose(struct candidate *best, struct candidate *c)
{
	if (best->entry == NULL || c->said || (!best->said && is_subexport(c, best))) {
		free(best->path);
		*best = *c;
		return;
	}
	/* The server's choice of one of two equal candidates depends on its earlier requests. */
	if (!best->said && !is_subexport(best, c) && !same_terms(best, c))
		best->reason = REASON_EXPORT_OPTIONS;
	free(c->path);
}

/* Searches all exports: nfsd_handle_fh() of nfs-utils. The caller frees ret->path. */
static enum reason search(const struct locator *l, const struct nfs_handle *h, struct candidate *ret)
{
	enum reason reason = REASON_NOT_EXPORTED;
	_cleanup_free_ char *said = NULL;

	*ret = (struct candidate){.entry = NULL};
	if (l->table->server->path(&l->peer.address, h, &said) < 0)
		return REASON_LIMIT;
	for (size_t i = 0; i < l->table->nentries; i++) {
		struct candidate c = {.entry = &l->table->entries[i]};
		int r;

		if (!l->table->server->names(c.entry, h))
			continue;
		c.reason = authorise(l, c.entry, &c.perms, &c.client);
		r = find_path(l, h, &c);
		if (r < 0)
			return REASON_LIMIT;
		if (r == 0) {
			if (reason == REASON_NOT_EXPORTED && h->export_id != 0)
				reason = REASON_WRONG_EXPORT;
		} else if (c.client == NULL && c.reason == REASON_CLIENT_DENIED) {
			reason = c.reason; /* the export has no entry for this peer */
			free(c.path);
		} else {
			c.said = said != NULL && strcmp(c.path, said) == 0;
			choose(ret, &c);
		}
	}
	return ret->entry != NULL ? ret->reason : reason;
}

static struct locator_slot *find_slot(struct locator *l, const struct nfs_handle *h)
{
	for (unsigned i = 0; i < l->nslots; i++)
		if (same_fsid(&l->slots[i].handle, h))
			return &l->slots[i];
	return NULL;
}

/*
 * True if the peer has a connection to the server: a peer that a firewall keeps from the server gets no files, either.
 * The answer is at most one second old.
 */
static bool is_connected(struct locator *l)
{
	uint64_t now = work_ms();

	if (l->connected_ms != 0 && time_since(l->connected_ms, now) < CONNECTED_FOR_MS)
		return true;
	l->connected_ms = nfs_server_has_client(l->table->server->port(l->table), &l->peer.address) > 0 ? now : 0;
	return l->connected_ms != 0;
}

/* The slot behind the last one is filled. */
static void add_slot(struct locator *l)
{
	LOCKED(&l->lock);
	l->nslots++;
}

void locator_mounts_changed(struct locator *l)
{
	for (unsigned i = 0; i < l->nslots; i++)
		l->slots[i].checked_ms = 0;
	server_view_forget();
}

/* 0 if the slot's path leads to its mount, as far as it must be known (see the header); -ESTALE if not. */
static int check_mount(const struct locator *l, struct locator_slot *slot)
{
	uint64_t now = work_ms();
	int r;

	if (l->mounts_fd >= 0 && slot->checked_ms != 0 && time_since(slot->checked_ms, now) < CHECKED_FOR_MS)
		return 0;
	r = export_mount_check(slot->mount, slot->path);
	slot->checked_ms = now;
	return r;
}

enum reason locator_find(struct locator *l, const struct broker_fh *fh, struct location *ret)
{
	enum reason reason = l->table->server->decode(fh, &ret->handle);
	const struct export_client *client = NULL;
	struct locator_slot *slot;

	if (reason != REASON_NONE)
		return reason;
	if (!server_kind_serves(l->table))
		return REASON_NOT_SERVING;
	if (!is_connected(l))
		return REASON_NOT_CONNECTED;
	if (l->peer.verdicts != NULL && time_since(l->peer.learned_ms, work_ms()) >= PEER_NAMES_FOR_MS &&
		peer_learn(&l->peer, l->table) < 0)
		return REASON_LIMIT;
	slot = find_slot(l, &ret->handle);
	if (slot != NULL) {
		reason = authorise(l, slot->entry, &ret->perms, &client);
		if (reason != REASON_NONE)
			return reason;
		if (check_mount(l, slot) < 0) {
			drop_slot(l, (unsigned)(slot - l->slots)); /* the next request searches again */
			return REASON_WRONG_EXPORT;
		}
		reason = follow_server(l, slot, &ret->perms);
	} else {
		struct candidate found;

		reason = search(l, &ret->handle, &found);
		if (reason == REASON_NONE) {
			if (l->nslots == LOCATOR_MAX_MOUNTS)
				drop_slot(l, 0);
			slot = &l->slots[l->nslots];
			if (export_mount_open(found.path, &slot->mount) < 0)
				reason = REASON_WRONG_EXPORT;
		}
		if (reason != REASON_NONE) {
			free(found.path);
			return reason;
		}
		*slot = (struct locator_slot){.handle = ret->handle,
			.entry = found.entry,
			.path = found.path,
			.mount = slot->mount};
		client = found.client;
		ret->perms = found.perms;
		add_slot(l);
		reason = follow_server(l, slot, &ret->perms);
	}
	if (reason != REASON_NONE)
		return reason;
	l->used[slot->entry - l->table->entries] = true;
	*ret = (struct location){.handle = ret->handle,
		.entry = slot->entry,
		.perms = ret->perms,
		.mount = slot->mount,
		.crossmnt = client != NULL && client->crossmnt,
		.slot = slot};
	return REASON_NONE;
}

bool locator_same_view(struct locator *l, const struct location *at)
{
	const char *process = l->table->server->process;

	return process != NULL ? server_view_is_ours(process, at->slot->path) : !at->crossmnt;
}

void locator_look(struct locator *l, void (*look)(const char *path, const struct export_mount *m, void *arg), void *arg)
{
	LOCKED(&l->lock);
	for (unsigned i = 0; i < l->nslots; i++)
		look(l->slots[i].path, l->slots[i].mount, arg);
}

int locator_follow(struct locator *l, struct export_table *now)
{
	bool *used = calloc(now->nentries + 1, sizeof(bool));
	int changed = 0;

	if (used == NULL) {
		(void)export_table_unref(now);
		return -ENOMEM;
	}
	for (size_t i = 0; i < l->table->nentries; i++) {
		const struct export_entry *e = &l->table->entries[i];

		if (!l->used[i])
			continue;
		if (export_table_same(l->table, e, now))
			used[export_table_find(now, e->id, e->path) - now->entries] = true;
		else
			changed = 1;
	}
	/* A handle may belong to a new export, so all handles are searched again. */
	locator_drop_mounts(l);
	free(l->used);
	(void)export_table_unref(l->table);
	l->used = used;
	l->table = now;
	if (l->peer.learned_ms != 0 && peer_learn(&l->peer, now) < 0)
		changed = 1;
	return changed;
}
