/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Uses an export table as the sidecar does: asks for the permissions of some peers at each entry. Pure functions; the
 * fuzz target owns the table.
 */
#pragma once

#include "fuzz.h"
#include "sidecar/exports/export_table.h"
#include "sidecar/exports/exports_watch.h"
#include "sidecar/exports/peer.h"

static inline void use_export_table(struct export_table *t)
{
	static const char *const peers[] = {"127.0.0.1", "10.1.2.3", "fe80::1"};

	for (size_t n = 0; n < t->nentries; n++) {
		const struct export_entry *e = &t->entries[n];

		CHECK(e->path && export_table_find(t, e->id, e->path));
		CHECK(export_table_same(t, e, t));
		for (size_t p = 0; p < ARRAY_SIZE(peers); p++) {
			const struct export_client *client = NULL;
			struct export_perms perms;
			struct peer peer = {.port = 0};
			unsigned prefix;

			CHECK(ip_address_parse(peers[p], &peer.address, &prefix) == 0);
			(void)export_table_perms(t, e, &peer, &perms, &client);
		}
	}
	(void)export_table_unref(t);
}

/* An error must have a message. */
static inline void check_error(const struct conf_error *error)
{
	CHECK(error->text[0] != '\0');
}
