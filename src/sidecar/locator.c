/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/locator.h"

#include <fcntl.h>
#include <string.h>

#include "sidecar/nfs_server.h"

#define FIRST_FREE_PORT  1024 /* below: reserved for root, `secure` */
#define CONNECTED_FOR_MS 1000

int locator_init(struct locator *l, struct export_table *table)
{
	*l = (struct locator){.table = table, .used = calloc(table->nentries + 1, sizeof(bool))};
	if (l->used != NULL)
		return 0;
	l->table = export_table_unref(table);
	return -ENOMEM;
}

void locator_done(struct locator *l)
{
	locator_drop_mounts(l);
	free(l->used);
	peer_done(&l->peer);
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
	(void)export_mount_unref(l->slots[i].mount);
	l->slots[i] = l->slots[--l->nslots];
}

void locator_drop_mounts(struct locator *l)
{
	while (l->nslots > 0)
		drop_slot(l, l->nslots - 1);
}

/* What the peer may ask of the export, and the reason when it may nothing. */
static enum reason authorise(const struct locator *l, const struct export_entry *e,
	struct export_perms *ret, const struct export_client **ret_client)
{
	enum reason reason = export_table_perms(l->table, e, &l->peer, ret, ret_client);

	if (reason != REASON_NONE)
		return reason;
	if (!ret->read || !ret->sec_sys || !ret->nfs3 || !ret->tcp ||
		(ret->privileged_port && l->peer.port >= FIRST_FREE_PORT))
		return REASON_CLIENT_DENIED;
	return ret->manage_gids ? REASON_EXPORT_OPTIONS : REASON_NONE;
}

static bool same_fsid(const struct nfs_handle *a, const struct nfs_handle *b)
{
	return a->export_id == b->export_id && a->fsid_type == b->fsid_type &&
		a->fsid_length == b->fsid_length && memcmp(a->fsid, b->fsid, a->fsid_length) == 0;
}

static bool owns(const struct locator *l, const struct export_entry *e, const struct nfs_handle *h,
	const struct export_client *c)
{
	_cleanup_close_ int fd = export_mount_open_directory(e->path, O_RDONLY);
	struct filesystem_id id;

	return fd >= 0 && filesystem_id_read(fd, &id) >= 0 && l->table->server->owns(l->table, c, &id, h);
}

static bool same_terms(const struct export_perms *a, const struct export_perms *b)
{
	return a->squash == b->squash && a->write == b->write && a->anon_uid == b->anon_uid &&
		a->anon_gid == b->anon_gid;
}

/*
 * Looks through all exports. Which of two that own a handle the server takes depends on its past, so
 * that they must then be on the same terms.
 */
static enum reason search(const struct locator *l, const struct nfs_handle *h,
	const struct export_entry **ret, struct export_perms *ret_perms)
{
	enum reason reason = REASON_NOT_EXPORTED;

	*ret = NULL;
	for (size_t i = 0; i < l->table->nentries; i++) {
		const struct export_entry *e = &l->table->entries[i];
		const struct export_client *c;
		struct export_perms perms;
		enum reason r;

		if (!l->table->server->names(e, h))
			continue;
		r = authorise(l, e, &perms, &c);
		if (!owns(l, e, h, c)) {
			if (reason == REASON_NOT_EXPORTED && h->export_id != 0)
				reason = REASON_WRONG_EXPORT;
			continue;
		}
		if (r != REASON_NONE) {
			reason = r;
			continue;
		}
		if (*ret != NULL && !same_terms(&perms, ret_perms))
			return REASON_EXPORT_OPTIONS;
		if (*ret == NULL) {
			*ret = e;
			*ret_perms = perms;
		}
	}
	return *ret != NULL ? REASON_NONE : reason;
}

static struct locator_slot *find_slot(struct locator *l, const struct nfs_handle *h)
{
	for (unsigned i = 0; i < l->nslots; i++)
		if (same_fsid(&l->slots[i].handle, h))
			return &l->slots[i];
	return NULL;
}

/* Who cannot reach the server's port may not have its files either. At most a second old. */
static bool is_connected(struct locator *l)
{
	uint64_t now = now_ms();

	if (l->connected_ms != 0 && now - l->connected_ms < CONNECTED_FOR_MS)
		return true;
	l->connected_ms = nfs_server_has_client(l->table->server->port(l->table), &l->peer.address) > 0 ? now : 0;
	return l->connected_ms != 0;
}

enum reason locator_find(struct locator *l, const struct broker_fh *fh, struct location *ret)
{
	enum reason reason = l->table->server->decode(fh, &ret->handle);
	const struct export_client *client;
	struct locator_slot *slot;

	if (reason == REASON_NONE)
		reason = server_kind_state(l->table);
	if (reason != REASON_NONE)
		return reason;
	if (!is_connected(l))
		return REASON_NOT_CONNECTED;
	if (l->peer.verdicts != NULL && now_ms() - l->peer.learned_ms >= PEER_NAMES_FOR_MS &&
		peer_learn(&l->peer, l->table) < 0)
		return REASON_LIMIT;
	slot = find_slot(l, &ret->handle);
	if (slot != NULL) {
		reason = authorise(l, slot->entry, &ret->perms, &client);
		if (reason != REASON_NONE)
			return reason;
		if (export_mount_check(slot->mount, slot->entry->path) < 0) {
			drop_slot(l, (unsigned)(slot - l->slots)); /* the next request looks for what is there now */
			return REASON_WRONG_EXPORT;
		}
	} else {
		const struct export_entry *e;

		reason = search(l, &ret->handle, &e, &ret->perms);
		if (reason != REASON_NONE)
			return reason;
		if (l->nslots == LOCATOR_MAX_MOUNTS)
			drop_slot(l, 0);
		slot = &l->slots[l->nslots];
		if (export_mount_open(e->path, &slot->mount) < 0)
			return REASON_WRONG_EXPORT;
		slot->handle = ret->handle;
		slot->entry = e;
		l->nslots++;
	}
	l->used[slot->entry - l->table->entries] = true;
	ret->entry = slot->entry;
	ret->mount = slot->mount;
	return REASON_NONE;
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
	/* A new export may own the handle, too: look again. */
	locator_drop_mounts(l);
	free(l->used);
	(void)export_table_unref(l->table);
	l->used = used;
	l->table = now;
	if (l->peer.learned_ms != 0 && peer_learn(&l->peer, now) < 0)
		changed = 1;
	return changed;
}
