/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <stdio.h>
#include <string.h>

#include "localiofs/broker_protocol.h"
#include "localiofs/reason.h"
#include "base/log.h"
#include "base/util.h"

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

static void what_is_no_text_is_shown_as_a_question_mark(void **state)
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

static void a_place_logs_few_lines_and_then_how_many_it_left_out(void **state)
{
	struct log_limit limit = {.lock = PTHREAD_MUTEX_INITIALIZER};
	char said[256] = "";
	FILE *f = tmpfile();
	int kept = dup(STDERR_FILENO);

	assert_non_null(f);
	for (int n = 0; n < LOG_LIMIT_LINES; n++)
		assert_true(log_limit_take(&limit, LOG_WARNING));
	/* The interval is still that of now, however long this was not run. */
	limit.since_ms = now_ms();
	assert_false(log_limit_take(&limit, LOG_WARNING));
	limit.since_ms = now_ms();
	assert_false(log_limit_take(&limit, LOG_WARNING));
	limit.since_ms = now_ms() - LOG_LIMIT_MS;
	assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
	assert_true(log_limit_take(&limit, LOG_WARNING));
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	assert_true(pread(fileno(f), said, sizeof(said) - 1, 0) > 0);
	assert_non_null(strstr(said, ": 2 more of the following kind were not logged\n"));
	(void)close(kept);
	(void)fclose(f);
}

struct item {
	struct list node;
	int n;
};

static void a_list_keeps_its_order(void **state)
{
	struct list a, b;
	struct item items[4];
	int expected = 0;

	list_init(&a);
	list_init(&b);
	for (int i = 0; i < 4; i++) {
		items[i].n = i;
		list_append(i < 2 ? &a : &b, &items[i].node);
	}
	list_splice(&a, &b);
	assert_true(list_empty(&b));
	LIST_FOREACH (pos, &a) {
		assert_int_equal(CONTAINER_OF(pos, struct item, node)->n, expected);
		expected++;
		list_remove(pos);
	}
	assert_int_equal(expected, 4);
	assert_true(list_empty(&a));
	list_remove(&items[0].node);
}

static void every_message_fits_the_limit(void **state)
{
	unsigned known = 0;

	for (uint32_t type = 0; type < 0x400; type++) {
		uint32_t length = broker_packet_length(type);

		assert_true(length <= BROKER_MAX_MESSAGE);
		assert_true(length == 0 || length >= sizeof(struct broker_header));
		known += length != 0;
	}
	assert_int_equal(known, 27);
}

static void every_reason_has_a_code_of_its_own(void **state)
{
#define X(name, number, code, text) assert_string_equal(reason_code(REASON_##name), code);
	REASON_TABLE(X)
#undef X
	assert_string_equal(reason_code(12345), "unknown");
	assert_string_equal(reason_code(REASON_OFF), "off");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_whole_and_in_range),
		cmocka_unit_test(a_list_keeps_its_order),
		cmocka_unit_test(a_place_logs_few_lines_and_then_how_many_it_left_out),
		cmocka_unit_test(what_is_no_text_is_shown_as_a_question_mark),
		cmocka_unit_test(every_message_fits_the_limit),
		cmocka_unit_test(every_reason_has_a_code_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
