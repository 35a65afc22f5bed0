/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/etab.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/server_kind.h"

#define MAX_EXPORTS 8192 /* paths */
#define MAX_CLIENTS 4096 /* lines of one path */
#define MAX_NAME    1024

struct reader {
	const char *name; /* of the file */
	unsigned line;
	const char *pos, *end;
	struct conf_error *error;
};

static int PRINTF(2, 3) fail(const struct reader *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)conf_error_set(r->error, r->name, r->line, format, ap);
	va_end(ap);
	return -EBADMSG;
}

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

/* Up to a blank, a '(' outside paths, or the line's end, without its escapes. */
static int read_word(struct reader *r, bool is_path, char *ret, size_t size)
{
	size_t n = 0;

	while (r->pos < r->end && !is_blank(*r->pos) && (is_path || *r->pos != '(')) {
		char c = *r->pos++;

		if (c == '\\' && r->end - r->pos >= 3 && is_octal(r->pos)) {
			c = (char)((r->pos[0] - '0') << 6 | (r->pos[1] - '0') << 3 | (r->pos[2] - '0'));
			r->pos += 3;
		}
		if (c == '\0')
			return fail(r, "a NUL byte in a name");
		if (n + 1 >= size)
			return fail(r, "a name longer than %zu bytes", size - 1);
		ret[n++] = c;
	}
	ret[n] = '\0';
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

/* The place of its kind in the search, MCL_FQDN and so on; an address without a mask is a host. */
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

/* 255.255.255.0 as 24; -EINVAL for anything but ones before zeros. */
static int prefix_of_mask(const char *text)
{
	struct ip_address mask;
	uint32_t bits;
	unsigned prefix;

	if (ip_address_parse(text, &mask, &prefix) < 0 || !ip_address_is_ipv4(&mask))
		return -EINVAL;
	bits = (uint32_t)mask.bytes[12] << 24 | (uint32_t)mask.bytes[13] << 16 |
		(uint32_t)mask.bytes[14] << 8 | mask.bytes[15];
	if (bits == 0)
		return 0;
	return (~bits & (~bits + 1)) == 0 ? 32 - __builtin_ctz(bits) : -EINVAL;
}

/* An address, a network, or else a name. */
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

/* ---- options ---- */

enum option {
	OPT_NONE, /* does not change who may do what with a file's data */
	OPT_RO,
	OPT_RW,
	OPT_SECURE,
	OPT_INSECURE,
	OPT_ROOT_SQUASH,
	OPT_NO_ROOT_SQUASH,
	OPT_ALL_SQUASH,
	OPT_NO_ALL_SQUASH,
	OPT_SUBTREE_CHECK,
	OPT_ANON_UID,
	OPT_ANON_GID,
	OPT_FSID,
	OPT_SEC,
	OPT_XPRTSEC,
	OPT_CROSSMNT,
	OPT_NOCROSSMNT,
	OPT_MOUNTPOINT,
};

static const struct {
	const char *name;
	enum option option;
	bool value; /* NAME=VALUE */
} options[] = {
	{"ro", OPT_RO, false},
	{"rw", OPT_RW, false},
	{"secure", OPT_SECURE, false},
	{"insecure", OPT_INSECURE, false},
	{"root_squash", OPT_ROOT_SQUASH, false},
	{"no_root_squash", OPT_NO_ROOT_SQUASH, false},
	{"all_squash", OPT_ALL_SQUASH, false},
	{"no_all_squash", OPT_NO_ALL_SQUASH, false},
	{"subtree_check", OPT_SUBTREE_CHECK, false},
	{"anonuid", OPT_ANON_UID, true},
	{"anongid", OPT_ANON_GID, true},
	{"fsid", OPT_FSID, true},
	{"sec", OPT_SEC, true},
	{"xprtsec", OPT_XPRTSEC, true},
	{"sync", OPT_NONE, false},
	{"async", OPT_NONE, false},
	{"wdelay", OPT_NONE, false},
	{"no_wdelay", OPT_NONE, false},
	{"hide", OPT_NONE, false},
	{"nohide", OPT_NONE, false},
	{"crossmnt", OPT_CROSSMNT, false},
	{"nocrossmnt", OPT_NOCROSSMNT, false},
	{"mountpoint", OPT_MOUNTPOINT, false},
	{"mountpoint", OPT_MOUNTPOINT, true},
	{"mp", OPT_MOUNTPOINT, false},
	{"mp", OPT_MOUNTPOINT, true},
	{"no_subtree_check", OPT_NONE, false},
	{"secure_locks", OPT_NONE, false},
	{"insecure_locks", OPT_NONE, false},
	{"auth_nlm", OPT_NONE, false},
	{"no_auth_nlm", OPT_NONE, false},
	{"acl", OPT_NONE, false},
	{"no_acl", OPT_NONE, false},
	{"pnfs", OPT_NONE, false},
	{"no_pnfs", OPT_NONE, false},
	{"nordirplus", OPT_NONE, false},
	{"security_label", OPT_NONE, false},
	{"ttl", OPT_NONE, true},
};

struct parsing {
	struct export_client client;
	bool root_squash, all_squash;
	bool saw_sec;  /* a sec= came: what follows holds for its flavours */
	bool in_sys;   /* ... and sys is one of them */
	bool had_sys;
};

static bool list_has(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = list;; p++) {
		const char *end = strchrnul(p, ':');

		if ((size_t)(end - p) == length && strncmp(p, word, length) == 0)
			return true;
		if (*end == '\0')
			return false;
		p = end;
	}
}

