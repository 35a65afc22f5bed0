/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/etab/etab.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/etab/etab_options.h"
#include "sidecar/conf/folder.h"

#define MAX_EXPORTS 8192 /* paths */
#define MAX_CLIENTS 4096 /* lines of one path */
#define MAX_NAME    1024

struct reader {
	struct etab_place at;
	bool free_form; /* the form of exports(5) */
	const char *pos, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct reader *r)
{
	while (r->pos < r->end && is_blank(*r->pos))
		r->pos++;
}

static bool is_octal(const char *p)
{
	return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' && p[2] <= '7';
}

/* Reads up to a blank, a '(' outside paths, or the end of the line, and decodes escapes; or reads a text in quotes. */
static int read_word(struct reader *r, bool is_path, char *ret, size_t size)
{
	bool quoted = r->free_form && r->pos < r->end && *r->pos == '"';
	size_t n = 0;

	if (quoted)
		r->pos++;
	while (r->pos < r->end && (quoted ? *r->pos != '"' : !is_blank(*r->pos) && (is_path || *r->pos != '('))) {
		char c = *r->pos++;

		if (c == '\\' && r->end - r->pos >= 3 && is_octal(r->pos)) {
			c = (char)((r->pos[0] - '0') << 6 | (r->pos[1] - '0') << 3 | (r->pos[2] - '0'));
			r->pos += 3;
		}
		if (c == '\0')
			return etab_fail(&r->at, "a name has a NUL byte");
		if (n + 1 >= size)
			return etab_fail(&r->at, "a name is longer than %zu bytes", size - 1);
		ret[n++] = c;
	}
	ret[n] = '\0';
	if (quoted && r->pos == r->end)
		return etab_fail(&r->at, "a quoted name has no closing quote");
	r->pos += quoted;
	return 0;
}

/* ---- clients: client_gettype() of nfs-utils ---- */

static enum client_kind kind_of(const char *client)
{
	if (client[0] == '\0' || strcmp(client, "*") == 0)
		return CLIENT_ANY;
	if (strncmp(client, "gss/", 4) == 0)
		return CLIENT_NOBODY;
	if (client[0] == '@')
		return CLIENT_NETGROUP;
	if (strpbrk(client, "*?[") != NULL)
		return CLIENT_WILDCARD;
	return strchr(client, '/') != NULL ? CLIENT_NETWORK : CLIENT_HOST;
}

/* The rank of a client in mountd's search, MCL_FQDN to MCL_ANONYMOUS; an address without a mask is a host. */
static unsigned rank_of(const struct export_client *c)
{
	switch (c->kind) {
	case CLIENT_HOST:
		return 0;
	case CLIENT_NETWORK:
		return strchr(c->name, '/') != NULL ? 1 : 0;
	case CLIENT_WILDCARD:
		return 2;
	case CLIENT_NETGROUP:
		return 3;
	case CLIENT_ANY:
		return 4;
	case CLIENT_NOBODY:
		break;
	}
	return 5;
}

/* 24 for 255.255.255.0; -EINVAL if a one follows a zero. */
static int prefix_of_mask(const char *text)
{
	struct ip_address mask;
	uint32_t bits;
	unsigned prefix;

	if (ip_address_parse(text, &mask, &prefix) < 0 || !ip_address_is_ipv4(&mask))
		return -EINVAL;
	bits = (uint32_t)mask.bytes[12] << 24 | (uint32_t)mask.bytes[13] << 16 | (uint32_t)mask.bytes[14] << 8 |
	       mask.bytes[15];
	if (bits == 0)
		return 0;
	return (~bits & (~bits + 1)) == 0 ? 32 - __builtin_ctz(bits) : -EINVAL;
}

/* Decides between an address or network, and a host name. */
static void find_network(struct export_client *c)
{
	const char *slash = strchr(c->name, '/');
	char text[IP_ADDRESS_TEXT + 8];
	int prefix;

	c->kind = CLIENT_NETWORK;
	if (ip_address_parse(c->name, &c->network, &c->prefix) >= 0)
		return;
	prefix = slash != NULL ? prefix_of_mask(slash + 1) : -EINVAL;
	if (prefix >= 0 && (size_t)(slash - c->name) < IP_ADDRESS_TEXT) {
		(void)snprintf(text, sizeof(text), "%.*s/%d", (int)(slash - c->name), c->name, prefix);
		if (ip_address_parse(text, &c->network, &c->prefix) >= 0)
			return;
	}
	c->kind = CLIENT_HOST;
}

