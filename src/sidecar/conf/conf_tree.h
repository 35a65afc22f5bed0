/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A configuration file in NFS-Ganesha's syntax, as a tree of blocks and statements. ganesha_conf gives the words their
 * meaning.
 *
 *   NAME { name = value, value; NAME { ... } }    # comment
 *
 * Values are bare words, 'literal' or "quoted \" text". The statements of %include PATH and %dir FOLDER[/PATTERN] (bare
 * or quoted, at the top level) follow a statement called %include with the path of the included file or folder. %url is
 * refused.
 *
 * The caller owns a tree and frees it by conf_tree_free(). The functions have no other state.
 * Syntax: src/config_parsing/conf_lex.l and conf_yacc.y of Ganesha 4.3.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sidecar/conf/conf_error.h"
#include "base/util.h"

struct conf_value {
	struct conf_value *next;
	char *text;
};

struct conf_node {
	struct conf_node *next, *children;
	struct conf_value *values;
	char *name, *file;
	unsigned line;
	bool block;
};

/* The nodes of the top level, in order. -EBADMSG with *error for bad syntax, else a negative errno with *error. */
int conf_tree_load(const char *path, struct conf_node **ret, struct conf_error *error);
/* The same for a text; messages name the file name. */
int conf_tree_parse(const char *name, const char *text, struct conf_node **ret, struct conf_error *error);
struct conf_node *conf_tree_free(struct conf_node *tree);

/* Puts "file:line: message" into *error and returns -EBADMSG. */
int conf_tree_fail(struct conf_error *error, const struct conf_node *node, const char *format, ...) PRINTF(3, 4);
