/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/control/view.h"

#include "mount/mountinfo.h"
#include "sidecar/exports/export_table.h"
#include "sidecar/exports/server_kind.h"

/* The mount that has an export, as /proc/self/mountinfo shows it: a system call on the path might wait. */
struct place {
	const struct export_entry *entry;
	size_t length; /* of the mount point; 0: none was found yet */
	json_t *json;
};

struct places {
	struct place *list;
	size_t count;
};

/* The length of a directory if the path is in it or is it, else 0. */
static size_t prefix(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return 1;
	return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0') ? length : 0;
}

/* Later mounts cover earlier mounts at the same place. */
static int try_mount(const struct mountinfo *m, void *arg)
{
	struct places *p = arg;

	for (size_t n = 0; n < p->count; n++) {
		struct place *place = &p->list[n];
		size_t length = prefix(place->entry->path, m->target);

		if (length == 0 || length < place->length)
			continue;
		place->length = length;
		(void)json_object_set_new(place->json, "filesystem", view_text(m->type));
		(void)json_object_set_new(place->json, "device", view_text(m->device));
	}
	return 0;
}

static json_t *refusal(const char *client, const struct export_refusal *r)
{
	return json_pack("{s:o, s:s, s:o}", "client", view_text(client), "reason", reason_code(r->reason), "detail",
		view_text(r->text));
}

/* The export, and who gets no grants in it. */
static json_t *export_json(const struct export_table *t, const struct export_entry *e)
{
	json_t *refused = json_array(), *json = json_object();

	(void)json_object_set_new(json, "path", view_text(e->path));
	if (t->server->export_ids)
		(void)json_object_set_new(json, "id", json_integer(e->id));
	if (e->refusal.text != NULL)
		(void)json_array_append_new(refused, refusal("", &e->refusal));
	for (size_t n = 0; n < e->nclients; n++)
		if (e->clients[n].refusal.text != NULL)
			(void)json_array_append_new(refused, refusal(e->clients[n].name, &e->clients[n].refusal));
	(void)json_object_set_new(json, "supported", json_boolean(e->refusal.text == NULL));
	(void)json_object_set_new(json, "refused", refused);
	return json;
}

void view_add_exports(json_t *to, const struct export_table *t)
{
	struct places p = {.count = MIN(t->nentries, VIEW_EXPORTS)};
	json_t *list = json_array();

	p.list = calloc(p.count + 1, sizeof(*p.list));
	for (size_t n = 0; n < p.count && p.list; n++) {
		p.list[n] = (struct place){.entry = &t->entries[n], .json = export_json(t, &t->entries[n])};
		(void)json_array_append_new(list, p.list[n].json);
	}
	if (p.list)
		(void)mountinfo_each(try_mount, &p);
	free(p.list);
	(void)json_object_set_new(to, "exports", list);
	(void)json_object_set_new(to, "exports_left_out", json_integer((json_int_t)(t->nentries - p.count)));
}
