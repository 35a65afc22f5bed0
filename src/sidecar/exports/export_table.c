/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/exports/export_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/exports/peer.h"

struct export_table *export_table_new(const struct server_kind *server)
{
	struct export_table *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->refs = 1;
	t->server = server;
	t->defaults.set = UINT32_MAX;
	return t;
}

struct export_table *export_table_ref(struct export_table *t)
{
	if (t != NULL)
		atomic_fetch_add(&t->refs, 1);
	return t;
}

static void client_done(struct export_client *c)
{
	free(c->name);
	free(c->mountpoint);
	free(c->refusal.text);
}

void export_entry_done(struct export_entry *e)
{
	free(e->path);
	for (size_t i = 0; i < e->nclients; i++)
		client_done(&e->clients[i]);
	free(e->clients);
	free(e->refusal.text);
	*e = (struct export_entry){0};
}

struct export_table *export_table_unref(struct export_table *t)
{
	if (t == NULL || atomic_fetch_sub(&t->refs, 1) > 1)
		return NULL;
	for (size_t i = 0; i < t->nentries; i++)
		export_entry_done(&t->entries[i]);
	for (size_t i = 0; i < t->nfolders; i++)
		free(t->folders[i]);
	free(t->folders);
	free(t->entries);
	free(t->names);
	free(t);
	return NULL;
}

int export_table_add(struct export_table *t, struct export_entry *e)
{
	struct export_entry *grown = reallocarray(t->entries, t->nentries + 1, sizeof(*grown));

	if (grown == NULL) {
		export_entry_done(e);
		return -ENOMEM;
	}
	t->entries = grown;
	t->entries[t->nentries++] = *e;
	*e = (struct export_entry){0};
	return 0;
}

int export_entry_add_client(struct export_entry *e, struct export_client *c)
{
	struct export_client *grown = reallocarray(e->clients, e->nclients + 1, sizeof(*grown));

	if (grown == NULL) {
		client_done(c);
		return -ENOMEM;
	}
	e->clients = grown;
	e->clients[e->nclients++] = *c;
	return 0;
}

int export_table_add_source(struct export_table *t, const char *file)
{
	const char *slash = strrchr(file, '/');
	char *folder = slash == NULL ? strdup(".") : strndup(file, MAX(1, (size_t)(slash - file)));
	char **grown = reallocarray(t->folders, t->nfolders + 1, sizeof(*grown));

	if (grown != NULL)
		t->folders = grown;
	if (folder == NULL || grown == NULL) {
		free(folder);
		return -ENOMEM;
	}
	t->folders[t->nfolders++] = folder;
	return 0;
}

static bool goes_by_name(const struct export_client *c)
{
	return c->kind == CLIENT_HOST || c->kind == CLIENT_WILDCARD || c->kind == CLIENT_NETGROUP;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp((*(struct export_client *const *)a)->name, (*(struct export_client *const *)b)->name);
}

int export_table_index_names(struct export_table *t)
{
	_cleanup_free_ struct export_client **all = NULL;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < t->nentries; i++)
		for (size_t j = 0; j < t->entries[i].nclients; j++)
			n += goes_by_name(&t->entries[i].clients[j]);
	if (n == 0)
		return 0;
	all = calloc(n, sizeof(*all));
	t->names = calloc(n, sizeof(struct export_client *));
	if (all == NULL || t->names == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < t->nentries; i++)
		for (size_t j = 0; j < t->entries[i].nclients; j++)
			if (goes_by_name(&t->entries[i].clients[j]))
				all[at++] = &t->entries[i].clients[j];
	qsort(all, n, sizeof(struct export_client *), compare_names);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || compare_names(&all[i - 1], &all[i]) != 0)
			t->names[t->nnames++] = all[i];
		all[i]->name_index = t->nnames - 1;
	}
	return 0;
}

int export_refuse(struct export_refusal *r, enum reason reason, const char *format, ...)
{
	va_list ap;
	int n;

	if (r->text != NULL)
		return 0;
	va_start(ap, format);
	n = vasprintf(&r->text, format, ap);
	va_end(ap);
	if (n < 0) {
		r->text = NULL;
		return -ENOMEM;
	}
	r->reason = reason;
	return 0;
}

const struct export_entry *export_table_find(const struct export_table *t, uint16_t id, const char *path)
{
	for (size_t i = 0; i < t->nentries; i++)
		if (t->entries[i].id == id && strcmp(t->entries[i].path, path) == 0)
			return &t->entries[i];
	return NULL;
}

/* Takes the options from a lower layer that the layers above it do not set. */
static void perms_fill(struct export_perms *p, const struct export_perms *lower)
{
	uint32_t take = lower->set & ~p->set;

	if ((take & PERMS_SQUASH) != 0)
		p->squash = lower->squash;
	if ((take & PERMS_ACCESS) != 0) {
		p->read = lower->read;
		p->write = lower->write;
	}
	if ((take & PERMS_SECTYPE) != 0)
		p->sec_sys = lower->sec_sys;
	if ((take & PERMS_PROTOCOLS) != 0)
		p->nfs3 = lower->nfs3;
	if ((take & PERMS_TRANSPORTS) != 0)
		p->tcp = lower->tcp;
	if ((take & PERMS_ANON_UID) != 0)
		p->anon_uid = lower->anon_uid;
	if ((take & PERMS_ANON_GID) != 0)
		p->anon_gid = lower->anon_gid;
	if ((take & PERMS_PRIVILEGED_PORT) != 0)
		p->privileged_port = lower->privileged_port;
	if ((take & PERMS_MANAGE_GIDS) != 0)
		p->manage_gids = lower->manage_gids;
	if ((take & PERMS_REMEMBERS) != 0)
		p->remembers = lower->remembers;
	p->set |= take;
}