static int read_options(struct reader *r, struct etab_options *p)
{
	const char *open = r->pos, *close = memchr(open, ')', (size_t)(r->end - open));

	if (r->free_form && (open == r->end || is_blank(*open)))
		return 0;
	if (open == r->end || *open != '(' || close == NULL)
		return etab_fail(&r->at, "CLIENT(OPTION,...) was expected behind the path");
	r->pos = close + 1;
	if (r->free_form && r->pos < r->end && !is_blank(*r->pos))
		return etab_fail(&r->at, "a blank was expected behind ')'");
	return etab_options_read(&r->at, p, open + 1, close);
}

static int read_client(struct reader *r, const struct etab_options *defaults, struct export_client *ret)
{
	struct etab_options p;
	char name[MAX_NAME] = "";
	int n = etab_options_copy(defaults, &p);

	if (n >= 0)
		n = read_word(r, false, name, sizeof(name));
	if (n >= 0)
		n = read_options(r, &p);
	skip_blanks(r);
	if (n >= 0 && r->pos < r->end && !r->free_form)
		n = etab_fail(&r->at, "'%.*s' behind the options", (int)MIN(r->end - r->pos, 20), r->pos);
	if (n >= 0 && (p.client.name = strdup(name)) == NULL)
		n = -ENOMEM;
	if (n < 0) {
		etab_options_done(&p);
		return n;
	}
	p.client.kind = kind_of(name);
	if (p.client.kind == CLIENT_HOST || p.client.kind == CLIENT_NETWORK)
		find_network(&p.client);
	etab_options_finish(&p);
	*ret = p.client;
	return 0;
}

static struct export_entry *entry_of(struct export_table *t, const char *path)
{
	struct export_entry e = {0};
	const struct export_entry *found = export_table_find(t, 0, path);

	if (found != NULL)
		return &t->entries[found - t->entries];
	e.path = t->nentries < MAX_EXPORTS ? strdup(path) : NULL;
	if (e.path == NULL || export_table_add(t, &e) < 0)
		return NULL;
	return &t->entries[t->nentries - 1];
}

static int add_client(struct reader *r, struct export_entry *e, const struct etab_options *defaults)
{
	struct export_client c;
	int n;

	if (e->nclients >= MAX_CLIENTS)
		return etab_fail(&r->at, "more than %d clients of %s", MAX_CLIENTS, e->path);
	n = read_client(r, defaults, &c);
	return n < 0 ? n : export_entry_add_client(e, &c);
}

/* exports(5): reads "-OPTION,...", which is for the following clients. */
static int read_defaults(struct reader *r, struct etab_options *defaults)
{
	const char *end = r->pos;
	int n;

	while (end < r->end && !is_blank(*end))
		end++;
	n = etab_options_read(&r->at, defaults, r->pos + 1, end);
	r->pos = end;
	skip_blanks(r);
	return n;
}

static int read_clients(struct reader *r, struct export_entry *e, struct etab_options *defaults)
{
	int n;

	do {
		n = 0;
		if (r->free_form && r->pos < r->end && *r->pos == '-')
			n = read_defaults(r, defaults);
		if (n >= 0)
			n = add_client(r, e, defaults);
	} while (n >= 0 && r->pos < r->end && *r->pos != '#');
	return n;
}

static int read_line(struct reader *r, struct export_table *t)
{
	struct etab_options defaults;
	struct export_entry *e;
	char path[PATH_MAX];
	int n = read_word(r, true, path, sizeof(path));

	if (n < 0)
		return n;
	if (path[0] != '/')
		return etab_fail(&r->at, "%.60s: an absolute path was expected", path);
	skip_blanks(r);
	/* mountd takes a missing client for all hosts; here the line may be incomplete, so it is an error. */
	if (r->pos == r->end || *r->pos == '#')
		return etab_fail(&r->at, "CLIENT(OPTION,...) was expected behind the path");
	e = entry_of(t, path);
	if (e == NULL)
		return t->nentries < MAX_EXPORTS ? -ENOMEM : etab_fail(&r->at, "more than %d exports", MAX_EXPORTS);
	etab_options_init(&defaults);
	n = read_clients(r, e, &defaults);
	etab_options_done(&defaults);
	return n;
}

/* A stable sort: clients of one rank keep the order of the file. */
static void sort_clients(struct export_entry *e)
{
	for (size_t i = 1; i < e->nclients; i++) {
		struct export_client c = e->clients[i];
		size_t at = i;

		for (; at > 0 && rank_of(&e->clients[at - 1]) > rank_of(&c); at--)
			e->clients[at] = e->clients[at - 1];
		e->clients[at] = c;
	}
}

