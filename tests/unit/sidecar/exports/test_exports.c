/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/ganesha/ganesha_conf.h"
#include "sidecar/exports/peer.h"
#include "base/util.h"

#define FSAL "FSAL { Name = VFS; } "

static struct export_table *parse_ok(const char *text)
{
	struct export_table *t = NULL;
	struct conf_error error = {""};
	int r = ganesha_conf_parse("x.conf", text, &t, &error);

	if (r < 0)
		print_error("%s\n", error.text);
	assert_int_equal(r, 0);
	return t;
}

static void refused(const char *text, const char *expected)
{
	struct export_table *t = NULL;
	struct conf_error error = {""};

	assert_int_equal(ganesha_conf_parse("x.conf", text, &t, &error), -EBADMSG);
	if (strstr(error.text, expected) == NULL)
		print_error("%s\n", error.text);
	assert_non_null(strstr(error.text, expected));
}

static const struct export_entry *entry(const struct export_table *t, uint16_t id)
{
	size_t i = 0;

	while (t->entries[i].id != id)
		assert_true(++i < t->nentries);
	return &t->entries[i];
}

static enum reason ask(const struct export_table *t, const struct export_entry *e, const char *peer,
	struct export_perms *ret)
{
	const struct export_client *c;
	struct peer from = {.port = 0};
	unsigned prefix;

	assert_int_equal(ip_address_parse(peer, &from.address, &prefix), 0);
	return export_table_perms(t, e, &from, ret, &c);
}

static struct export_perms perms_for(const struct export_table *t, uint16_t id, const char *peer)
{
	struct export_perms p;

	assert_int_equal(ask(t, entry(t, id), peer, &p), REASON_NONE);
	return p;
}

static void the_servers_defaults_hold(void **state)
{
	struct export_table *t = parse_ok("EXPORT { Export_Id = 1; Path = /a/; " FSAL "}");
	struct export_perms p = perms_for(t, 1, "192.0.2.1");

	assert_int_equal(t->nfs_port, 2049);
	assert_string_equal(entry(t, 1)->path, "/a");
	assert_false(p.read); /* Access_Type None */
	assert_int_equal(p.squash, SQUASH_ROOT);
	assert_int_equal(p.anon_uid, 4294967294U);
	assert_true(p.sec_sys && p.nfs3 && p.tcp);
	assert_false(p.privileged_port || p.manage_gids);
	(void)export_table_unref(t);
}

static void the_full_syntax_is_read(void **state)
{
	struct export_table *t = parse_ok("# a comment { ;\n"
					  "nfs_core_param { NFS_Port = 0x36e1; Bind_addr = 127.0.0.1;\n"
					  "  Plugins_Dir = \"/usr/lib/a b\"; Enable_UDP = false; }\n"
					  "NFSv4 { Graceless = true; Minor_Versions = 0, 1, 2; }\n"
					  "EXPORT { export_id = 78; PATH = '/srv/d a'; Pseudo = /exp;\n"
					  "  Access_Type = RW; Squash = no_root_squash;\n"
					  "  Anonymous_Uid = -2; " FSAL "\n"
					  "  CLIENT { Clients = 10.0.0.0/8, 192.0.2.7; Squash = All; }\n"
					  "  CLIENT { Clients = fd00::/8; Access_Type = RO; }\n"
					  "  CLIENT { Clients = *; PrivilegedPort = yes; }\n"
					  "}\nEXPORT_DEFAULTS { Anonymous_gid = 7; SecType = sys, krb5; }\n");

	assert_int_equal(t->nfs_port, 14049);
	assert_string_equal(entry(t, 78)->path, "/srv/d a");
	assert_int_equal(entry(t, 78)->nclients, 4);
	assert_int_equal(perms_for(t, 78, "10.1.2.3").squash, SQUASH_ALL);
	assert_false(perms_for(t, 78, "10.1.2.3").privileged_port);
	assert_int_equal(perms_for(t, 78, "192.0.2.7").squash, SQUASH_ALL);
	assert_int_equal(perms_for(t, 78, "192.0.2.8").squash, SQUASH_NONE);
	assert_true(perms_for(t, 78, "192.0.2.8").privileged_port);
	assert_true(perms_for(t, 78, "fd00::1").read);
	assert_false(perms_for(t, 78, "fd00::1").write);
	assert_int_equal(perms_for(t, 78, "fe80::1").anon_gid, 7);
	assert_int_equal(perms_for(t, 78, "10.0.0.1").squash, SQUASH_ALL);
	(void)export_table_unref(t);
}

