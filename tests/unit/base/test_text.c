/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void numbers_are_whole_and_in_range(void **state)
{
	uint64_t v = 7;

	assert_int_equal(parse_u64("42", 1, 100, &v), 0);
	assert_int_equal(v, 42);
	assert_int_equal(parse_u64("100", 1, 100, &v), 0);
	assert_int_equal(parse_u64("1", 1, 100, &v), 0);
	assert_int_equal(parse_u64("42", 1, 100, &v), 0);
	assert_int_equal(parse_u64("101", 1, 100, &v), -ERANGE);
	assert_int_equal(parse_u64("0", 1, 100, &v), -ERANGE);
	assert_int_equal(parse_u64("99999999999999999999999", 0, UINT64_MAX, &v), -ERANGE);
	assert_int_equal(parse_u64("", 0, 1, &v), -EINVAL);
	assert_int_equal(parse_u64("-1", 0, 1, &v), -EINVAL);
	assert_int_equal(parse_u64(" 1", 0, 1, &v), -EINVAL);
	assert_int_equal(parse_u64("1k", 0, 1, &v), -EINVAL);
	assert_int_equal(v, 42);
}

static void bytes_that_are_no_text_become_question_marks(void **state)
{
	static const struct {
		const char *is, *shown;
	} cases[] = {
		{"", ""}, {"plain ~ text", "plain ~ text"},
		{"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"a\nb\r\tc\033[2J\x7f", "a?b??c?[2J?"},
		{"\xc2\x9b"
		 "31m \xc2\x85",
			"?31m ?"}, /* CSI and NEL as one character */
		{"a\xe2\x80\xae"
		 "b\xe2\x81\xa6\xe2\x80\xa8",
			"a?b??"},                                     /* right to left, isolates, a line's end */
		{"\xff\xfe \x9b \xc3 \xe2\x82", "?? ? ? ??"},         /* no UTF-8, cut off */
		{"\xc0\x8a \xe0\x80\x8a \xed\xa0\x80", "?? ??? ???"}, /* too long, a surrogate */
		{"\xf4\x90\x80\x80", "????"},                         /* beyond Unicode */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "%s", cases[i].is);
		text_clean(text);
		assert_string_equal(text, cases[i].shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_whole_and_in_range),
		cmocka_unit_test(bytes_that_are_no_text_become_question_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
