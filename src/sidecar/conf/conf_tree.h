/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A configuration file in NFS-Ganesha's syntax, as a tree of blocks and statements. What the words
 * mean is ganesha_conf's business.
 *
 *   NAME { name = value, value; NAME { ... } }    # comment
 *
 * Values are bare words, 'literal' or "quoted \" text". %include PATH and %dir FOLDER[/PATTERN] (bare or
 * quoted, at the top level) are followed, and leave statements called %include with the files' paths;
 * %url is refused. Owner: the caller, conf_tree_free().
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

/* The nodes of the top level in order; -EBADMSG with *error for bad syntax, else a negative errno. */
int conf_tree_load(const char *path, struct conf_node **ret, struct conf_error *error);
/* The same from text; name stands for the file in messages. */
int conf_tree_parse(const char *name, const char *text, struct conf_node **ret, struct conf_error *error);
struct conf_node *conf_tree_free(struct conf_node *tree);

/* Puts "file:line: message" into *error and returns -EBADMSG. */
int conf_tree_fail(struct conf_error *error, const struct conf_node *node, const char *format, ...) PRINTF(3, 4);