static bool remembers(const char *defaults, const char *option)
{
	struct export_table *t;
	char text[256];
	bool answer;

	(void)snprintf(text, sizeof(text), "EXPORT { Export_Id = 1; Path = /a; %s " FSAL "}\nEXPORT_DEFAULTS { %s }\n",
		option, defaults);
	t = parse_ok(text);
	answer = perms_for(t, 1, "192.0.2.1").remembers;
	(void)export_table_unref(t);
	return answer;
}

/* Ganesha 4.3: 60 s unless the export says otherwise, or else EXPORT_DEFAULTS; 0 is never, -1 for ever. */
static void ganesha_remembers_attributes_unless_told_not_to(void **state)
{
	assert_true(remembers("", ""));
	assert_false(remembers("", "Attr_Expiration_Time = 0;"));
	assert_true(remembers("", "attr_expiration_time = -1;"));
	assert_false(remembers("Attr_Expiration_Time = 0;", ""));
	assert_true(remembers("Attr_Expiration_Time = 0;", "Attr_Expiration_Time = 5;"));
	assert_false(remembers("Attr_Expiration_Time = 5;", "Attr_Expiration_Time = 0;"));
	refused("EXPORT { Attr_Expiration_Time = -2; }", "Attr_Expiration_Time = -2");
}

static void an_ipv6_network_holds_no_ipv4_client(void **state)
{
	struct ip_address a, network;
	unsigned prefix;

	assert_int_equal(ip_address_parse("::/0", &network, &prefix), 0);
	assert_int_equal(ip_address_parse("10.1.2.3", &a, &(unsigned){0}), 0);
	assert_false(ip_address_in(&a, &network, prefix));
	assert_int_equal(ip_address_parse("fd00::1", &a, &(unsigned){0}), 0);
	assert_true(ip_address_in(&a, &network, prefix));
	assert_int_equal(ip_address_parse("0.0.0.0/0", &network, &prefix), 0);
	assert_false(ip_address_in(&a, &network, prefix));
	assert_int_equal(ip_address_parse("::ffff:10.0.0.0/104", &network, &prefix), -EINVAL);
}

static void errors_name_file_line_and_value(void **state)
{
	refused("EXPORT {\n Export_Id = 70000; Path = /a; " FSAL "}", "x.conf:2: Export_Id = 70000");
	refused("EXPORT {\n\n Squash = Rot; }", "x.conf:3: Squash has no value 'Rot'");
	refused("EXPORT { Path = a; }", "an absolute path");
	refused("EXPORT { Path = /a; " FSAL "}", "needs an Export_Id");
	refused("EXPORT { Export_Id = 1; Path = /a; Squash = All; Squash = None; " FSAL "}", "twice");
	refused("EXPORT { Export_Id = 1; Path = /a; " FSAL "}EXPORT { Export_Id = 1; Path = /b; " FSAL "}",
		"is there twice");
	refused("EXPORT { Export_Id = 1; Path = /a; " FSAL " CLIENT { Squash = All; } }", "names no Clients");
	refused("EXPORT { Path = \"/a; }", "has no end");
	refused("EXPORT { Path = /a;", "no closing");
	refused("EXPORT = 1; }", "closes no block");
	refused("EXPORT { Path /a; }", "'=' or '{'");
	refused("%url http://x/", "only %include");
	refused("%include /nonexistent/x\n", "/nonexistent/x: No such file");
	refused("EXPORT { Manage_Gids = perhaps; }", "no value 'perhaps'");
}

