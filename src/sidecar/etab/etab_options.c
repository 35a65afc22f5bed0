/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/etab/etab_options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int etab_fail(const struct etab_place *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)conf_error_set(r->error, r->name, r->line, format, ap);
	va_end(ap);
	return -EBADMSG;
}

enum option {
	OPT_NONE, /* has no influence on access to the data of files */
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

static int read_id(const struct etab_place *r, const char *name, const char *text, uint32_t *ret)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || v < INT32_MIN || v > UINT32_MAX)
		return etab_fail(r, "%s=%s: an id was expected", name, text);
	*ret = (uint32_t)v;
	return 0;
}

static int read_fsid(const struct etab_place *r, const char *text, struct export_fsid *ret)
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
		return etab_fail(r, "fsid=%s: a number, root or a UUID was expected", text);
	(void)snprintf(ret->uuid, sizeof(ret->uuid), "%s", text);
	return 0;
}

/* Options that differ by flavour: NFSEXP_SECINFO_FLAGS of the kernel. */
static void apply_flag(struct etab_options *p, enum option option)
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

static int apply(const struct etab_place *r, struct etab_options *p, enum option option, const char *name,
	const char *value)
{
	switch (option) {
	case OPT_NONE:
		return 0;
	case OPT_SUBTREE_CHECK:
		return export_refuse(&p->client.refusal, REASON_SUBTREE_CHECK, "%s:%u: subtree_check", r->name,
			r->line);
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

static int read_option(const struct etab_place *r, struct etab_options *p, char *text)
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
		return etab_fail(r, value == NULL ? "option %s needs a value" : "option %s takes no value", text);
	return export_refuse(&p->client.refusal, REASON_EXPORT_OPTIONS,
		"%s:%u: option %s is not known here and might restrict access", r->name, r->line, text);
}

int etab_options_read(const struct etab_place *r, struct etab_options *p, const char *from, const char *to)
{
	_cleanup_free_ char *list = strndup(from, (size_t)(to - from));
	char *save = NULL;
	int n = list != NULL ? 0 : -ENOMEM;

	for (char *one = n < 0 ? NULL : strtok_r(list, ",", &save); one != NULL && n >= 0;
		one = strtok_r(NULL, ",", &save))
		n = read_option(r, p, one);
	return n;
}

void etab_options_init(struct etab_options *ret)
{
	*ret = (struct etab_options){.client.perms = {.set = UINT32_MAX,
					     .read = true,
					     .nfs3 = true,
					     .tcp = true,
					     .privileged_port = true,
					     .anon_uid = 65534,
					     .anon_gid = 65534},
		.root_squash = true};
}

void etab_options_finish(struct etab_options *p)
{
	p->client.perms.sec_sys = !p->saw_sec || p->had_sys;
	p->client.perms.squash = p->all_squash ? SQUASH_ALL : p->root_squash ? SQUASH_ROOT : SQUASH_NONE;
}

void etab_options_done(struct etab_options *p)
{
	free(p->client.mountpoint);
	free(p->client.refusal.text);
}

int etab_options_copy(const struct etab_options *from, struct etab_options *ret)
{
	*ret = *from;
	if (from->client.mountpoint != NULL)
		ret->client.mountpoint = strdup(from->client.mountpoint);
	if (from->client.refusal.text != NULL)
		ret->client.refusal.text = strdup(from->client.refusal.text);
	return !ret->client.mountpoint == !from->client.mountpoint &&
			       !ret->client.refusal.text == !from->client.refusal.text
		       ? 0
		       : -ENOMEM;
}
