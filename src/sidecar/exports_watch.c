/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/exports_watch.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "log.h"
#include "sidecar/ganesha_conf.h"
#include "util.h"

static void log_refusals(const struct export_table *t)
{
	for (size_t i = 0; i < t->nentries; i++)
		if (t->entries[i].refusal != NULL)
			log_warning("export %u %s gets no grants: %s", t->entries[i].id,
				t->entries[i].path, t->entries[i].refusal);
}

bool exports_watch_reload(struct exports_watch *w)
{
	struct export_table *t = NULL;
	struct conf_error error;

	if (ganesha_conf_load(w->config, &t, &error) < 0) {
		log_error("%s", error.text);
		return false;
	}
	log_info("%s: %zu exports", w->config, t->nentries);
	log_refusals(t);
	export_store_replace(w->store, t);
	return true;
}

int exports_watch_start(struct exports_watch *w, const char *config, struct export_store *store)
{
	_cleanup_free_ char *copy = strdup(config);

	*w = (struct exports_watch){.config = config, .store = store, .inotify_fd = -1};
	if (copy == NULL)
		return -ENOMEM;
	w->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->inotify_fd < 0 ||
		inotify_add_watch(w->inotify_fd, dirname(copy), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
		int r = -errno;

		log_error("%s cannot be watched: %s", config, strerror(-r));
		return r;
	}
	return exports_watch_reload(w) ? 0 : -EBADMSG;
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

			/* An included file, or a link on the way, may have any name. */
			changed = true;
			p += sizeof(*e) + e->len;
		}
	return changed;
}

/* What of a set of permissions is said there. */
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

void exports_print(const struct export_table *t)
{
	printf("NFS port %u\ndefaults:", t->nfs_port);
	print_perms(&t->defaults);
	for (size_t i = 0; i < t->nentries; i++) {
		const struct export_entry *e = &t->entries[i];

		printf("export %u %s:", e->id, e->path);
		print_perms(&e->perms);
		for (size_t j = 0; j < e->nclients; j++) {
			char text[IP_ADDRESS_TEXT] = "*";
			unsigned prefix = e->clients[j].prefix;

			if (e->clients[j].any) {
				printf("  client *:");
			} else {
				ip_address_format(&e->clients[j].network, text);
				if (ip_address_is_ipv4(&e->clients[j].network) && prefix >= 96)
					prefix -= 96;
				printf("  client %s/%u:", text, prefix);
			}
			print_perms(&e->clients[j].perms);
		}
		if (e->refusal != NULL)
			printf("  no grants: %s\n", e->refusal);
	}
}
