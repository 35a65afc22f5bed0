/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of a client in an etab or in exports(5), as parseopts() of nfs-utils takes them. Options
 * behind sec= hold for its flavours, of which only sys counts here.
 */
#pragma once

#include "sidecar/conf/conf_error.h"
#include "sidecar/exports/export_table.h"

/* Where something was read: what messages name. */
struct etab_place {
	const char *name; /* of the file */
	unsigned line;
	struct conf_error *error;
};

/* Puts "file:line: message" into the place's error and returns -EBADMSG. */
int PRINTF(2, 3) etab_fail(const struct etab_place *r, const char *format, ...);

/* What was read so far, into a client without a name; owns its strings. */
struct etab_options {
	struct export_client client;
	bool root_squash, all_squash;
	bool saw_sec; /* a sec= came: what follows holds for its flavours */
	bool in_sys;  /* ... and sys is one of them */
	bool had_sys;
};

/* Where no option says otherwise: ro, root_squash, secure and so on. */
void etab_options_init(struct etab_options *ret);
/* -ENOMEM; then *ret is to be freed all the same. */
int etab_options_copy(const struct etab_options *from, struct etab_options *ret);
void etab_options_done(struct etab_options *p);

/* The options of a list without its parentheses; -EBADMSG, -ENOMEM. */
int etab_options_read(const struct etab_place *r, struct etab_options *p, const char *from, const char *to);
/* All are read: fills in what several of them decide together. */
void etab_options_finish(struct etab_options *p);
