/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/etab/etab.h"
#include "sidecar/knfsd/knfsd.h"
#include "sidecar/knfsd/exports_knfsd.h"
#include "sidecar/exports/peer.h"
#include "base/util.h"

/* As exportfs of nfs-utils 2.6.2 writes a line for "/srv/data 10.0.0.0/8(rw)". */
#define REAL                                                                                       \
	"/srv/data\t10.0.0.0/8(rw,sync,wdelay,hide,nocrossmnt,secure,root_squash,no_all_squash,"   \
	"no_subtree_check,secure_locks,acl,no_pnfs,anonuid=65534,anongid=65534,sec=sys,rw,secure," \
	"root_squash,no_all_squash)\n"

static int parse(const char *text, struct export_table **ret, struct conf_error *error)
{
	/* fmemopen() refuses to read nothing */
	FILE *f = text[0] != '\0' ? fmemopen((char *)(uintptr_t)text, strlen(text), "r") : fopen("/dev/null", "re");
	int r;

	assert_non_null(f);
	r = etab_parse(&server_knfsd, "etab", f, false, ret, error);
	(void)fclose(f);
	return r;
}

static struct export_table *parse_ok(const char *text)
{
	struct export_table *t = NULL;
	struct conf_error error = {""};
	int r = parse(text, &t, &error);

	if (r < 0)
		print_error("%s\n", error.text);
	assert_int_equal(r, 0);
	return t;
}

static void refused(const char *text, const char *expected)
{
	struct export_table *t = NULL;
	struct conf_error error = {""};

	assert_int_equal(parse(text, &t, &error), -EBADMSG);
	if (strstr(error.text, expected) == NULL)
		print_error("%s\n", error.text);
	assert_non_null(strstr(error.text, expected));
}

static enum reason ask(const struct export_table *t, const char *path, const char *peer, struct export_perms *ret)
{
	const struct export_entry *e = export_table_find(t, 0, path);
	const struct export_client *c;
	struct peer from = {.port = 0};
	unsigned prefix;

	assert_non_null(e);
	assert_int_equal(ip_address_parse(peer, &from.address, &prefix), 0);
	return export_table_perms(t, e, &from, ret, &c);
}

static struct export_perms perms_for(const struct export_table *t, const char *path, const char *peer)
{
	struct export_perms p;

	assert_int_equal(ask(t, path, peer, &p), REASON_NONE);
	return p;
}

static void a_real_line_is_understood(void **state)
{
	struct export_table *t = parse_ok(REAL);
	struct export_perms p = perms_for(t, "/srv/data", "10.1.2.3");

	assert_true(p.read && p.write && p.sec_sys && p.nfs3 && p.tcp && p.privileged_port);
	assert_int_equal(p.squash, SQUASH_ROOT);
	assert_int_equal(p.anon_uid, 65534);
	assert_int_equal(p.anon_gid, 65534);
	assert_false(perms_for(t, "/srv/data", "11.1.2.3").read); /* nobody's entry: not exported to it */
	(void)export_table_unref(t);
}

static void options_are_the_flavours(void **state)
{
	struct export_table *t = parse_ok(
		"/a\t*(ro,secure,root_squash,sec=sys:krb5,rw,insecure,no_root_squash,sec=krb5p,ro,all_squash)\n"
		"/b\t*(rw,sec=krb5)\n"
		"/c\t*(rw,no_root_squash,all_squash,anonuid=-2,anongid=7,xprtsec=tls:mtls)\n"
		"/d\t*(ro,insecure,xprtsec=none:tls)\n");
	struct export_perms p = perms_for(t, "/a", "::1");

	assert_true(p.write && p.sec_sys);
	assert_false(p.privileged_port);
	assert_int_equal(p.squash, SQUASH_NONE);
	assert_false(perms_for(t, "/b", "::1").sec_sys);
	p = perms_for(t, "/c", "::1");
	assert_int_equal(p.squash, SQUASH_ALL);
	assert_int_equal(p.anon_uid, 4294967294U);
	assert_int_equal(p.anon_gid, 7);
	assert_false(p.tcp);
	p = perms_for(t, "/d", "::1");
	assert_true(p.tcp && p.sec_sys && !p.write && !p.privileged_port);
	(void)export_table_unref(t);
}

