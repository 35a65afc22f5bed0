/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <stdio.h>
#include <string.h>

#include "sidecar/etab/etab.h"
#include "sidecar/knfsd/knfsd.h"
#include "sidecar/knfsd/rights_knfsd.h"
#include "sidecar/knfsd/names_knfsd.h"

static int domain_of(const char *content, const char *address, char *ret, size_t size)
{
	FILE *f = fmemopen((void *)content, strlen(content), "r");
	struct ip_address a;
	unsigned prefix;
	char *domain;
	int r;

	assert_non_null(f);
	assert_int_equal(ip_address_parse(address, &a, &prefix), 0);
	r = names_knfsd_domain(f, &a, &domain);
	(void)snprintf(ret, size, "%s", domain != NULL ? domain : "(none)");
	free(domain);
	(void)fclose(f);
	return r;
}

static void the_kernel_tells_what_mountd_found(void **state)
{
	static const char content[] = "#class IP domain\n"
				      "nfsd 192.0.2.1 *,@group,host.example\n"
				      "# nfsd 192.0.2.2 *\n"
				      "nfsd 192.0.2.3 -no-domain-\n"
				      "nfsd 192.0.2.4 $192.0.2.4\n"
				      "other 192.0.2.5 *\n"
				      "nfsd 2001:0db8:0000:0000:0000:0000:0000:0001 *.example\n"
				      "nfsd\n"
				      "nfsd 192.0.2.6\n"
				      "nfsd garbage *\n";
	static const struct {
		const char *address, *domain;
		int found;
	} cases[] = {
		{"192.0.2.1", "*,@group,host.example", 1},
		{"192.0.2.2", "(none)", 0}, /* not valid any more */
		{"192.0.2.3", "", 1},
		{"192.0.2.4", "$192.0.2.4", 1}, /* mountd keeps the names to itself */
		{"192.0.2.5", "(none)", 0},
		{"2001:db8::1", "*.example", 1},
		{"192.0.2.6", "(none)", 0},
		{"192.0.2.9", "(none)", 0},
	};
	char text[100];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(domain_of(content, cases[i].address, text, sizeof(text)), cases[i].found);
		assert_string_equal(text, cases[i].domain);
	}
}

static void the_kernel_tells_which_groups_it_takes(void **state)
{
	static const char content[] = "#uid cnt: gids...\n"
				      "1001 2: 2001 2002\n"
				      "# 1002 1: 2001\n"
				      "1003 0:\n"
				      "1004 17: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
				      "1005 2: 2001\n"
				      "1006 1: x\n"
				      "1007\n"
				      "0 1: 0\n";
	static const struct {
		uint32_t uid;
		int found;
		uint32_t ngroups;
	} cases[] = {{1001, 1, 2}, {1002, 0, 0}, {1003, 0, 0}, {1004, 0, 0}, {1005, 0, 0}, {1006, 0, 0}, {1007, 0, 0},
		{0, 1, 1}, {9, 0, 0}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct broker_cred cred = {.uid = cases[i].uid, .gid = 7, .ngroups = 3, .groups = {4, 5, 6}};
		FILE *f = fmemopen((void *)content, strlen(content), "r");
		bool any;

		assert_non_null(f);
		assert_int_equal(rights_knfsd_groups(f, &cred, &any), cases[i].found);
		assert_true(any);
		assert_int_equal(cred.ngroups, cases[i].found ? cases[i].ngroups : 3);
		if (cases[i].uid == 1001)
			assert_true(cred.groups[0] == 2001 && cred.groups[1] == 2002 && cred.gid == 7);
		(void)fclose(f);
	}
}

static struct export_table *parse(const char *text)
{
	struct export_table *t = NULL;
	struct conf_error error;
	FILE *f = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(f);
	assert_int_equal(etab_parse(&server_knfsd, "etab", f, false, &t, &error), 0);
	(void)fclose(f);
	return t;
}

static void each_name_is_asked_about_once(void **state)
{
	struct export_table *t = parse("/a\tb.example(rw)\n/a\t10.0.0.1(rw)\n/a\ta.example(rw)\n"
				       "/b\tb.example(ro)\n/b\t@g(ro)\n/b\tgss/krb5(ro)\n/b\t*(ro)\n");

	assert_int_equal(t->nnames, 3);
	for (size_t i = 0; i < t->nentries; i++)
		for (size_t j = 0; j < t->entries[i].nclients; j++) {
			const struct export_client *c = &t->entries[i].clients[j];

			if (strcmp(c->name, "b.example") == 0 || strcmp(c->name, "a.example") == 0 || c->name[0] == '@')
				assert_string_equal(t->names[c->name_index]->name, c->name);
		}
	(void)export_table_unref(t);
}

static void what_nobody_can_tell_hides_what_stands_behind_it(void **state)
{
	struct export_table *t =
		parse("/a\t10.0.0.1(rw)\n/a\ta.example(rw)\n/a\t@g(rw)\n/a\tgss/krb5(rw)\n/a\t*(ro)\n");
	const struct export_client *client;
	struct export_perms perms;
	struct peer p = {.port = 0};
	unsigned prefix;
	uint8_t verdicts[2];

	/* Hosts come first, by name or address, in the file's order. */
	assert_int_equal(ip_address_parse("10.0.0.1", &p.address, &prefix), 0);
	assert_int_equal(export_table_perms(t, t->entries, &p, &perms, &client), REASON_NONE);
	assert_string_equal(client->name, "10.0.0.1");
	assert_int_equal(ip_address_parse("10.0.0.2", &p.address, &prefix), 0);
	assert_int_equal(export_table_perms(t, t->entries, &p, &perms, &client), REASON_EXPORT_OPTIONS);
	p.verdicts = verdicts;
	for (unsigned host = PEER_UNKNOWN; host <= PEER_MEANT; host++)
		for (unsigned group = PEER_UNKNOWN; group <= PEER_MEANT; group++) {
			bool known = host == PEER_MEANT || (host == PEER_OTHER && group != PEER_UNKNOWN);

			for (size_t i = 0; i < t->nnames; i++)
				verdicts[i] = (uint8_t)(t->names[i]->name[0] == '@' ? group : host);
			assert_int_equal(export_table_perms(t, t->entries, &p, &perms, &client),
				known ? REASON_NONE : REASON_EXPORT_OPTIONS);
			if (known)
				assert_int_equal(perms.write, host == PEER_MEANT || group == PEER_MEANT);
		}
	(void)export_table_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_tells_what_mountd_found),
		cmocka_unit_test(the_kernel_tells_which_groups_it_takes),
		cmocka_unit_test(each_name_is_asked_about_once),
		cmocka_unit_test(what_nobody_can_tell_hides_what_stands_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
