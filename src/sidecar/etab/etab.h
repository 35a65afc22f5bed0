/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /var/lib/nfs/etab, which exportfs(8) writes and mountd reads, into an export table.
 *
 * A line is one path and one client with its options, all of them spelled out:
 *
 *   PATH<TAB>CLIENT(option,option,...)        \ooo in PATH and CLIENT are octal escapes
 *
 * (putexportent() and xtab_read() of nfs-utils). The lines of one path become one entry, its clients in
 * the order in which mountd looks at them: hosts, networks, wildcards, netgroups, everybody.
 * Options behind sec=... hold for those flavours; of these only sys counts here.
 *
 * A line that cannot be understood refuses the whole file, so that half of one never replaces a good
 * table. An option that cannot be honoured here (subtree_check, sign_fh, one that is not known)
 * leaves its client in the table with a refusal: it gets no grants.
 */
#pragma once

#include <stdio.h>

#include "sidecar/conf/conf_tree.h"
#include "sidecar/exports/export_table.h"

/*
 * A file of another name than etab is exports(5), for a server whose etab is not to be seen: several
 * clients a line, -OPTIONS for those behind it, clients without options, "quotes", \ at a line's end, # behind
 * blanks; and with it the files FILE.d/ *.exports, as /etc/exports.d.
 *
 * The caller's reference; -EBADMSG with *error "file:line: ...", or another errno with *error. A file that
 * is not there is an empty one: nothing has been exported since boot.
 */
int etab_load(const struct server_kind *server, const char *path, struct export_table **ret, struct conf_error *error);
/* The same from an open file; name stands for it in messages. */
int etab_parse(const struct server_kind *server, const char *name, FILE *f, bool free_form, struct export_table **ret,
	struct conf_error *error);