static void what_cannot_be_honoured_gets_no_grants(void **state)
{
	static const char *const texts[] = {
		"EXPORT { Export_Id = 1; Path = /a; New_Restriction = 1; " FSAL "}",
		"EXPORT { Export_Id = 1; Path = /a; FSAL { Name = CEPH; } }",
		"EXPORT { Export_Id = 1; Path = /a; FSAL { Name = VFS; fsid_type = None; } }",
		"NFS_CORE_PARAM { Protocols = 4; } EXPORT { Export_Id = 1; Path = /a; " FSAL "}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct export_table *t = parse_ok(texts[i]);

		assert_non_null(entry(t, 1)->refusal.text);
		(void)export_table_unref(t);
	}
}

/* A name might mean any peer that no entry before it names. */
static void clients_behind_a_name_get_no_grants(void **state)
{
	static const char *const names[] = {"host.example", "@netgroup", "*.example"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct export_perms p;
		struct export_table *t;
		char text[256];

		(void)snprintf(text, sizeof(text),
			"EXPORT { Export_Id = 1; Path = /a; Access_Type = RO; " FSAL
			"CLIENT { Clients = 10.0.0.1, %s, 10.0.0.2; Access_Type = RW; } }",
			names[i]);
		t = parse_ok(text);
		assert_int_equal(ask(t, entry(t, 1), "10.0.0.1", &p), REASON_NONE);
		assert_true(p.write);
		assert_int_equal(ask(t, entry(t, 1), "10.0.0.2", &p), REASON_EXPORT_OPTIONS);
		assert_int_equal(ask(t, entry(t, 1), "10.0.0.3", &p), REASON_EXPORT_OPTIONS);
		(void)export_table_unref(t);
	}
}

static void only_a_real_change_revokes(void **state)
{
	struct export_table *a = parse_ok("EXPORT { Export_Id = 1; Path = /a; Squash = All; " FSAL "}"),
			    *b = parse_ok("# new\nEXPORT { Export_Id = 1; Path = /a/; Squash = "
					  "All_Squash; Pseudo = /x; " FSAL "}"),
			    *c = parse_ok("EXPORT { Export_Id = 1; Path = /a; Squash = Root; " FSAL "}"),
			    *d = parse_ok("EXPORT { Export_Id = 2; Path = /a; Squash = All; " FSAL "}"),
			    *e = parse_ok("EXPORT_DEFAULTS { Anonymous_uid = 5; } EXPORT { Export_Id = 1; "
					  "Path = /a; Squash = All; " FSAL "}");

	assert_true(export_table_same(a, a->entries, b));
	assert_false(export_table_same(a, a->entries, c));
	assert_false(export_table_same(a, a->entries, d));
	assert_false(export_table_same(a, a->entries, e));
	(void)export_table_unref(a);
	(void)export_table_unref(b);
	(void)export_table_unref(c);
	(void)export_table_unref(d);
	(void)export_table_unref(e);
}

static void only_the_same_exports_are_equal(void **state)
{
	static const char one[] = "EXPORT { Export_Id = 1; Path = /a; Squash = All; " FSAL "}",
			  two[] = "EXPORT { Export_Id = 2; Path = /b; " FSAL "}";
	static const char *const others[] = {
		"",
		"EXPORT { Export_Id = 1; Path = /a; Squash = All; " FSAL "}",
		"EXPORT { Export_Id = 2; Path = /b; " FSAL "} EXPORT { Export_Id = 1; Path = /a; Squash = All; " FSAL
		"}",
		"EXPORT { Export_Id = 1; Path = /a; Squash = All; " FSAL "} EXPORT { Export_Id = 2; Path = /c; " FSAL
		"}",
		"EXPORT { Export_Id = 1; Path = /a; Squash = Root; " FSAL "} EXPORT { Export_Id = 2; Path = /b; " FSAL
		"}",
		"EXPORT { Export_Id = 1; Path = /a; Squash = All; " FSAL "} EXPORT { Export_Id = 2; Path = /b; "
		"FSAL { Name = PROXY_V4; } }",
	};
	char text[400];
	struct export_table *a, *b;

	(void)snprintf(text, sizeof(text), "%s %s", one, two);
	a = parse_ok(text);
	(void)snprintf(text, sizeof(text), "# a comment\n%s\n\n%s", one, two);
	b = parse_ok(text);
	assert_true(export_tables_equal(a, a));
	assert_true(export_tables_equal(a, b));
	(void)export_table_unref(b);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		b = parse_ok(others[i]);
		assert_false(export_tables_equal(a, b));
		assert_false(export_tables_equal(b, a));
		(void)export_table_unref(b);
	}
	(void)export_table_unref(a);
}