/* 1 with the next line; in exports(5) a backslash joins the following line. 0 at the end of the file. */
static int next_line(struct reader *r, FILE *f, char **line, size_t *room)
{
	ssize_t length = getline(line, room, f), more = 0;
	_cleanup_free_ char *next = NULL;
	size_t next_room = 0;

	if (length < 0)
		return !ferror(f) ? 0 : errno > 0 ? -errno : -EIO;
	r->at.line++;
	while (r->free_form && length >= 2 && memcmp(*line + length - 2, "\\\n", 2) == 0 &&
		(more = getline(&next, &next_room, f)) > 0) {
		char *grown = realloc(*line, (size_t)(length + more) + 1);

		if (grown == NULL)
			return -ENOMEM;
		*line = grown;
		*room = (size_t)(length + more) + 1;
		grown[length - 2] = ' ';
		memcpy(grown + length - 1, next, (size_t)more + 1);
		length += more - 1;
		r->at.line++;
	}
	r->pos = *line;
	r->end = *line + length - (length > 0 && (*line)[length - 1] == '\n');
	return 1;
}

static int read_file(struct reader *r, FILE *f, struct export_table *t)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	int n;

	while ((n = next_line(r, f, &line, &room)) > 0) {
		skip_blanks(r);
		if (r->pos < r->end && *r->pos != '#')
			n = read_line(r, t);
		if (n < 0)
			break;
	}
	if (n < 0 && n != -EBADMSG)
		(void)snprintf(r->at.error->text, sizeof(r->at.error->text), "%s: %s", r->at.name, strerror(-n));
	return n;
}

/* Completes the table, or frees it if n, the result of reading, is an error. */
static int finish(struct export_table *t, int n, struct export_table **ret)
{
	for (size_t i = 0; i < t->nentries && n >= 0; i++)
		sort_clients(&t->entries[i]);
	if (n >= 0)
		n = export_table_index_names(t);
	if (n < 0)
		t = export_table_unref(t);
	*ret = t;
	return n;
}

int etab_parse(const struct server_kind *server, const char *name, FILE *f, bool free_form, struct export_table **ret,
	struct conf_error *error)
{
	struct export_table *t = export_table_new(server);
	struct reader r = {.at = {.name = name, .error = error}, .free_form = free_form};

	return t == NULL ? -ENOMEM : finish(t, read_file(&r, f, t), ret);
}

struct loading {
	struct export_table *table;
	struct conf_error *error;
	bool free_form;
};

/* A missing file is an empty file. */
static int load_file(const char *path, void *arg)
{
	const struct loading *l = arg;
	struct reader r = {.at = {.name = path, .error = l->error}, .free_form = l->free_form};
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	int n = f == NULL && errno != ENOENT ? -errno : 0;

	if (n < 0)
		(void)snprintf(l->error->text, sizeof(l->error->text), "%s: %s", path, strerror(-n));
	return f != NULL ? read_file(&r, f, l->table) : n;
}

/* Reads the folder FILE.d, if it exists, as exportfs reads /etc/exports.d. */
static int load_folder(const char *path, struct loading *l)
{
	_cleanup_free_ char *folder = NULL, *itself = NULL;
	int n;

	if (asprintf(&folder, "%s.d", path) < 0 || asprintf(&itself, "%s.d/", path) < 0)
		return -ENOMEM;
	n = folder_each(folder, "[!.]*.exports", true, load_file, l);
	if (n == -ENOENT)
		return 0;
	if (n < 0 && l->error->text[0] == '\0')
		(void)snprintf(l->error->text, sizeof(l->error->text), "%s: %s", folder, strerror(-n));
	return n < 0 ? n : export_table_add_source(l->table, itself);
}

int etab_load(const struct server_kind *server, const char *path, struct export_table **ret, struct conf_error *error)
{
	const char *slash = strrchr(path, '/');
	struct loading l = {.table = export_table_new(server),
		.error = error,
		.free_form = strcmp(slash != NULL ? slash + 1 : path, "etab") != 0};
	int n;

	error->text[0] = '\0';
	n = l.table == NULL ? -ENOMEM : load_file(path, &l);
	if (n >= 0 && l.free_form)
		n = load_folder(path, &l);
	if (l.table != NULL)
		n = finish(l.table, n, ret);
	if (n < 0 && error->text[0] == '\0')
		(void)snprintf(error->text, sizeof(error->text), "%s: %s", path, strerror(-n));
	return n;
}
