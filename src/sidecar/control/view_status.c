/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/control/view.h"

#include "sidecar/exports/export_table.h"
#include "sidecar/exports/server_kind.h"

void view_status(const struct view *v, bool faulty, char *ret, size_t size)
{
	struct export_table *t = export_store_get(v->exports);
	unsigned sessions = 0, lost = 0;
	size_t refused = 0;
	char wrong[160] = "";

	for (unsigned n = 0; n < v->nbrokers; n++) {
		LOCKED(&v->brokers[n].lock);
		sessions += v->brokers[n].nsessions;
		lost += v->brokers[n].registry_lost;
	}
	for (size_t n = 0; n < t->nentries; n++)
		refused += t->entries[n].refusal.text != NULL;
	if (refused > 0)
		(void)snprintf(wrong, sizeof(wrong), "; %zu of them get no grants (--check says why)", refused);
	(void)snprintf(ret, size, "%u session%s, %zu export%s of %s%s%s%s%s", sessions, sessions == 1 ? "" : "s",
		t->nentries, t->nentries == 1 ? "" : "s", t->server->title, wrong,
		v->brokers[0].probeport == 0 ? "; the server does not listen" : "",
		faulty ? "; its file of exports has an error" : "", lost > 0 ? "; a registry is lost" : "");
	(void)export_table_unref(t);
}
