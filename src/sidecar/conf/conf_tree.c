/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/conf/conf_tree.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/whole_io.h"
#include "sidecar/conf/folder.h"

#define MAX_DEPTH  8 /* of blocks, and of includes */
#define MAX_FILE   (1024 * 1024)
#define WORD_CHARS "._-/:*?@[]!+~%&"

struct lexer {
	const char *file;
	const char *p;
	unsigned line;
	unsigned includes;
	struct conf_error *error;
};

static int load(const char *path, unsigned includes, struct conf_node ***tail, struct conf_error *error);

static int PRINTF(3, 4) fail(const struct lexer *l, unsigned line, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)conf_error_set(l->error, l->file, line, format, ap);
	va_end(ap);
	return -EBADMSG;
}

int conf_tree_fail(struct conf_error *error, const struct conf_node *node, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)conf_error_set(error, node->file, node->line, format, ap);
	va_end(ap);
	return -EBADMSG;
}

struct conf_node *conf_tree_free(struct conf_node *tree)
{
	while (tree != NULL) {
		struct conf_node *next = tree->next;

		while (tree->values != NULL) {
			struct conf_value *v = tree->values;

			tree->values = v->next;
			free(v->text);
			free(v);
		}
		(void)conf_tree_free(tree->children);
		free(tree->name);
		free(tree->file);
		free(tree);
		tree = next;
	}
	return NULL;
}

static void skip_space(struct lexer *l)
{
	for (;;) {
		if (*l->p == '#')
			l->p += strcspn(l->p, "\n");
		if (*l->p == '\0' || !isspace((unsigned char)*l->p))
			return;
		if (*l->p == '\n')
			l->line++;
		l->p++;
	}
}

static bool is_word_char(char c)
{
	return c != '\0' && (isalnum((unsigned char)c) || strchr(WORD_CHARS, c) != NULL);
}

/* A bare word; NULL if no word comes next. Without memory also NULL, for which the caller reports a missing word. */
static char *take_word(struct lexer *l)
{
	const char *start = l->p;

	while (is_word_char(*l->p))
		l->p++;
	return l->p == start ? NULL : strndup(start, (size_t)(l->p - start));
}

/* 'literal' or "text with \escapes"; l->p is at the opening quote. */
static int take_quoted(struct lexer *l, char **ret)
{
	unsigned line = l->line;
	char quote = *l->p++, *text, *out;

	text = out = calloc(1, strlen(l->p) + 1);
	if (text == NULL)
		return -ENOMEM;
	while (*l->p != quote) {
		if (quote == '"' && *l->p == '\\' && l->p[1] != '\0')
			l->p++;
		if (*l->p == '\0') {
			free(text);
			return fail(l, line, "the string that starts here has no end: a closing quote was expected");
		}
		if (*l->p == '\n')
			l->line++;
		*out++ = *l->p++;
	}
	l->p++;
	*out = '\0';
	*ret = text;
	return 0;
}

static int take_value(struct lexer *l, char **ret)
{
	if (*l->p == '"' || *l->p == '\'')
		return take_quoted(l, ret);
	*ret = take_word(l);
	return *ret != NULL ? 0 : fail(l, l->line, "a value was expected, not '%.1s'", l->p);
}

/* value [, value]... ; l->p is behind the '='. An empty list is allowed, as in Ganesha. */
static int parse_values(struct lexer *l, struct conf_node *node)
{
	struct conf_value **tail = &node->values;

	for (;;) {
		struct conf_value *v;
		char *text;
		int r;

		skip_space(l);
		if (*l->p == ';' && node->values == NULL)
			break;
		r = take_value(l, &text);
		if (r < 0)
			return r;
		v = calloc(1, sizeof(*v));
		if (v == NULL) {
			free(text);
			return -ENOMEM;
		}
		v->text = text;
		*tail = v;
		tail = &v->next;
		skip_space(l);
		if (*l->p == ';')
			break;
		if (*l->p != ',')
			return fail(l, l->line, "%s: ',' or ';' was expected after '%s'", node->name, v->text);
		l->p++;
	}
	l->p++;
	return 0;
}

static int parse_nodes(struct lexer *l, unsigned depth, struct conf_node ***tail);

static int parse_block(struct lexer *l, unsigned depth, struct conf_node *node)
{
	struct conf_node **tail = &node->children;
	int r;

	if (depth >= MAX_DEPTH)
		return fail(l, l->line, "blocks are nested more than %d deep", MAX_DEPTH);
	node->block = true;
	r = parse_nodes(l, depth + 1, &tail);
	if (r < 0)
		return r;
	if (*l->p != '}')
		return fail(l, node->line, "block %s has no closing '}'", node->name);
	l->p++;
	return 0;
}

/* A path that is relative to the folder of file; NULL without memory. */
static char *relative_to(const char *file, const char *path)
{
	const char *slash = path[0] == '/' ? NULL : strrchr(file, '/');
	char *full;

	return asprintf(&full, "%.*s%s", slash ? (int)(slash + 1 - file) : 0, file, path) < 0 ? NULL : full;
}

/*
 * A new node, which belongs to the tree at once, so that an incomplete node is freed with the tree. NULL without
 * memory.
 */
static struct conf_node *add_node(const struct lexer *l, struct conf_node ***tail)
{
	struct conf_node *node = calloc(1, sizeof(*node));

	if (node == NULL)
		return NULL;
	**tail = node;
	*tail = &node->next;
	node->line = l->line;
	node->file = strdup(l->file);
	return node->file != NULL ? node : NULL;
}