static int read_id(const struct reader *r, const char *name, const char *text, uint32_t *ret)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || v < INT32_MIN || v > UINT32_MAX)
		return fail(r, "%s=%s: an id was expected", name, text);
	*ret = (uint32_t)v;
	return 0;
}

static int read_fsid(const struct reader *r, const char *text, struct export_fsid *ret)
{
	uint64_t number;

	*ret = (struct export_fsid){.kind = EXPORT_FSID_NUMBER};
	if (strcmp(text, "root") == 0)
		return 0;
	if (parse_u64(text, 0, UINT32_MAX, &number) >= 0) {
		ret->number = (uint32_t)number;
		return 0;
	}
	/* valid_uuid() of nfs-utils: hexadecimal digits and separators, 32 digits */
	ret->kind = EXPORT_FSID_UUID;
	if (strlen(text) >= sizeof(ret->uuid) || strspn(text, "0123456789abcdefABCDEF-:") != strlen(text))
		return fail(r, "fsid=%s: a number, root or a UUID was expected", text);
	(void)snprintf(ret->uuid, sizeof(ret->uuid), "%s", text);
	return 0;
}

/* Options that differ by flavour: NFSEXP_SECINFO_FLAGS of the kernel. */
static void apply_flag(struct parsing *p, enum option option)
{
	struct export_perms *perms = &p->client.perms;

	if (p->saw_sec && !p->in_sys)
		return;
	switch (option) {
	case OPT_RO:
	case OPT_RW:
		perms->write = option == OPT_RW;
		break;
	case OPT_SECURE:
	case OPT_INSECURE:
		perms->privileged_port = option == OPT_SECURE;
		break;
	case OPT_ROOT_SQUASH:
	case OPT_NO_ROOT_SQUASH:
		p->root_squash = option == OPT_ROOT_SQUASH;
		break;
	default:
		p->all_squash = option == OPT_ALL_SQUASH;
		break;
	}
}

static int apply(const struct reader *r, struct parsing *p, enum option option, const char *name,
	const char *value)
{
	switch (option) {
	case OPT_NONE:
		return 0;
	case OPT_SUBTREE_CHECK:
		return export_refuse(&p->client.refusal, REASON_SUBTREE_CHECK, "%s:%u: subtree_check",
			r->name, r->line);
	case OPT_ANON_UID:
		return read_id(r, name, value, &p->client.perms.anon_uid);
	case OPT_ANON_GID:
		return read_id(r, name, value, &p->client.perms.anon_gid);
	case OPT_FSID:
		return read_fsid(r, value, &p->client.fsid);
	case OPT_SEC:
		p->saw_sec = true;
		p->in_sys = list_has(value, "sys");
		p->had_sys = p->had_sys || p->in_sys;
		return 0;
	case OPT_XPRTSEC:
		p->client.perms.tcp = list_has(value, "none");
		return 0;
	case OPT_CROSSMNT:
	case OPT_NOCROSSMNT:
		p->client.crossmnt = option == OPT_CROSSMNT;
		return 0;
	case OPT_MOUNTPOINT:
		free(p->client.mountpoint);
		p->client.mountpoint = strdup(value != NULL ? value : "");
		return p->client.mountpoint != NULL ? 0 : -ENOMEM;
	default:
		apply_flag(p, option);
		return 0;
	}
}

static int read_option(const struct reader *r, struct parsing *p, char *text)
{
	char *value = strchr(text, '=');
	bool known = false;

	if (value != NULL)
		*value++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (strcmp(text, options[i].name) != 0)
			continue;
		if (options[i].value == (value != NULL))
			return apply(r, p, options[i].option, text, value);
		known = true;
	}
	if (known)
		return fail(r, value == NULL ? "option %s needs a value" : "option %s takes no value", text);
	return export_refuse(&p->client.refusal, REASON_EXPORT_OPTIONS,
		"%s:%u: option %s is not known here and might restrict access", r->name, r->line, text);
}

