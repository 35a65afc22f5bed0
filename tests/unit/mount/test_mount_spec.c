/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <string.h>

#include "mount/mount_spec.h"

static char sentence[512];

static void specs_have_a_server_and_an_export(void **state)
{
	static const char *const right[][3] = {
		{"nas:/srv/a b", "nas", "/srv/a b"},
		{"nas:/", "nas", "/"},
		{"nas:/a:b", "nas", "/a:b"},
		{"10.0.0.1:/a,b\\c#d", "10.0.0.1", "/a,b\\c#d"},
		{"nas:/\xff\xc3\xbc", "nas", "/\xff\xc3\xbc"},
		{"[::1]:/exp", "::1", "/exp"},
		{"[fe80::1%eth0]:/exp", "fe80::1%eth0", "/exp"},
		{"nas:/exp/", "nas", "/exp/"},
	};
	struct mount_spec s;

	for (size_t n = 0; n < ARRAY_SIZE(right); n++) {
		assert_int_equal(mount_spec_parse(right[n][0], &s, sentence, sizeof(sentence)), 0);
		assert_string_equal(s.host, right[n][1]);
		assert_string_equal(s.path, right[n][2]);
	}
}

static void other_specs_are_explained(void **state)
{
	static const char *const wrong[] = {"", "nas", ":/a", "nas:a", "nas:", "[::1]/a", "[::1:/a", "[]:/a",
		"fe80::1:/a", "/srv", "nfs://nas/a"};
	struct mount_spec s;

	for (size_t n = 0; n < ARRAY_SIZE(wrong); n++) {
		assert_int_equal(mount_spec_parse(wrong[n], &s, sentence, sizeof(sentence)), -EINVAL);
		assert_non_null(strstr(sentence, "expected SERVER:/EXPORT"));
	}
}

static void a_spec_that_is_too_long_is_shortened_and_explained(void **state)
{
	static char text[5001];
	struct mount_spec s;

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "nas:/", 5);
	assert_int_equal(mount_spec_parse(text, &s, sentence, sizeof(sentence)), -EINVAL);
	assert_non_null(strstr(sentence, "nas:/xxx"));
	assert_non_null(strstr(sentence, "xxx...: expected"));
	assert_non_null(strstr(sentence, "1024 bytes"));
	text[4 + 1024] = '\0';
	assert_int_equal(mount_spec_parse(text, &s, sentence, sizeof(sentence)), 0);
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text + 256, ":/a", 4);
	assert_int_equal(mount_spec_parse(text, &s, sentence, sizeof(sentence)), -EINVAL);
	assert_non_null(strstr(sentence, "255 bytes"));
	memcpy(text + 255, ":/a", 4);
	assert_int_equal(mount_spec_parse(text, &s, sentence, sizeof(sentence)), 0);
}

static void slashes_that_change_nothing_do_not_count(void **state)
{
	assert_true(mount_spec_equal("nas:/a", "nas:/a"));
	assert_true(mount_spec_equal("nas:/a/", "nas:/a"));
	assert_true(mount_spec_equal("nas:/a//b", "nas:/a/b///"));
	assert_true(mount_spec_equal("nas://", "nas:/"));
	assert_false(mount_spec_equal("nas:/a", "nas:/ab"));
	assert_false(mount_spec_equal("nas:/a/b", "nas:/a"));
	assert_false(mount_spec_equal("nas:/a/b", "nas:/ab"));
	assert_false(mount_spec_equal("nas:/a", "other:/a"));
	assert_false(mount_spec_equal("nas:/", "nas:/a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(specs_have_a_server_and_an_export),
		cmocka_unit_test(other_specs_are_explained),
		cmocka_unit_test(a_spec_that_is_too_long_is_shortened_and_explained),
		cmocka_unit_test(slashes_that_change_nothing_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