static void names_are_unescaped(void **state)
{
	struct export_table *t = parse_ok("/srv/a\\040b\\011\\134#\t*(rw)\n/srv/\xc3\xa4(1)\t*(ro)\n");

	assert_non_null(export_table_find(t, 0, "/srv/a b\t\\#"));
	assert_non_null(export_table_find(t, 0, "/srv/\xc3\xa4(1)"));
	(void)export_table_unref(t);
}

static void the_order_of_search_is_mountds(void **state)
{
	struct export_table *t = parse_ok("/a\t*(ro,all_squash)\n"
					  "/a\t10.0.0.0/255.255.0.0(ro)\n"
					  "/b\t*(rw)\n"
					  "/a\t10.0.0.7(rw,no_root_squash)\n"
					  "/a\t10.0.1.0/24(rw)\n"
					  "/a\tfd00::/8(rw)\n");

	assert_int_equal(t->nentries, 2);
	assert_int_equal(perms_for(t, "/a", "10.0.0.7").squash, SQUASH_NONE); /* the host */
	assert_false(perms_for(t, "/a", "10.0.1.1").write);                   /* the first network */
	assert_int_equal(perms_for(t, "/a", "10.1.0.1").squash, SQUASH_ALL);  /* everybody */
	assert_true(perms_for(t, "/a", "fd00::1").write);
	(void)export_table_unref(t);
}

static void what_cannot_be_honoured_gets_no_grants(void **state)
{
	static const struct {
		const char *text;
		enum reason reason;
	} cases[] = {
		{"/a\t*(rw,subtree_check)\n", REASON_SUBTREE_CHECK},
		{"/a\t*(rw,sign_fh)\n", REASON_EXPORT_OPTIONS},
		{"/a\t*(rw,refer=/x@10.0.0.1)\n", REASON_EXPORT_OPTIONS},
		{"/a\t*(rw,squash_uids=1-5)\n", REASON_EXPORT_OPTIONS},
		{"/a\thost.example(rw)\n/a\t*(rw)\n", REASON_EXPORT_OPTIONS},
		{"/a\t*(rw)\n/a\t*.example(rw)\n", REASON_EXPORT_OPTIONS},
		{"/a\t*(rw)\n/a\t@group(rw)\n", REASON_EXPORT_OPTIONS},
		{"/a\t10.0.0.0/255.0.255.0(rw)\n/a\t*(rw)\n", REASON_EXPORT_OPTIONS},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct export_table *t = parse_ok(cases[i].text);
		struct export_perms p;

		assert_int_equal(ask(t, "/a", "192.0.2.1", &p), cases[i].reason);
		(void)export_table_unref(t);
	}
}

static void fsid_is_kept(void **state)
{
	struct export_table *t = parse_ok("/a\t*(rw,fsid=42)\n/b\t*(rw,fsid=root)\n"
					  "/c\t*(rw,fsid=12345678-9abc-def0-1234-56789abcdef0)\n");

	assert_int_equal(t->entries[0].clients[0].fsid.kind, EXPORT_FSID_NUMBER);
	assert_int_equal(t->entries[0].clients[0].fsid.number, 42);
	assert_int_equal(t->entries[1].clients[0].fsid.kind, EXPORT_FSID_NUMBER);
	assert_int_equal(t->entries[1].clients[0].fsid.number, 0);
	assert_int_equal(t->entries[2].clients[0].fsid.kind, EXPORT_FSID_UUID);
	(void)export_table_unref(t);
}

static struct export_table *parse_exports(const char *text, int expected, struct conf_error *error)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	struct export_table *t = NULL;

	assert_non_null(f);
	assert_int_equal(etab_parse(&server_knfsd, "exports", f, true, &t, error), expected);
	(void)fclose(f);
	return t;
}

