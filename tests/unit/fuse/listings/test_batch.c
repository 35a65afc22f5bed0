/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The entries of a directory in several replies. */
#include "cmocka_setup.h"

#include <string.h>

#include "base/util.h"
#include "fuse/listings/batch.h"

static struct nfs_entry first[] = {{.name = ".", .fileid = 1, .cookie = 10}, {.name = "a", .fileid = 2, .cookie = 30}};
static struct nfs_entry second[] = {{.name = "b", .fileid = 3, .cookie = 20}};

static struct nfs_call reply_of(const struct nfs_entry *entries, size_t count, bool eof)
{
	return (struct nfs_call){
		.res.dir = {.entries = entries, .count = count, .eof = eof, .verf.data = {(uint8_t)count}}};
}

static void replies_follow_each_other(void **state)
{
	struct nfs_call one = reply_of(first, 2, false), two = reply_of(second, 1, true);
	struct batch b = {0};

	assert_int_equal(batch_add(&b, &one), 0);
	assert_int_equal(batch_end(&b), 30);
	assert_false(batch_ends_at(&b, 30));
	assert_int_equal(batch_add(&b, &two), 0);
	assert_int_equal(b.count, 3);
	assert_int_equal(b.verf.data[0], 1);
	assert_int_equal(batch_end(&b), 20);
	assert_true(batch_ends_at(&b, 20));
	assert_false(batch_ends_at(&b, 30));
	batch_drop(&b);
	assert_int_equal(b.count, 0);
}

static void an_entry_is_found_by_its_offset(void **state)
{
	static const uint64_t offsets[] = {7, 10, 30, 20, 0, 99};
	static const size_t positions[] = {0, 1, 2, 3, 3, 3}; /* 3: none */
	struct nfs_call one = reply_of(first, 2, false), two = reply_of(second, 1, true);
	struct batch b = {.first = 7};

	assert_int_equal(batch_position(&b, 7), 0);
	assert_int_equal(batch_add(&b, &one), 0);
	assert_int_equal(batch_add(&b, &two), 0);
	for (size_t n = 0; n < ARRAY_SIZE(offsets); n++)
		assert_int_equal(batch_position(&b, offsets[n]), positions[n]);
	assert_string_equal(batch_entry(&b, 2)->name, "b");
	batch_drop(&b);
}

static void names_are_the_batch_s_own(void **state)
{
	char name[] = "name";
	struct nfs_entry e = {.name = name, .fileid = 5, .cookie = 1};
	struct nfs_call reply = reply_of(&e, 1, true);
	struct batch b = {0};

	assert_int_equal(batch_add(&b, &reply), 0);
	memset(name, 'x', sizeof(name) - 1);
	assert_string_equal(batch_entry(&b, 0)->name, "name");
	batch_drop(&b);
}

static void an_empty_directory_ends_where_it_begins(void **state)
{
	struct nfs_call reply = reply_of(NULL, 0, true);
	struct batch b = {.first = 7};

	assert_int_equal(batch_add(&b, &reply), 0);
	assert_true(batch_ends_at(&b, 7));
	assert_false(batch_ends_at(&b, 0));
	batch_drop(&b);
}

static void the_digest_is_that_of_names_and_files(void **state)
{
	struct nfs_call one = reply_of(first, 2, false), two = reply_of(second, 1, true);
	struct hash_key key = {1, 2};
	struct batch b = {0};

	assert_int_equal(batch_digest(&b, &key), 0);
	assert_int_equal(batch_add(&b, &one), 0);
	assert_int_equal(batch_add(&b, &two), 0);
	assert_int_equal(batch_digest(&b, &key), siphash_of_pair(&key, 2, "a", 1) + siphash_of_pair(&key, 3, "b", 1));
	batch_drop(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replies_follow_each_other),
		cmocka_unit_test(an_entry_is_found_by_its_offset),
		cmocka_unit_test(names_are_the_batch_s_own),
		cmocka_unit_test(an_empty_directory_ends_where_it_begins),
		cmocka_unit_test(the_digest_is_that_of_names_and_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
