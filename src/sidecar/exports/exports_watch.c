/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/exports/exports_watch.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/log.h"
#include "base/util.h"

#define WATCHED  (IN_CLOSE_WRITE | IN_MOVED_TO)
#define INCLUDED (WATCHED | IN_DELETE | IN_MOVED_FROM)

static void log_refusal(const struct export_entry *e, const struct export_client *c)
{
	const struct export_refusal *r = c != NULL ? &c->refusal : &e->refusal;

	if (r->text != NULL)
		log_warning("%s%s%s gets no grants: %s", e->path, c != NULL ? " for " : "", c != NULL ? c->name : "",
			r->text);
}

/* Adds the folders of the table. Former folders stay watched: changes in them cause reloads, which are harmless. */
static void watch_folders(struct exports_watch *w, const struct export_table *t)
{
	for (size_t i = 0; i < t->nfolders; i++)
		if (inotify_add_watch(w->inotify_fd, t->folders[i], IN_MASK_ADD | INCLUDED) < 0)
			log_warning("%s: this folder cannot be watched: %s (SIGHUP reloads)", t->folders[i],
				strerror(errno));
}

/* True if the store has a table that is equal to this one. */
static bool is_known(struct export_store *s, const struct export_table *t)
{
	struct export_table *now = export_store_get(s);
	bool known = now != NULL && export_tables_equal(now, t);

	(void)export_table_unref(now);
	return known;
}

bool exports_watch_reload(struct exports_watch *w, bool anew)
{
	struct export_table *t = NULL;
	struct conf_error error;

	if (w->server->load(w->config, &t, &error) < 0) {
		log_error("%s", error.text);
		return false;
	}
	log_info_limited("%s: %zu exports of %s", w->config, t->nentries, w->server->title);
	for (size_t i = 0; i < t->nentries; i++) {
		log_refusal(&t->entries[i], NULL);
		for (size_t j = 0; j < t->entries[i].nclients; j++)
			log_refusal(&t->entries[i], &t->entries[i].clients[j]);
	}
	watch_folders(w, t);
	if (!anew && is_known(w->store, t))
		(void)export_table_unref(t);
	else
		export_store_replace(w->store, t);
	return true;
}

int exports_watch_start(struct exports_watch *w, const struct server_kind *server, const char *config,
	struct export_store *store)
{
	_cleanup_free_ char *copy = strdup(config);
	const char *slash = strrchr(config, '/');

	*w = (struct exports_watch){.server = server,
		.config = config,
		.file = slash != NULL ? slash + 1 : config,
		.store = store,
		.inotify_fd = -1};
	if (copy == NULL)
		return -ENOMEM;
	w->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->inotify_fd >= 0)
		w->folder = inotify_add_watch(w->inotify_fd, dirname(copy), WATCHED);
	if (w->inotify_fd < 0 || w->folder < 0) {
		int r = -errno;

		log_error("%s: its folder cannot be watched: %s (--config= names another file)", config, strerror(-r));
		return r;
	}
	return exports_watch_reload(w, true) ? 0 : -EBADMSG;
}

void exports_watch_done(struct exports_watch *w)
{
	w->inotify_fd = close_fd(w->inotify_fd);
}

bool exports_watch_event(struct exports_watch *w)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool changed = false;
	ssize_t n;

	while ((n = read(w->inotify_fd, buf, sizeof(buf))) > 0)
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const void *)p;

			/* An included file, or the target of a symbolic link, may have any name. */
			if (w->server->config_includes || e->wd != w->folder || (e->mask & IN_Q_OVERFLOW) != 0 ||
				(e->len > 0 && strcmp(e->name, w->file) == 0))
				changed = true;
			p += sizeof(*e) + e->len;
		}
	return changed;
}

/* Prints the permissions that the set says. */
static void print_perms(const struct export_perms *p)
{
	if ((p->set & PERMS_ACCESS) != 0)
		printf(" %s", p->write ? "rw" : p->read ? "ro" : "no access");
	if ((p->set & PERMS_SQUASH) != 0)
		printf(" %s", squash_name(p->squash));
	if ((p->set & PERMS_ANON_UID) != 0)
		printf(" anonuid=%u", p->anon_uid);
	if ((p->set & PERMS_ANON_GID) != 0)
		printf(" anongid=%u", p->anon_gid);
	if ((p->set & PERMS_PRIVILEGED_PORT) != 0)
		printf(" %s", p->privileged_port ? "secure" : "insecure");
	if ((p->set & PERMS_SECTYPE) != 0 && !p->sec_sys)
		printf(" (no sec=sys)");
	if ((p->set & PERMS_PROTOCOLS) != 0 && !p->nfs3)
		printf(" (no NFSv3)");
	if ((p->set & PERMS_TRANSPORTS) != 0 && !p->tcp)
		printf(" (no TCP)");
	if ((p->set & PERMS_MANAGE_GIDS) != 0 && p->manage_gids)
		printf(" (manage_gids: no grants)");
	printf("\n");
}

static void print_client(const struct export_client *c)
{
	printf("  %s:", c->name[0] != '\0' ? c->name : "*");
	if (c->fsid.kind == EXPORT_FSID_NUMBER)
		printf(" fsid=%u", c->fsid.number);
	else if (c->fsid.kind == EXPORT_FSID_UUID)
		printf(" fsid=%s", c->fsid.uuid);
	if (c->crossmnt)
		printf(" crossmnt");
	if (c->mountpoint != NULL)
		printf(" mountpoint%s%s", c->mountpoint[0] != '\0' ? "=" : "", c->mountpoint);
	print_perms(&c->perms);
	if (c->refusal.text != NULL)
		printf("    no grants: %s\n", c->refusal.text);
}

void exports_print(const struct export_table *t, const char *config)
{
	bool ids = t->server->export_ids;

	printf("server: %s, TCP port %u\nexports: %s\n", t->server->title, t->server->port(t), config);
	if (ids) {
		printf("defaults:");
		print_perms(&t->defaults);
	}
	if (t->nentries == 0)
		printf("nothing is exported\n");
	for (size_t i = 0; i < t->nentries; i++) {
		const struct export_entry *e = &t->entries[i];

		printf("%s:", e->path);
		if (ids)
			printf(" export_id=%u", e->id);
		print_perms(&e->perms);
		for (size_t j = 0; j < e->nclients; j++)
			print_client(&e->clients[j]);
		if (e->refusal.text != NULL)
			printf("  no grants: %s\n", e->refusal.text);
	}
}
