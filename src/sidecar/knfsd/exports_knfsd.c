/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/knfsd/exports_knfsd.h"

#include <string.h>

#include "base/text.h"
#include "base/util.h"

#define AUTH_SYS "1"

static bool has_flavor(char *list, const char *flavor)
{
	char *save = NULL, *word;

	for (word = strtok_r(list, ":", &save); word != NULL; word = strtok_r(NULL, ":", &save))
		if (strcmp(word, flavor) == 0)
			return true;
	return false;
}

/* Reads an id behind name; *ret is unchanged if the word has another name, or no number. */
static void read_id(const char *word, const char *name, uint32_t *ret)
{
	size_t length = strlen(name);
	uint64_t id;

	if (strncmp(word, name, length) == 0 && parse_u64(word + length, 0, UINT32_MAX, &id) >= 0)
		*ret = (uint32_t)id;
}

struct terms {
	bool read_only, root_squash, all_squash, insecure;
};

static void read_flag(const char *word, struct terms *t)
{
	if (strcmp(word, "ro") == 0)
		t->read_only = true;
	else if (strcmp(word, "root_squash") == 0)
		t->root_squash = true;
	else if (strcmp(word, "all_squash") == 0)
		t->all_squash = true;
	else if (strcmp(word, "insecure") == 0)
		t->insecure = true;
}

/*
 * The anonymous id of an export for which the kernel prints no id: exp_flags() prints neither 65534 nor -2, which are
 * two different users. The etab, which mountd has read, says which of the two. An etab with a third id has changed
 * since then; the result is -2 then, the user that owns nothing.
 */
static uint32_t unsaid_id(uint32_t in_etab)
{
	return in_etab == 65534 ? in_etab : (uint32_t)-2;
}

/*
 * "rw,root_squash,...,anonuid=7,sec=390003:1,ro,root_squash": behind sec= come all flags of its flavours, if the
 * flavours have flags of their own. A missing flag is off.
 */
static void read_terms(char *flags, struct export_perms *perms)
{
	struct terms t = {.read_only = false};
	bool any_flavor = false, is_sys = false, others = false, starts_over = false;
	char *save = NULL, *word;

	perms->anon_uid = unsaid_id(perms->anon_uid);
	perms->anon_gid = unsaid_id(perms->anon_gid);
	for (word = strtok_r(flags, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
		if (strncmp(word, "sec=", 4) == 0) {
			starts_over = has_flavor(word + 4, AUTH_SYS);
			others = !starts_over;
			any_flavor = true;
			is_sys = is_sys || starts_over;
			continue;
		}
		if (others)
			continue;
		if (starts_over)
			t = (struct terms){.read_only = false};
		starts_over = false;
		read_flag(word, &t);
		read_id(word, "anonuid=", &perms->anon_uid);
		read_id(word, "anongid=", &perms->anon_gid);
	}
	perms->sec_sys = is_sys || !any_flavor;
	perms->write = !t.read_only;
	perms->squash = t.all_squash ? SQUASH_ALL : t.root_squash ? SQUASH_ROOT : SQUASH_NONE;
	perms->privileged_port = !t.insecure;
}

int exports_knfsd_terms(FILE *content, const char *path, const char *domain, struct export_perms *perms)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;

	/* "PATH<TAB>DOMAIN(FLAGS)"; an invalid or expired entry is a comment. */
	while (getline(&line, &room, content) >= 0) {
		char *tab = strchr(line, '\t'), *open = tab != NULL ? strrchr(tab, '(') : NULL,
		     *close = open != NULL ? strrchr(open, ')') : NULL;

		if (line[0] == '#' || close == NULL)
			continue;
		*tab = *open = *close = '\0';
		if (strcmp(unescape_octal(line), path) != 0 || strcmp(unescape_octal(tab + 1), domain) != 0)
			continue;
		read_terms(open + 1, perms);
		return 1;
	}
	return 0;
}

/* "0x" and words of the machine's byte order, each as eight digits: expkey_show() */
static bool same_fsid(const char *text, const struct nfs_handle *h)
{
	char expected[2 * sizeof(h->fsid) + 1] = "";

	for (unsigned i = 0; i + 4 <= h->fsid_length; i += 4) {
		uint32_t word;

		memcpy(&word, h->fsid + i, sizeof(word));
		(void)snprintf(expected + 2 * (size_t)i, 9, "%08x", word);
	}
	return strncmp(text, "0x", 2) == 0 && strcmp(text + 2, expected) == 0;
}

int exports_knfsd_path(FILE *content, const struct nfs_handle *h, const char *domain, char **ret)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;

	*ret = NULL;
	/* "DOMAIN FSIDTYPE FSID PATH"; a negative entry has no path. */
	while (getline(&line, &room, content) >= 0) {
		char *save = NULL, *whose = strtok_r(line, " \n", &save), *type = strtok_r(NULL, " \n", &save),
		     *fsid = strtok_r(NULL, " \n", &save), *path = strtok_r(NULL, " \n", &save);
		uint64_t number;

		if (whose == NULL || whose[0] == '#' || path == NULL || parse_u64(type, 0, UINT8_MAX, &number) < 0 ||
			number != h->fsid_type || !same_fsid(fsid, h) || strcmp(unescape_octal(whose), domain) != 0)
			continue;
		*ret = strdup(unescape_octal(path));
		return *ret != NULL ? 1 : -ENOMEM;
	}
	return 0;
}