/* The path of an included file as a statement, for callers that watch all files of the configuration. */
static int add_include(const struct lexer *l, const char *path, struct conf_node ***tail)
{
	struct conf_node *node = add_node(l, tail);

	if (node == NULL)
		return -ENOMEM;
	node->name = strdup("%include");
	node->values = calloc(1, sizeof(*node->values));
	if (node->values != NULL)
		node->values->text = strdup(path);
	return node->name != NULL && node->values != NULL && node->values->text != NULL ? 0 : -ENOMEM;
}

static int include(const struct lexer *l, const char *path, struct conf_node ***tail)
{
	int r = add_include(l, path, tail);

	if (r >= 0)
		r = load(path, l->includes + 1, tail, l->error);
	if (r < 0 && r != -EBADMSG)
		return fail(l, l->line, "%s: %s", path, strerror(-r));
	return r;
}

struct inclusion {
	const struct lexer *lexer;
	struct conf_node ***tail;
};

static int include_one(const char *path, void *arg)
{
	const struct inclusion *n = arg;

	return include(n->lexer, path, n->tail);
}

/* %dir FOLDER or FOLDER/PATTERN. Ganesha reads regular files and ignores symbolic links. */
static int include_folder(const struct lexer *l, char *path, struct conf_node ***tail)
{
	struct inclusion n = {.lexer = l, .tail = tail};
	char *slash = strrchr(path, '/'), *pattern = NULL;
	_cleanup_free_ char *itself = NULL;
	int r;

	if (slash != NULL && strpbrk(slash, "*?[") != NULL) {
		*slash = '\0';
		pattern = slash + 1;
	}
	r = folder_each(path, pattern, false, include_one, &n);
	if (r < 0 && r != -EBADMSG)
		return fail(l, l->line, "%s: %s", path, strerror(-r));
	if (r == 0)
		r = asprintf(&itself, "%s/", path) < 0 ? -ENOMEM : add_include(l, itself, tail);
	return r;
}

/* %include PATH, %dir PATH: relative to the including file. */
static int parse_directive(struct lexer *l, struct conf_node ***tail)
{
	_cleanup_free_ char *word = take_word(l), *path = NULL, *full = NULL;
	bool folder = word != NULL && strcmp(word, "%dir") == 0;
	int r;

	if (word == NULL || (!folder && strcmp(word, "%include") != 0))
		return fail(l, l->line, "%s is not supported, only %%include and %%dir are", word ? word : "%");
	skip_space(l);
	r = take_value(l, &path);
	if (r < 0)
		return r;
	if (l->includes >= MAX_DEPTH)
		return fail(l, l->line, "%%include is nested more than %d deep", MAX_DEPTH);
	full = relative_to(l->file, path);
	if (full == NULL)
		return -ENOMEM;
	return folder ? include_folder(l, full, tail) : include(l, full, tail);
}

static int parse_node(struct lexer *l, unsigned depth, struct conf_node ***tail)
{
	struct conf_node *node = add_node(l, tail);

	if (node == NULL)
		return -ENOMEM;
	node->name = take_word(l);
	if (node->name == NULL)
		return fail(l, l->line, "a name was expected, not '%.1s'", l->p);
	skip_space(l);
	switch (*l->p++) {
	case '=':
		return parse_values(l, node);
	case '{':
		return parse_block(l, depth, node);
	default:
		l->p--;
		return fail(l, l->line, "'=' or '{' was expected after %s", node->name);
	}
}

/* All nodes up to the end of the text, or up to a '}', which is not taken. */
static int parse_nodes(struct lexer *l, unsigned depth, struct conf_node ***tail)
{
	int r;

	for (;;) {
		skip_space(l);
		if (*l->p == '\0' || *l->p == '}')
			return 0;
		if (*l->p == '%' && depth == 0)
			r = parse_directive(l, tail);
		else
			r = parse_node(l, depth, tail);
		if (r < 0)
			return r;
	}
}

static int parse(const char *file, const char *text, unsigned includes, struct conf_node ***tail,
	struct conf_error *error)
{
	struct lexer l = {.file = file, .p = text, .line = 1, .includes = includes, .error = error};
	int r = parse_nodes(&l, 0, tail);

	if (r >= 0 && *l.p == '}')
		r = fail(&l, l.line, "'}' closes no block");
	return r;
}

static int load(const char *path, unsigned includes, struct conf_node ***tail, struct conf_error *error)
{
	_cleanup_free_ char *text = malloc(MAX_FILE + 1);
	ssize_t n;

	if (text == NULL)
		return -ENOMEM;
	n = read_small_file(path, text, MAX_FILE + 1);
	if (n < 0)
		return (int)n;
	if (n == MAX_FILE)
		return -EFBIG;
	if (strlen(text) != (size_t)n)
		return -EILSEQ;
	return parse(path, text, includes, tail, error);
}

int conf_tree_load(const char *path, struct conf_node **ret, struct conf_error *error)
{
	struct conf_node *tree = NULL, **tail = &tree;
	int r = load(path, 0, &tail, error);

	if (r < 0) {
		if (r != -EBADMSG)
			(void)snprintf(error->text, sizeof(error->text), "%s: %s", path,
				r == -EILSEQ ? "a text file was expected, it has NUL bytes" : strerror(-r));
		(void)conf_tree_free(tree);
		return r;
	}
	*ret = tree;
	return 0;
}

int conf_tree_parse(const char *name, const char *text, struct conf_node **ret, struct conf_error *error)
{
	struct conf_node *tree = NULL, **tail = &tree;
	int r = parse(name, text, 0, &tail, error);

	if (r < 0) {
		(void)conf_tree_free(tree);
		return r;
	}
	*ret = tree;
	return 0;
}
