/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of a client in an etab or in exports(5), as parseopts() of nfs-utils reads them. Options behind sec= are
 * for its flavours; the options of sys are kept. The caller owns a struct etab_options; the functions have no state.
 */
#pragma once

#include "sidecar/conf/conf_error.h"
#include "sidecar/exports/export_table.h"

/* The place of an option, for messages. */
struct etab_place {
	const char *name; /* of the file */
	unsigned line;
	struct conf_error *error;
};

/* Puts "file:line: message" into the place's error and returns -EBADMSG. */
int PRINTF(2, 3) etab_fail(const struct etab_place *r, const char *format, ...);

/* The options read so far, as a client without a name. Owns the client's strings. */
struct etab_options {
	struct export_client client;
	bool root_squash, all_squash;
	bool saw_sec; /* a sec= came; the following options are for its flavours */
	bool in_sys;  /* sys is one of the flavours of the last sec= */
	bool had_sys; /* sys was a flavour of any sec= */
};

/* The default options: ro, root_squash, secure and so on. */
void etab_options_init(struct etab_options *ret);
/* 0 or -ENOMEM; the caller calls etab_options_done(ret) in both cases. */
int etab_options_copy(const struct etab_options *from, struct etab_options *ret);
void etab_options_done(struct etab_options *p);

/* Reads a list of options, without its parentheses. -EBADMSG, -ENOMEM. */
int etab_options_read(const struct etab_place *r, struct etab_options *p, const char *from, const char *to);
/* Call after the last option: sets the values that several options decide together. */
void etab_options_finish(struct etab_options *p);
