/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/control/view.h"

#include <inttypes.h>
#include <limits.h>

#include "base/whole_io.h"
#include "sidecar/session/session.h"

/* The descriptors that a session has in one export, whose directory it holds, too. */
struct pinned {
	struct filesystem_id id;
	char path[PATH_MAX]; /* of the export's directory */
	uint64_t mount;      /* its mount, as fdinfo shows it */
	unsigned files, writable;
};

struct pins {
	const struct broker_session *session;
	struct pinned list[VIEW_MOUNTS];
	unsigned count;
	unsigned *names_left; /* files that may still be named */
	unsigned held;        /* ids and descriptors */
	unsigned left_out;    /* those that were not named */
	json_t *files;
};

/* Where a descriptor of the session's thread leads to: asks the kernel's table of descriptors, not the filesystem. */
static int path_of(const struct broker_session *s, int fd, char ret[PATH_MAX])
{
	char name[64];
	ssize_t n;

	(void)snprintf(name, sizeof(name), "/proc/self/task/%d/fd/%d", (int)s->tid, fd);
	n = readlink(name, ret, PATH_MAX - 1);
	ret[MAX(n, 0)] = '\0';
	return n < 0 ? -errno : 0;
}

/* A number of the descriptor's fdinfo; 0: unknown. */
static uint64_t fdinfo_of(const struct broker_session *s, int fd, const char *key)
{
	char name[64], text[1024];
	const char *line;

	(void)snprintf(name, sizeof(name), "/proc/self/task/%d/fdinfo/%d", (int)s->tid, fd);
	line = read_small_file(name, text, sizeof(text)) > 0 ? strstr(text, key) : NULL;
	return line != NULL ? strtoull(line + strlen(key), NULL, 10) : 0;
}

static bool same_directory(const struct filesystem_id *a, const struct filesystem_id *b)
{
	return a->dev_major == b->dev_major && a->dev_minor == b->dev_minor && a->inode == b->inode;
}

static struct pinned *find(struct pins *p, const struct export_mount *m)
{
	struct pinned *new = &p->list[p->count];

	for (unsigned n = 0; n < p->count; n++)
		if (same_directory(&p->list[n].id, &m->id))
			return &p->list[n];
	if (p->count == VIEW_MOUNTS)
		return NULL;
	*new = (struct pinned){.id = m->id, .mount = fdinfo_of(p->session, m->root, "mnt_id:")};
	(void)path_of(p->session, m->root, new->path);
	p->count++;
	return new;
}

static void on_export(const char *path, const struct export_mount *m, void *arg)
{
	(void)path;
	(void)find(arg, m);
}

/*
 * Names a file. A file that is open on the private clone of the mount has a path relative to the export; a file that
 * the kernel found by its handle alone has none.
 */
static void name_file(struct pins *p, const struct pinned *at, const struct backing *b)
{
	char path[PATH_MAX] = "", whole[2 * PATH_MAX] = "";
	bool on_mount = fdinfo_of(p->session, b->fd, "mnt_id:") == at->mount;
	const char *before = on_mount || strcmp(at->path, "/") == 0 ? "" : at->path;

	if (path_of(p->session, b->fd, path) == 0 && strcmp(path, "/") != 0)
		(void)snprintf(whole, sizeof(whole), "%s%s", before, path);
	(void)json_array_append_new(p->files,
		json_pack("{s:o, s:I, s:s, s:b, s:I}", "path", view_text(whole), "inode",
			(json_int_t)fdinfo_of(p->session, b->fd, "ino:"), "kind", b->id > 0 ? "id" : "descriptor",
			"writable", (int)b->writable, "uid", (json_int_t)b->cred.uid));
}

static void on_backing(const struct backing *b, void *arg)
{
	struct pins *p = arg;
	struct pinned *at = find(p, b->mount);

	p->held++;
	if (at == NULL || *p->names_left == 0) {
		p->left_out++;
	} else {
		--*p->names_left;
		name_file(p, at, b);
	}
	if (at == NULL)
		return;
	at->files++;
	at->writable += b->writable;
}

static void add_pins(json_t *to, const struct broker_session *s, unsigned *files)
{
	struct pins *p = calloc(1, sizeof(*p));
	json_t *list = json_array();

	if (!p)
		return;
	p->session = s;
	p->names_left = files;
	p->files = json_array();
	locator_look(&s->state->locator, on_export, p);
	backing_table_look(&s->state->ids, on_backing, p);
	for (unsigned n = 0; n < p->count; n++) {
		const struct pinned *at = &p->list[n];
		char device[32];

		(void)snprintf(device, sizeof(device), "%u:%u", at->id.dev_major, at->id.dev_minor);
		(void)json_array_append_new(list,
			json_pack("{s:o, s:s, s:i, s:i}", "export", view_text(at->path), "device", device, "files",
				(int)at->files, "writable", (int)at->writable));
	}
	(void)json_object_set_new(to, "held", json_integer(p->held));
	(void)json_object_set_new(to, "pins", list);
	(void)json_object_set_new(to, "files", p->files);
	(void)json_object_set_new(to, "files_left_out", json_integer(p->left_out));
	free(p);
}

static const char *state_word(const struct broker_session *s)
{
	switch (s->state != NULL ? (int)s->state->state : 0) {
	case SESSION_NEW:
		return "new";
	case SESSION_ANNOUNCED:
		return "announced";
	case SESSION_MATCHED:
		return "matched";
	case SESSION_READY:
		return "ready";
	default:
		return "ending";
	}
}

json_t *view_session(const struct broker_session *s, unsigned *files)
{
	char peer[IP_ADDRESS_TEXT] = "";
	json_t *json = json_object();

	if (s->matches > 0)
		ip_address_format_port(&s->peer, s->peer_port, peer);
	(void)json_object_update_new(json,
		json_pack("{s:o, s:s, s:I, s:I, s:I, s:s, s:o, s:s}", "registry", view_text(s->broker->path), "state",
			state_word(s), "uid", (json_int_t)s->account.uid, "pid", (json_int_t)s->account.pid, "since",
			(json_int_t)s->since, "peer", peer, "export", view_text(s->export_path ? s->export_path : ""),
			"claims", s->broker->claims_of_peer ? "peer" : "any"));
	(void)json_object_set_new(json, "number", json_integer(s->number));
	(void)json_object_update_new(json,
		json_pack("{s:I, s:I, s:I, s:I, s:s}", "opens", (json_int_t)s->opens, "ids", (json_int_t)s->ids,
			"descriptors", (json_int_t)s->descriptors, "refused", (json_int_t)s->refused, "last_refusal",
			reason_code(s->last_refusal)));
	if (s->state == NULL)
		return json;
	(void)json_object_set_new(json, "trusted", json_boolean(s->state->trusted));
	(void)json_object_set_new(json, "held_most", json_integer(s->state->max_ids));
	add_pins(json, s, files);
	return json;
}
