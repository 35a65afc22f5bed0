/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/ganesha/ganesha_conf.h"

#include <stdio.h>
#include <string.h>

#include "sidecar/host/nfs_server.h"
#include "sidecar/ganesha/ganesha.h"

#define MAX_EXPORTS  1024
#define MAX_CLIENTS  4096 /* of one export */
#define DEFAULT_ANON ((uint32_t)-2)

/* Keys of EXPORT and CLIENT that have no influence on access to the data of files. */
static const char *const harmless[] = {"Pseudo", "Tag", "MaxRead", "MaxWrite", "PrefRead", "PrefWrite", "PrefReaddir",
	"Filesystem_id", "UseCookieVerifier", "DisableReaddirPlus", "Trust_Readdir_Negative_Cache", "Disable_ACL",
	"Security_Label", "NFS_Commit", "Delegations"};

struct word {
	const char *text;
	int value;
};

static const struct word squash_words[] = {{"Root", SQUASH_ROOT}, {"Root_Squash", SQUASH_ROOT},
	{"RootSquash", SQUASH_ROOT}, {"All", SQUASH_ALL}, {"All_Squash", SQUASH_ALL}, {"AllSquash", SQUASH_ALL},
	{"All_Anonymous", SQUASH_ALL}, {"AllAnonymous", SQUASH_ALL}, {"No_Root_Squash", SQUASH_NONE},
	{"None", SQUASH_NONE}, {"NoIdSquash", SQUASH_NONE}, {"RootId", SQUASH_ROOT_ID},
	{"Root_Id_Squash", SQUASH_ROOT_ID}, {"RootIdSquash", SQUASH_ROOT_ID}};

enum {
	ACCESS_NONE = 0,
	ACCESS_RO = 1,
	ACCESS_RW = 3
};
/* the metadata-only types give no access to data, like None */
static const struct word access_words[] = {{"None", ACCESS_NONE}, {"RW", ACCESS_RW}, {"RO", ACCESS_RO},
	{"MDONLY", ACCESS_NONE}, {"MDONLY_RO", ACCESS_NONE}};

/* In these lists 1 marks the word that list_has() looks for. */
static const struct word sec_words[] = {{"none", 0}, {"sys", 1}, {"krb5", 0}, {"krb5i", 0}, {"krb5p", 0}};
static const struct word protocol_words[] = {{"3", 1}, {"NFS3", 1}, {"V3", 1}, {"NFSv3", 1}, {"4", 0}, {"NFS4", 0},
	{"V4", 0}, {"NFSv4", 0}, {"9P", 0}, {"NFS_RDMA", 0}};
static const struct word transport_words[] = {{"UDP", 0}, {"TCP", 1}, {"RDMA", 0}};
static const struct word bool_words[] = {{"true", 1}, {"yes", 1}, {"on", 1}, {"false", 0}, {"no", 0}, {"off", 0}};

static bool is_key(const struct conf_node *n, const char *key)
{
	return strcasecmp(n->name, key) == 0;
}

static int find_word(const char *text, const struct word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(text, words[i].text) == 0)
			return words[i].value;
	return -ENOENT;
}

static int one_value(const struct conf_node *n, const char **ret, struct conf_error *error)
{
	if (n->block || n->values == NULL || n->values->next != NULL)
		return conf_tree_fail(error, n, "%s takes exactly one value", n->name);
	*ret = n->values->text;
	return 0;
}

static int one_word(const struct conf_node *n, const struct word *words, size_t count, int *ret,
	struct conf_error *error)
{
	const char *text = "";
	int r = one_value(n, &text, error);

	if (r < 0)
		return r;
	r = find_word(text, words, count);
	if (r < 0)
		return conf_tree_fail(error, n, "%s has no value '%s'", n->name, text);
	*ret = r;
	return 0;
}

/* *ret: the list has the marked word. -EBADMSG if the list has an unknown word. */
static int list_has(const struct conf_node *n, const struct word *words, size_t count, bool *ret,
	struct conf_error *error)
{
	bool has = false;

	if (n->block || n->values == NULL)
		return conf_tree_fail(error, n, "%s takes a list of values", n->name);
	for (const struct conf_value *v = n->values; v != NULL; v = v->next) {
		int r = find_word(v->text, words, count);

		if (r < 0)
			return conf_tree_fail(error, n, "%s has no value '%s'", n->name, v->text);
		has = has || r == 1;
	}
	*ret = has;
	return 0;
}