static void exports5_is_read(void **state)
{
	struct conf_error error = {""};
	struct export_table *t =
		parse_exports("# a comment\n"
			      "/a 10.0.0.1(rw,no_root_squash)   10.0.0.0/8 \\\n"
			      "   *(ro,all_squash) # everybody else\n"
			      "\"/with blank\" -rw,anonuid=7 10.0.0.1 10.0.0.2(ro) -ro,insecure,mp=/x 10.0.0.3\n"
			      "/c\\040d (rw)\n",
			0, &error);

	assert_int_equal(t->nentries, 3);
	assert_true(perms_for(t, "/a", "10.0.0.1").write);
	assert_int_equal(perms_for(t, "/a", "10.0.0.1").squash, SQUASH_NONE);
	assert_false(perms_for(t, "/a", "10.0.0.2").write); /* ro, root_squash and secure, where nothing is said */
	assert_int_equal(perms_for(t, "/a", "10.0.0.2").squash, SQUASH_ROOT);
	assert_true(perms_for(t, "/a", "10.0.0.2").privileged_port);
	assert_int_equal(perms_for(t, "/a", "192.0.2.1").squash, SQUASH_ALL);
	assert_true(perms_for(t, "/with blank", "10.0.0.1").write);
	assert_int_equal(perms_for(t, "/with blank", "10.0.0.1").anon_uid, 7);
	assert_false(perms_for(t, "/with blank", "10.0.0.2").write);
	assert_false(perms_for(t, "/with blank", "10.0.0.3").write);
	assert_false(perms_for(t, "/with blank", "10.0.0.3").privileged_port);
	assert_int_equal(perms_for(t, "/with blank", "10.0.0.3").anon_uid, 7);
	assert_true(perms_for(t, "/c d", "192.0.2.1").write);
	(void)export_table_unref(t);
}

static void exports5_errors_name_the_last_line(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"/a *(rw)\n/b\n", "exports:2: CLIENT(OPTION,...) was expected"},
		{"/b # nobody\n", "exports:1: CLIENT(OPTION,...) was expected"},
		{"/a *(rw) \\\n x(ro\n", "exports:2: CLIENT(OPTION,...)"},
		{"/a *(rw)x\n", "exports:1: a blank was expected behind ')'"},
		{"\"/a *(rw)\n", "exports:1: a quoted name has no closing quote"},
		{"/a -anonuid=x *(rw)\n", "exports:1: anonuid=x: an id was expected"},
		{"a *(rw)\n", "exports:1: a: an absolute path"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct conf_error error = {""};

		assert_null(parse_exports(cases[i].text, -EBADMSG, &error));
		if (strstr(error.text, cases[i].message) == NULL)
			print_error("%s\n", error.text);
		assert_non_null(strstr(error.text, cases[i].message));
	}
}

static void errors_name_file_line_and_value(void **state)
{
	refused(REAL "srv\t*(rw)\n", "etab:2: srv: an absolute path");
	refused("/a\n", "etab:1: CLIENT(OPTION,...)");
	refused("/a\t*\n", "etab:1: CLIENT(OPTION,...)");
	refused("/a\t*(rw\n", "etab:1: CLIENT(OPTION,...)");
	refused("\n# x\n/a\t*(rw) nonsense\n", "etab:3: 'nonsense' behind the options");
	refused("/a\t*(anonuid=x)\n", "anonuid=x: an id");
	refused("/a\t*(anonuid=99999999999)\n", "an id");
	refused("/a\t*(fsid=some)\n", "fsid=some: a number, root or a UUID");
	refused("/a\t*(anonuid)\n", "option anonuid needs a value");
	refused("/a\t*(ro=1)\n", "option ro takes no value");
	refused("/a\\000\t*(ro)\n", "a NUL byte");
}