static int read_options(struct reader *r, struct parsing *p)
{
	const char *close = memchr(r->pos, ')', (size_t)(r->end - r->pos));
	char *save = NULL;
	int n = 0;

	if (r->pos == r->end || *r->pos != '(' || close == NULL)
		return fail(r, "CLIENT(OPTION,...) was expected behind the path");
	_cleanup_free_ char *list = strndup(r->pos + 1, (size_t)(close - r->pos - 1));

	if (list == NULL)
		return -ENOMEM;
	for (char *one = strtok_r(list, ",", &save); one != NULL && n >= 0;
		one = strtok_r(NULL, ",", &save))
		n = read_option(r, p, one);
	r->pos = close + 1;
	return n;
}

static int read_client(struct reader *r, struct export_client *ret)
{
	struct parsing p = {
		.client.perms = {.set = UINT32_MAX, .read = true, .nfs3 = true, .tcp = true,
			.privileged_port = true, .anon_uid = 65534, .anon_gid = 65534},
		.root_squash = true};
	char name[MAX_NAME];
	int n = read_word(r, false, name, sizeof(name));

	if (n >= 0)
		n = read_options(r, &p);
	skip_blanks(r);
	if (n >= 0 && r->pos < r->end)
		n = fail(r, "'%.*s' behind the options", (int)MIN(r->end - r->pos, 20), r->pos);
	if (n >= 0 && (p.client.name = strdup(name)) == NULL)
		n = -ENOMEM;
	if (n < 0) {
		free(p.client.refusal.text);
		return n;
	}
	p.client.kind = kind_of(name);
	if (p.client.kind == CLIENT_HOST || p.client.kind == CLIENT_NETWORK)
		find_network(&p.client);
	p.client.perms.sec_sys = !p.saw_sec || p.had_sys;
	p.client.perms.squash = p.all_squash ? SQUASH_ALL : p.root_squash ? SQUASH_ROOT : SQUASH_NONE;
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

static int read_line(struct reader *r, struct export_table *t)
{
	struct export_client c;
	struct export_entry *e;
	char path[PATH_MAX];
	int n = read_word(r, true, path, sizeof(path));

	if (n < 0)
		return n;
	if (path[0] != '/')
		return fail(r, "%.60s: an absolute path was expected", path);
	skip_blanks(r);
	e = entry_of(t, path);
	if (e == NULL)
		return t->nentries < MAX_EXPORTS ? -ENOMEM : fail(r, "more than %d exports", MAX_EXPORTS);
	if (e->nclients >= MAX_CLIENTS)
		return fail(r, "more than %d clients of %s", MAX_CLIENTS, path);
	n = read_client(r, &c);
	return n < 0 ? n : export_entry_add_client(e, &c);
}

/* Stable: within a kind the file's order counts. */
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

int etab_parse(const char *name, FILE *f, struct export_table **ret, struct conf_error *error)
{
	struct export_table *t = export_table_new(&server_knfsd);
	struct reader r = {.name = name, .error = error};
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t length;
	int n = t != NULL ? 0 : -ENOMEM;

	while (n >= 0 && (length = getline(&line, &room, f)) >= 0) {
		r.line++;
		r.pos = line;
		r.end = line + length - (length > 0 && line[length - 1] == '\n');
		skip_blanks(&r);
		if (r.pos < r.end && *r.pos != '#')
			n = read_line(&r, t);
	}
	if (n >= 0 && ferror(f))
		n = errno > 0 ? -errno : -EIO;
	if (n < 0) {
		if (n != -EBADMSG)
			(void)snprintf(error->text, sizeof(error->text), "%s: %s", name, strerror(-n));
		(void)export_table_unref(t);
		return n;
	}
	for (size_t i = 0; i < t->nentries; i++)
		sort_clients(&t->entries[i]);
	n = export_table_index_names(t);
	if (n < 0)
		t = export_table_unref(t);
	*ret = t;
	return n;
}

int etab_load(const char *path, struct export_table **ret, struct conf_error *error)
{
	FILE *f = fopen(path, "re");
	int r;

	if (f == NULL && errno == ENOENT)
		f = fopen("/dev/null", "re");
	if (f == NULL) {
		r = -errno;
		(void)snprintf(error->text, sizeof(error->text), "%s: %s", path, strerror(-r));
		return r;
	}
	r = etab_parse(path, f, ret, error);
	(void)fclose(f);
	return r;
}