/* Decimal, octal or hexadecimal, with a sign when min < 0. */
static int number(const struct conf_node *n, long long min, long long max, long long *ret, struct conf_error *error)
{
	const char *text = "";
	long long v;
	char *end;
	int r = one_value(n, &text, error);

	if (r < 0)
		return r;
	errno = 0;
	v = strtoll(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' || v < min || v > max)
		return conf_tree_fail(error, n, "%s = %s: a number in %lld..%lld was expected", n->name, text, min,
			max);
	*ret = v;
	return 0;
}

static int boolean(const struct conf_node *n, bool *ret, struct conf_error *error)
{
	int value, r = one_word(n, bool_words, ARRAY_SIZE(bool_words), &value, error);

	if (r >= 0)
		*ret = value == 1;
	return r;
}

/* 1 if the statement is a permission and was read, 0 if it is another statement, or a negative errno. */
static int read_perm(const struct conf_node *n, struct export_perms *p, struct conf_error *error)
{
	uint32_t before = p->set;
	long long id, seconds;
	int value, r;

	if (is_key(n, "Squash")) {
		r = one_word(n, squash_words, ARRAY_SIZE(squash_words), &value, error);
		if (r >= 0)
			p->squash = (enum squash)value;
		p->set |= PERMS_SQUASH;
	} else if (is_key(n, "Access_Type")) {
		r = one_word(n, access_words, ARRAY_SIZE(access_words), &value, error);
		if (r >= 0) {
			p->read = value != ACCESS_NONE;
			p->write = value == ACCESS_RW;
		}
		p->set |= PERMS_ACCESS;
	} else if (is_key(n, "SecType")) {
		r = list_has(n, sec_words, ARRAY_SIZE(sec_words), &p->sec_sys, error);
		p->set |= PERMS_SECTYPE;
	} else if (is_key(n, "Protocols")) {
		r = list_has(n, protocol_words, ARRAY_SIZE(protocol_words), &p->nfs3, error);
		p->set |= PERMS_PROTOCOLS;
	} else if (is_key(n, "Transports")) {
		r = list_has(n, transport_words, ARRAY_SIZE(transport_words), &p->tcp, error);
		p->set |= PERMS_TRANSPORTS;
	} else if (is_key(n, "Anonymous_uid")) {
		r = number(n, INT32_MIN, UINT32_MAX, &id, error);
		if (r >= 0)
			p->anon_uid = (uint32_t)id;
		p->set |= PERMS_ANON_UID;
	} else if (is_key(n, "Anonymous_gid")) {
		r = number(n, INT32_MIN, UINT32_MAX, &id, error);
		if (r >= 0)
			p->anon_gid = (uint32_t)id;
		p->set |= PERMS_ANON_GID;
	} else if (is_key(n, "PrivilegedPort")) {
		r = boolean(n, &p->privileged_port, error);
		p->set |= PERMS_PRIVILEGED_PORT;
	} else if (is_key(n, "Manage_Gids")) {
		r = boolean(n, &p->manage_gids, error);
		p->set |= PERMS_MANAGE_GIDS;
	} else if (is_key(n, "Attr_Expiration_Time")) {
		r = number(n, -1, INT32_MAX, &seconds, error); /* -1: for ever */
		if (r >= 0)
			p->remembers = seconds != 0;
		p->set |= PERMS_REMEMBERS;
	} else {
		return 0;
	}
	if (r >= 0 && p->set == before)
		r = conf_tree_fail(error, n, "%s is set twice, once was expected", n->name);
	return r < 0 ? r : 1;
}

static int unknown_key(struct export_entry *e, const struct conf_node *n)
{
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		if (is_key(n, harmless[i]))
			return 0;
	return export_refuse(&e->refusal, REASON_EXPORT_OPTIONS,
		"%s:%u: %s is not known here and might restrict access", n->file, n->line, n->name);
}

static int add_clients(struct export_entry *e, const struct conf_node *list, const struct export_perms *perms,
	struct conf_error *error)
{
	int r;

	for (const struct conf_value *v = list->values; v != NULL; v = v->next) {
		struct export_client c = {.perms = *perms, .kind = CLIENT_NETWORK};

		if (e->nclients >= MAX_CLIENTS)
			return conf_tree_fail(error, list, "more than %d clients", MAX_CLIENTS);
		if (strcmp(v->text, "*") == 0 || strcmp(v->text, "0.0.0.0") == 0)
			c.kind = CLIENT_ANY;
		else if (ip_address_parse(v->text, &c.network, &c.prefix) < 0)
			c.kind = v->text[0] == '@'                 ? CLIENT_NETGROUP
				 : strpbrk(v->text, "*?[") != NULL ? CLIENT_WILDCARD
								   : CLIENT_HOST;
		c.name = strdup(v->text);
		r = c.name == NULL ? -ENOMEM : export_entry_add_client(e, &c);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_client(struct export_entry *e, const struct conf_node *block, struct conf_error *error)
{
	const struct conf_node *list = NULL;
	struct export_perms perms = {0};
	int r;

	for (const struct conf_node *n = block->children; n != NULL; n = n->next) {
		r = read_perm(n, &perms, error);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		if (is_key(n, "Clients")) {
			if (list != NULL || n->values == NULL)
				return conf_tree_fail(error, n, "CLIENT needs exactly one list of Clients");
			list = n;
		} else {
			r = unknown_key(e, n);
			if (r < 0)
				return r;
		}
	}
	if (list == NULL)
		return conf_tree_fail(error, block, "CLIENT names no Clients");
	return add_clients(e, list, &perms, error);
}

static int read_fsal(struct export_entry *e, const struct conf_node *block, struct conf_error *error)
{
	const char *name = NULL;
	int r;

	for (const struct conf_node *n = block->children; n != NULL; n = n->next) {
		if (!n->block && is_key(n, "Name"))
			r = one_value(n, &name, error);
		else
			r = export_refuse(&e->refusal, REASON_EXPORT_OPTIONS, "%s:%u: key %s of FSAL is not known here",
				n->file, n->line, n->name);
		if (r < 0)
			return r;
	}
	if (name == NULL)
		return conf_tree_fail(error, block, "FSAL has no Name");
	if (strcasecmp(name, "VFS") != 0)
		return export_refuse(&e->refusal, REASON_EXPORT_OPTIONS,
			"%s:%u: FSAL %s: VFS was expected, whose files are in a local filesystem", block->file,
			block->line, name);
	return 0;
}

static int read_path(struct export_entry *e, const struct conf_node *n, struct conf_error *error)
{
	const char *text = "";
	size_t len;
	int r = one_value(n, &text, error);

	if (r < 0)
		return r;
	if (text[0] != '/')
		return conf_tree_fail(error, n, "Path = %s: an absolute path was expected", text);
	len = strlen(text);
	while (len > 1 && text[len - 1] == '/')
		len--;
	free(e->path);
	e->path = strndup(text, len);
	return e->path != NULL ? 0 : -ENOMEM;
}

static int read_export(struct export_entry *e, const struct conf_node *block, struct conf_error *error)
{
	bool have_id = false, have_fsal = false;
	long long id;
	int r;

	for (const struct conf_node *n = block->children; n != NULL; n = n->next) {
		if (n->block && is_key(n, "Client")) {
			r = read_client(e, n, error);
		} else if (n->block && is_key(n, "FSAL")) {
			have_fsal = true;
			r = read_fsal(e, n, error);
		} else if (is_key(n, "Export_id")) {
			r = number(n, 0, UINT16_MAX, &id, error);
			if (r >= 0)
				e->id = (uint16_t)id;
			have_id = true;
		} else if (is_key(n, "Path")) {
			r = read_path(e, n, error);
		} else {
			r = read_perm(n, &e->perms, error);
			if (r == 0)
				r = unknown_key(e, n);
		}
		if (r < 0)
			return r;
	}
	if (!have_id || e->path == NULL || !have_fsal)
		return conf_tree_fail(error, block, "EXPORT needs an Export_Id, a Path and a block FSAL");
	return 0;
}

static bool id_is_taken(const struct export_table *t, uint16_t id)
{
	for (size_t i = 0; i < t->nentries; i++)
		if (t->entries[i].id == id)
			return true;
	return false;
}

static int add_export(struct export_table *t, const struct conf_node *block, struct conf_error *error)
{
	struct export_entry e = {0};
	int r;

	if (t->nentries >= MAX_EXPORTS)
		return conf_tree_fail(error, block, "more than %d exports", MAX_EXPORTS);
	r = read_export(&e, block, error);
	if (r >= 0 && id_is_taken(t, e.id))
		r = conf_tree_fail(error, block, "Export_Id %u is there twice, each export needs an id of its own",
			e.id);
	if (r >= 0)
		return export_table_add(t, &e);
	export_entry_done(&e);
	return r;
}

static int read_core(struct export_table *t, const struct conf_node *block, bool *nfs3, struct conf_error *error)
{
	long long port;
	int r;

	for (const struct conf_node *n = block->children; n != NULL; n = n->next) {
		r = 0;
		if (is_key(n, "NFS_Port")) {
			r = number(n, 1, UINT16_MAX, &port, error);
			if (r >= 0)
				t->nfs_port = (uint16_t)port;
		} else if (is_key(n, "Protocols") || is_key(n, "NFS_Protocols")) {
			r = list_has(n, protocol_words, ARRAY_SIZE(protocol_words), nfs3, error);
		} else if (is_key(n, "fsid_device")) {
			r = boolean(n, &t->fsid_device, error);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_defaults(struct export_table *t, const struct conf_node *block, struct conf_error *error)
{
	for (const struct conf_node *n = block->children; n != NULL; n = n->next) {
		int r = read_perm(n, &t->defaults, error);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads in two passes, since defaults at the end of the file are valid for exports before them. */
static int build(const struct conf_node *tree, struct export_table *t, struct conf_error *error)
{
	bool nfs3 = true;
	int r = 0;

	t->nfs_port = NFS_DEFAULT_PORT;
	t->defaults = (struct export_perms){
		.squash = SQUASH_ROOT,
		.sec_sys = true,
		.tcp = true,
		.remembers = true, /* for 60 s */
		.anon_uid = DEFAULT_ANON,
		.anon_gid = DEFAULT_ANON,
	};
	for (const struct conf_node *n = tree; n != NULL && r >= 0; n = n->next) {
		if (n->block && is_key(n, "NFS_CORE_PARAM"))
			r = read_core(t, n, &nfs3, error);
		else if (n->block && is_key(n, "EXPORT_DEFAULTS"))
			r = read_defaults(t, n, error);
	}
	if ((t->defaults.set & PERMS_PROTOCOLS) == 0)
		t->defaults.nfs3 = nfs3;
	t->defaults.set = UINT32_MAX;
	for (const struct conf_node *n = tree; n != NULL && r >= 0; n = n->next)
		if (n->block && is_key(n, "EXPORT"))
			r = add_export(t, n, error);
	/* No export has a protocol that the server does not have. */
	for (size_t i = 0; i < t->nentries && !nfs3; i++)
		if (r >= 0)
			r = export_refuse(&t->entries[i].refusal, REASON_CLIENT_DENIED,
				"the server's Protocols have no 3");
	return r;
}

static int add_sources(const struct conf_node *tree, struct export_table *t)
{
	int r = 0;

	for (const struct conf_node *n = tree; n != NULL && r >= 0; n = n->next)
		if (is_key(n, "%include"))
			r = export_table_add_source(t, n->values->text);
	return r;
}

/* Uses the tree up. */
static int finish(struct conf_node *tree, struct export_table **ret, struct conf_error *error)
{
	struct export_table *t = export_table_new(&server_ganesha);
	int r = t != NULL ? build(tree, t, error) : -ENOMEM;

	if (r >= 0)
		r = add_sources(tree, t);
	if (r >= 0)
		r = export_table_index_names(t);
	(void)conf_tree_free(tree);
	if (r < 0) {
		if (r != -EBADMSG)
			(void)snprintf(error->text, sizeof(error->text), "%s", strerror(-r));
		(void)export_table_unref(t);
		return r;
	}
	*ret = t;
	return 0;
}

int ganesha_conf_load(const char *path, struct export_table **ret, struct conf_error *error)
{
	struct conf_node *tree = NULL;
	int r = conf_tree_load(path, &tree, error);

	return r < 0 ? r : finish(tree, ret, error);
}

int ganesha_conf_parse(const char *name, const char *text, struct export_table **ret, struct conf_error *error)
{
	struct conf_node *tree = NULL;
	int r = conf_tree_parse(name, text, &tree, error);

	return r < 0 ? r : finish(tree, ret, error);
}