enum reason export_table_perms(const struct export_table *t, const struct export_entry *e, const struct peer *peer,
	struct export_perms *ret, const struct export_client **ret_client)
{
	struct export_perms p = {0};
	enum reason reason = e->refusal.text != NULL ? e->refusal.reason : REASON_NONE;

	*ret_client = NULL;
	for (size_t i = 0; i < e->nclients && *ret_client == NULL; i++) {
		const struct export_client *c = &e->clients[i];
		enum peer_verdict verdict = peer_is(peer, c);

		/* The entry may mean this peer, so a later entry with other options must not decide. */
		if (verdict == PEER_UNKNOWN)
			return REASON_EXPORT_OPTIONS;
		if (verdict == PEER_OTHER)
			continue;
		*ret_client = c;
		p = c->perms;
		if (c->refusal.text != NULL)
			reason = c->refusal.reason;
	}
	perms_fill(&p, &e->perms);
	perms_fill(&p, &t->defaults);
	*ret = p;
	return reason;
}

static bool perms_same(const struct export_perms *a, const struct export_perms *b)
{
	return a->set == b->set && a->squash == b->squash && a->read == b->read && a->write == b->write &&
	       a->sec_sys == b->sec_sys && a->nfs3 == b->nfs3 && a->tcp == b->tcp &&
	       a->privileged_port == b->privileged_port && a->manage_gids == b->manage_gids &&
	       a->remembers == b->remembers && a->anon_uid == b->anon_uid && a->anon_gid == b->anon_gid;
}

static bool client_same(const struct export_client *a, const struct export_client *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0 && perms_same(&a->perms, &b->perms) &&
	       a->fsid.kind == b->fsid.kind && a->fsid.number == b->fsid.number &&
	       strcmp(a->fsid.uuid, b->fsid.uuid) == 0 && a->crossmnt == b->crossmnt &&
	       (a->mountpoint == NULL) == (b->mountpoint == NULL) &&
	       (a->mountpoint == NULL || strcmp(a->mountpoint, b->mountpoint) == 0) &&
	       (a->refusal.text == NULL) == (b->refusal.text == NULL);
}

bool export_table_same(const struct export_table *a, const struct export_entry *e, const struct export_table *b)
{
	const struct export_entry *o = export_table_find(b, e->id, e->path);

	if (o == NULL || a->server != b->server || !perms_same(&e->perms, &o->perms) ||
		!perms_same(&a->defaults, &b->defaults) || e->nclients != o->nclients ||
		(e->refusal.text == NULL) != (o->refusal.text == NULL) || a->nfs_port != b->nfs_port ||
		a->fsid_device != b->fsid_device)
		return false;
	for (size_t i = 0; i < e->nclients; i++)
		if (!client_same(&e->clients[i], &o->clients[i]))
			return false;
	return true;
}

static bool texts_same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* True if the log would say the same about both entries. */
static bool refusals_same(const struct export_entry *a, const struct export_entry *b)
{
	if (!texts_same(a->refusal.text, b->refusal.text))
		return false;
	for (size_t i = 0; i < a->nclients; i++)
		if (!texts_same(a->clients[i].refusal.text, b->clients[i].refusal.text))
			return false;
	return true;
}

bool export_tables_equal(const struct export_table *a, const struct export_table *b)
{
	if (a->server != b->server || a->nentries != b->nentries || a->nfolders != b->nfolders)
		return false;
	for (size_t i = 0; i < a->nentries; i++) {
		const struct export_entry *e = &a->entries[i], *o = &b->entries[i];

		if (e->id != o->id || strcmp(e->path, o->path) != 0 || !export_table_same(a, e, b) ||
			!refusals_same(e, o))
			return false;
	}
	for (size_t i = 0; i < a->nfolders; i++)
		if (strcmp(a->folders[i], b->folders[i]) != 0)
			return false;
	return a->nentries > 0; /* of an empty table the entries do not say the rest */
}

const char *squash_name(enum squash s)
{
	switch (s) {
	case SQUASH_NONE:
		return "no_root_squash";
	case SQUASH_ROOT:
		return "root_squash";
	case SQUASH_ROOT_ID:
		return "root_id_squash";
	case SQUASH_ALL:
		return "all_squash";
	}
	return "?";
}

void export_store_init(struct export_store *s)
{
	*s = (struct export_store){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void export_store_done(struct export_store *s)
{
	s->current = export_table_unref(s->current);
	(void)pthread_mutex_destroy(&s->lock);
}

struct export_table *export_store_get(struct export_store *s)
{
	LOCKED(&s->lock);
	return export_table_ref(s->current);
}

void export_store_replace(struct export_store *s, struct export_table *t)
{
	struct export_table *old;

	{
		LOCKED(&s->lock);
		old = s->current;
		s->current = t;
	}
	(void)export_table_unref(old);
}
