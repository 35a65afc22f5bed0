/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <string.h>

#include "options.h"

static char sentence[512];

static int parse(struct mount_options *o, const char *list)
{
	options_init(o);
	sentence[0] = '\0';
	return options_parse(o, list, false, sentence, sizeof(sentence));
}

static void the_defaults_are_what_the_usage_says(void **state)
{
	struct mount_options o;

	options_init(&o);
	assert_int_equal(o.local, LOCAL_AUTO);
	assert_int_equal(o.probeport, 20122);
	assert_string_equal(o.registry, "/dev/shm/localiofs");
	assert_int_equal(o.acregmin, 3);
	assert_false(o.ro);
}

static void options_set_what_they_name(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "ro,nosuid,local=off,registry=/run/reg,probeport=1234,port=2050,"
				   "mountport=2051,rsize=8192,wsize=4096,reprobe=5,acregmin=7"),
		0);
	assert_true(o.ro);
	assert_true(o.nosuid);
	assert_int_equal(o.local, LOCAL_OFF);
	assert_string_equal(o.registry, "/run/reg");
	assert_int_equal(o.probeport, 1234);
	assert_int_equal(o.port, 2050);
	assert_int_equal(o.mountport, 2051);
	assert_int_equal(o.rsize, 8192);
	assert_int_equal(o.wsize, 4096);
	assert_int_equal(o.reprobe, 5);
	assert_int_equal(o.acregmin, 7);
}

static void the_last_one_wins(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "ro,rw,local=off,local=passthrough"), 0);
	assert_false(o.ro);
	assert_int_equal(o.local, LOCAL_PASSTHROUGH);
}

static void noac_overrides_the_times(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "acregmin=9,noac"), 0);
	assert_int_equal(o.acregmin, 0);
	assert_int_equal(o.acdirmin, 0);
}

static void what_fstabs_have_is_accepted(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "rw,_netdev,nofail,user,relatime,hard,nolock,vers=3,nfsvers=3,tcp,"
				   "x-systemd.automount,comment=mine,defaults,,"),
		0);
	assert_int_equal(parse(&o, ""), 0);
}

static void a_backslash_protects_a_comma(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "registry=/run/a\\,b,ro"), 0);
	assert_string_equal(o.registry, "/run/a,b");
	assert_true(o.ro);
}

/* Every wrong option is named, with its value and what would be right. */
static void wrong_options_are_explained(void **state)
{
	static const char *const wrong[][3] = {
		{"locale=off", "locale", "not known"},
		{"local=maybe", "local=maybe", "auto|passthrough|off"},
		{"local", "local", "local=auto|passthrough|off"},
		{"probeport=0", "probeport=0", "1 to 65535"},
		{"probeport=70000", "probeport=70000", "1 to 65535"},
		{"probeport=12x", "probeport=12x", "a number"},
		{"probeport=", "probeport=", "a number"},
		{"ro=1", "ro=1", "no value"},
		{"registry=relative", "registry=relative", "absolute"},
		{"vers=4", "vers=4", "from 3 to 3"},
		{"udp", "udp", "TCP"},
		{"soft", "soft", "hard"},
		{"remount", "remount", "unmount"},
	};
	struct mount_options o;

	for (size_t n = 0; n < ARRAY_SIZE(wrong); n++) {
		assert_int_equal(parse(&o, wrong[n][0]), -EINVAL);
		assert_non_null(strstr(sentence, wrong[n][1]));
		assert_non_null(strstr(sentence, wrong[n][2]));
	}
}

static void a_registry_too_long_for_a_socket_is_refused(void **state)
{
	struct mount_options o;
	char list[256] = "registry=/";

	memset(list + strlen(list), 'a', 120);
	assert_int_equal(parse(&o, list), -EINVAL);
	assert_non_null(strstr(sentence, "shorter than"));
}

static void sloppy_ignores_unknown_options_only(void **state)
{
	struct mount_options o;

	options_init(&o);
	assert_int_equal(options_parse(&o, "whatever,ro", true, sentence, sizeof(sentence)), 0);
	assert_true(o.ro);
	assert_int_equal(options_parse(&o, "port=x", true, sentence, sizeof(sentence)), -EINVAL);
}

static void specs_have_a_server_and_an_export(void **state)
{
	struct mount_spec s;

	assert_int_equal(spec_parse("nas:/srv/a b", &s, sentence, sizeof(sentence)), 0);
	assert_string_equal(s.host, "nas");
	assert_string_equal(s.path, "/srv/a b");
	assert_int_equal(spec_parse("[fe80::1%eth0]:/exp", &s, sentence, sizeof(sentence)), 0);
	assert_string_equal(s.host, "fe80::1%eth0");
	assert_string_equal(s.path, "/exp");
	assert_int_equal(spec_parse("nas:/a:b", &s, sentence, sizeof(sentence)), 0);
	assert_string_equal(s.path, "/a:b");
}

static void other_specs_are_explained(void **state)
{
	static const char *const wrong[] = {
		"", "nas", ":/a", "nas:a", "nas:", "[::1]/a", "[::1:/a", "fe80::1:/a", "/srv"};
	struct mount_spec s;

	for (size_t n = 0; n < ARRAY_SIZE(wrong); n++) {
		assert_int_equal(spec_parse(wrong[n], &s, sentence, sizeof(sentence)), -EINVAL);
		assert_non_null(strstr(sentence, "SERVER:/EXPORT"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_defaults_are_what_the_usage_says),
		cmocka_unit_test(options_set_what_they_name),
		cmocka_unit_test(the_last_one_wins),
		cmocka_unit_test(noac_overrides_the_times),
		cmocka_unit_test(what_fstabs_have_is_accepted),
		cmocka_unit_test(a_backslash_protects_a_comma),
		cmocka_unit_test(wrong_options_are_explained),
		cmocka_unit_test(a_registry_too_long_for_a_socket_is_refused),
		cmocka_unit_test(sloppy_ignores_unknown_options_only),
		cmocka_unit_test(specs_have_a_server_and_an_export),
		cmocka_unit_test(other_specs_are_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