static void an_empty_file_exports_nothing(void **state)
{
	struct export_table *t = parse_ok("");

	assert_int_equal(t->nentries, 0);
	(void)export_table_unref(t);
}

static void only_a_real_change_revokes(void **state)
{
	struct export_table *a = parse_ok("/a\t*(rw)\n"), *b = parse_ok("/b\t*(rw)\n/a\t*(rw,async)\n"),
			    *c = parse_ok("/a\t*(rw,no_root_squash)\n"), *d = parse_ok("/b\t*(rw)\n"),
			    *e = parse_ok("/a\t*(rw)\n/a\t10.0.0.1(rw)\n"), *f = parse_ok("/a\t*(rw,subtree_check)\n"),
			    *g = parse_ok("/a\t*(rw,fsid=3)\n");
	struct export_table *all[] = {a, b, c, d, e, f, g};

	assert_true(export_table_same(a, a->entries, b));
	for (size_t i = 2; i < ARRAY_SIZE(all); i++)
		assert_false(export_table_same(a, a->entries, all[i]));
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		(void)export_table_unref(all[i]);
}

/* As svc_export_show() prints them: the kernel is silent about 65534 and -2. */
static void who_is_anonymous_where_the_kernel_is_silent_the_etab_says(void **state)
{
	static const struct {
		const char *kernel;
		uint32_t etab, uid;
	} cases[] = {
		{"rw,insecure,root_squash,sync,no_wdelay,no_subtree_check,uuid=1:2:3:4,sec=1", 65534, 65534},
		{"rw,insecure,root_squash,sync,no_wdelay,no_subtree_check,uuid=1:2:3:4,sec=1", (uint32_t)-2,
			(uint32_t)-2},
		{"rw,insecure,root_squash,sync,no_wdelay,no_subtree_check,uuid=1:2:3:4,sec=1", 1001, (uint32_t)-2},
		{"rw,root_squash,sync,no_subtree_check,anonuid=7,anongid=7,sec=1", 65534, 7},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct export_perms p = {.anon_uid = cases[i].etab, .anon_gid = cases[i].etab};
		char text[256];
		FILE *f;

		(void)snprintf(text, sizeof(text), "#path domain(flags)\n/srv\t*(%s)\n", cases[i].kernel);
		f = fmemopen(text, strlen(text), "r");
		assert_non_null(f);
		assert_int_equal(exports_knfsd_terms(f, "/srv", "*", &p), 1);
		(void)fclose(f);
		assert_int_equal(p.anon_uid, cases[i].uid);
		assert_int_equal(p.anon_gid, cases[i].uid);
	}
}

static void random_text_does_no_harm(void **state)
{
	static const char alphabet[] = "(),=\t\n \\01/*@#abcrwfsidsec-:.";

	srandom(1);
	for (int i = 0; i < 50000; i++) {
		struct export_table *t = NULL;
		struct conf_error error;
		char text[] = REAL;

		for (int j = random() % 6; j >= 0; j--)
			text[(size_t)random() % (sizeof(text) - 1)] =
				alphabet[(size_t)random() % (sizeof(alphabet) - 1)];
		if (parse(text, &t, &error) == 0)
			(void)export_table_unref(t);
		else
			assert_non_null(strstr(error.text, "etab:"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_real_line_is_understood),
		cmocka_unit_test(options_are_the_flavours),
		cmocka_unit_test(names_are_unescaped),
		cmocka_unit_test(the_order_of_search_is_mountds),
		cmocka_unit_test(what_cannot_be_honoured_gets_no_grants),
		cmocka_unit_test(fsid_is_kept),
		cmocka_unit_test(exports5_is_read),
		cmocka_unit_test(exports5_errors_name_the_last_line),
		cmocka_unit_test(errors_name_file_line_and_value),
		cmocka_unit_test(an_empty_file_exports_nothing),
		cmocka_unit_test(only_a_real_change_revokes),
		cmocka_unit_test(who_is_anonymous_where_the_kernel_is_silent_the_etab_says),
		cmocka_unit_test(random_text_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