static void random_text_does_no_harm(void **state)
{
	static const char alphabet[] = "{};=,\"'#%\n \\EXPORTPathsquash/10.:*-@";
	static const char good[] = "EXPORT { Export_Id = 1; Path = \"/a\"; " FSAL
				   "CLIENT { Clients = 10.0.0.0/8, ::1; Squash = All; } }\n";

	srandom(1);
	for (int i = 0; i < 50000; i++) {
		struct export_table *t = NULL;
		struct conf_error error;
		char text[sizeof(good)];

		memcpy(text, good, sizeof(text));
		for (int j = random() % 6; j >= 0; j--)
			text[(size_t)random() % (sizeof(text) - 1)] =
				alphabet[(size_t)random() % (sizeof(alphabet) - 1)];
		if (ganesha_conf_parse("x.conf", text, &t, &error) == 0)
			(void)export_table_unref(t);
		else
			assert_non_null(strstr(error.text, "x.conf:"));
	}
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[100];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void a_folder_is_included(void **state)
{
	static const char *const files[] = {"b.conf", "a.conf", "c.other"};
	char folder[] = "/tmp/localiofs-test.XXXXXX", text[200], path[100];
	struct export_table *t;

	assert_non_null(mkdtemp(folder));
	write_file(folder, "b.conf", "EXPORT { Export_Id = 2; Path = /b; " FSAL "}");
	write_file(folder, "a.conf", "EXPORT { Export_Id = 1; Path = /a; " FSAL "}");
	write_file(folder, "c.other", "EXPORT { Export_Id = 3; Path = /c; " FSAL "}");

	(void)snprintf(text, sizeof(text), "%%dir \"%s/*.conf\"\nEXPORT { Export_Id = 9; Path = /z; " FSAL "}", folder);
	t = parse_ok(text);
	assert_int_equal(t->nentries, 3);
	assert_string_equal(t->entries[0].path, "/a");
	assert_string_equal(t->entries[1].path, "/b");
	assert_string_equal(t->entries[2].path, "/z");
	assert_true(t->nfolders > 0);
	for (size_t i = 0; i < t->nfolders; i++)
		assert_string_equal(t->folders[i], folder);
	(void)export_table_unref(t);

	(void)snprintf(text, sizeof(text), "%%dir %s\n", folder);
	t = parse_ok(text);
	assert_int_equal(t->nentries, 3);
	(void)export_table_unref(t);

	write_file(folder, "a.conf", "\nEXPORT {");
	(void)snprintf(path, sizeof(path), "%s/a.conf:2: ", folder);
	refused(text, path);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(folder), 0);
	refused(text, "No such file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_servers_defaults_hold),
		cmocka_unit_test(the_full_syntax_is_read),
		cmocka_unit_test(ganesha_remembers_attributes_unless_told_not_to),
		cmocka_unit_test(an_ipv6_network_holds_no_ipv4_client),
		cmocka_unit_test(errors_name_file_line_and_value),
		cmocka_unit_test(what_cannot_be_honoured_gets_no_grants),
		cmocka_unit_test(clients_behind_a_name_get_no_grants),
		cmocka_unit_test(only_a_real_change_revokes),
		cmocka_unit_test(only_the_same_exports_are_equal),
		cmocka_unit_test(random_text_does_no_harm),
		cmocka_unit_test(a_folder_is_included),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
