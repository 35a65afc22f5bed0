/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a server's cookies form a circle. */
#include "cmocka_setup.h"

#include "base/util.h"
#include "fuse/listings/circle.h"

/* A reply to a question at the offset: this many entries, each with the cookie that follows it. */
static bool closes(struct circle *c, uint64_t offset, const uint64_t *cookies, size_t count)
{
	struct nfs_entry entries[8] = {{0}};
	struct nfs_call reply = {.args.dir.cookie = offset, .res.dir = {.entries = entries, .count = count}};

	for (size_t n = 0; n < count; n++)
		entries[n].cookie = cookies[n];
	return circle_closes(c, &reply);
}

static void a_long_directory_is_no_circle(void **state)
{
	struct circle c = {0};

	for (uint64_t at = 0; at < 10000; at += 2)
		assert_false(closes(&c, at, (const uint64_t[]){at + 1, at + 2}, 2));
	assert_false(closes(&c, 10000, NULL, 0));
}

/* The circle begins after so many replies, and has so many. */
static void find_circle(uint64_t before, uint64_t length)
{
	struct circle c = {0};
	uint64_t at = 0, next = 1, replies = 0;

	while (!closes(&c, at, &next, 1)) {
		at = next;
		next = at + 1 == before + length ? before : at + 1;
		assert_true(++replies < 8 * (before + length));
	}
}

static void a_circle_is_found_wherever_it_begins(void **state)
{
	for (uint64_t before = 1; before < 40; before++)
		for (uint64_t length = 1; length < 40; length++)
			find_circle(before, length);
}

static void a_circle_within_one_reply_is_found_with_the_next(void **state)
{
	struct circle c = {0};
	const uint64_t cookies[] = {5, 6, 5, 6};

	assert_false(closes(&c, 0, cookies, ARRAY_SIZE(cookies)));
	assert_true(closes(&c, 6, cookies, ARRAY_SIZE(cookies)));
}

static void a_reader_who_seeks_back_is_not_led_round(void **state)
{
	struct circle c = {0};

	for (unsigned n = 0; n < 10; n++) {
		assert_false(closes(&c, 0, (const uint64_t[]){1, 2}, 2));
		assert_false(closes(&c, 2, (const uint64_t[]){3, 4}, 2));
		assert_false(closes(&c, 1, (const uint64_t[]){2, 3}, 2));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_directory_is_no_circle),
		cmocka_unit_test(a_circle_is_found_wherever_it_begins),
		cmocka_unit_test(a_circle_within_one_reply_is_found_with_the_next),
		cmocka_unit_test(a_reader_who_seeks_back_is_not_led_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
