/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads /var/lib/nfs/etab, which exportfs(8) writes and mountd reads, into an export table. No state; any thread.
 *
 * A line is one path and one client with all its options:
 *
 *   PATH<TAB>CLIENT(option,option,...)        \ooo in PATH and CLIENT are octal escapes
 *
 * (putexportent() and xtab_read() of nfs-utils). The lines of one path become one entry, whose clients are in mountd's
 * order of search: hosts, networks, wildcards, netgroups, all hosts. Options behind sec=... are for those flavours; the
 * table has the options of sys only.
 *
 * A line with an error refuses the whole file, so that half a file never replaces a good table. An option that the
 * sidecar cannot honour (subtree_check, sign_fh, an unknown option) gives its client a refusal: the client gets no
 * grants.
 */
#pragma once

#include <stdio.h>

#include "sidecar/conf/conf_tree.h"
#include "sidecar/exports/export_table.h"

/*
 * Reads a file. A file with another name than etab is in the form of exports(5), for a server whose etab the sidecar
 * cannot see: several clients per line, -OPTIONS for the following clients, clients without options, "quotes", \ at the
 * end of a line, # behind blanks; the files FILE.d/ *.exports are read, too, like /etc/exports.d.
 *
 * server: the kind of server that the table is for. The table has a reference for the caller. -EBADMSG with *error
 * "file:line: ...", or another errno with *error. A missing file is an empty file: no export was made since boot.
 */
int etab_load(const struct server_kind *server, const char *path, struct export_table **ret, struct conf_error *error);
/* The same from an open file, in the form of exports(5) if free_form; messages name the file name. */
int etab_parse(const struct server_kind *server, const char *name, FILE *f, bool free_form, struct export_table **ret,
	struct conf_error *error);
