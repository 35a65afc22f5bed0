/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <string.h>

#include "table/hash_table.h"
#include "table/keyed_hash.h"
#include "base/util.h"

#define ITEMS 5000

struct item {
	struct hash_node node;
	unsigned key;
	bool seen;
};

static struct item items[ITEMS];

static uint64_t spread_hash(unsigned key)
{
	return keyed_hash(&key, sizeof(key));
}

static uint64_t equal_hash(unsigned key)
{
	(void)key;
	return 7;
}

static bool has_key(const struct hash_node *node, const void *key)
{
	return CONTAINER_OF(node, struct item, node)->key == *(const unsigned *)key;
}

static struct item *find(const struct hash_table *t, uint64_t (*hash)(unsigned key), unsigned key)
{
	struct hash_node *node = hash_table_find(t, hash(key), has_key, &key);

	return node ? CONTAINER_OF(node, struct item, node) : NULL;
}

static void fill(struct hash_table *t, uint64_t (*hash)(unsigned key), unsigned count)
{
	hash_table_init(t);
	for (unsigned n = 0; n < count; n++) {
		items[n] = (struct item){.key = n};
		hash_table_insert(t, &items[n].node, hash(n));
	}
	assert_int_equal(t->count, count);
}

static void an_empty_table_finds_nothing(void **state)
{
	struct hash_table t;

	fill(&t, spread_hash, 0);
	assert_null(find(&t, spread_hash, 1));
	hash_table_done(&t);
	assert_null(find(&t, spread_hash, 1));
}

static void growth_keeps_all_entries(void **state)
{
	struct hash_table t;
	size_t before;

	fill(&t, spread_hash, 1);
	before = t.nchains;
	hash_table_done(&t);
	fill(&t, spread_hash, ITEMS);
	assert_true(t.nchains > before && t.nchains >= ITEMS / 2);
	for (unsigned n = 0; n < ITEMS; n++)
		assert_ptr_equal(find(&t, spread_hash, n), &items[n]);
	assert_null(find(&t, spread_hash, ITEMS));
	hash_table_done(&t);
}

static void a_reserved_table_does_not_grow(void **state)
{
	struct hash_table t;
	size_t reserved;

	hash_table_init(&t);
	assert_int_equal(hash_table_reserve(&t, ITEMS), 0);
	reserved = t.nchains;
	assert_true(reserved >= ITEMS);
	for (unsigned n = 0; n < ITEMS; n++)
		hash_table_insert(&t, &items[n].node, spread_hash(n));
	assert_int_equal(t.nchains, reserved);
	assert_int_equal(hash_table_reserve(&t, 1), 0);
	assert_int_equal(t.nchains, reserved);
	hash_table_done(&t);
}

/* Removes every seventh item first, then every fifth, and so on: nodes from the begin, middle and end of the chains. */
static void remove_in_any_order(uint64_t (*hash)(unsigned key), unsigned count)
{
	static const unsigned steps[] = {7, 5, 3, 2, 1};
	bool removed[ITEMS] = {false};
	struct hash_table t;

	fill(&t, hash, count);
	for (size_t s = 0; s < ARRAY_SIZE(steps); s++) {
		for (unsigned n = count; n-- > 0;)
			if (n % steps[s] == 0 && !removed[n]) {
				hash_table_remove(&t, &items[n].node);
				removed[n] = true;
			}
		for (unsigned n = 0; n < count; n++)
			assert_ptr_equal(find(&t, hash, n), removed[n] ? NULL : &items[n]);
	}
	assert_int_equal(t.count, 0);
	hash_table_done(&t);
}

static void entries_are_removed_in_any_order(void **state)
{
	remove_in_any_order(spread_hash, ITEMS);
}

static void entries_with_one_hash_are_told_apart(void **state)
{
	remove_in_any_order(equal_hash, 300);
}

static void a_later_entry_with_the_same_key_is_found_first(void **state)
{
	struct item twin = {.key = 3};
	struct hash_table t;

	fill(&t, spread_hash, 10);
	hash_table_insert(&t, &twin.node, spread_hash(3));
	assert_ptr_equal(find(&t, spread_hash, 3), &twin);
	hash_table_remove(&t, &twin.node);
	assert_ptr_equal(find(&t, spread_hash, 3), &items[3]);
	hash_table_done(&t);
}

static void see(void *arg, struct hash_node *node)
{
	struct item *i = CONTAINER_OF(node, struct item, node);

	assert_false(i->seen);
	i->seen = true;
	if (arg)
		hash_table_remove(arg, node);
}

static void foreach_sees_each_entry_once_and_may_remove_it(void **state)
{
	struct hash_table t;

	fill(&t, spread_hash, ITEMS);
	hash_table_foreach(&t, see, NULL);
	for (unsigned n = 0; n < ITEMS; n++) {
		assert_true(items[n].seen);
		items[n].seen = false;
	}
	hash_table_foreach(&t, see, &t);
	for (unsigned n = 0; n < ITEMS; n++)
		assert_true(items[n].seen);
	assert_int_equal(t.count, 0);
	hash_table_done(&t);
}

/*
 * The hashes come from CPython 3.11 or later, which uses SipHash-1-3:
 * PYTHONHASHSEED=0 python3 -c 'print(hash(bytes(range(8))) % 2**64)'
 */
static void the_hash_is_siphash_1_3(void **state)
{
	static const struct {
		size_t size;
		uint64_t hash;
	} cases[] = {
		{1, 0x68a914128e01e473},
		{7, 0x2f098ab0c751325a},
		{8, 0xead411e67ebe2eea},
		{9, 0x75927f9d95124362},
		{15, 0xf30eb725bb91c9ea},
		{16, 0x8972188433a5c5b7},
		{23, 0x37332b1389daa4ff},
		{64, 0x75e05fd5bbc870c6},
	};
	uint8_t message[64];

	for (unsigned n = 0; n < sizeof(message); n++)
		message[n] = (uint8_t)n;
	for (size_t n = 0; n < ARRAY_SIZE(cases); n++)
		assert_int_equal(siphash(&(struct hash_key){0}, message, cases[n].size), cases[n].hash);
}

static void the_hash_depends_on_the_key_and_each_byte(void **state)
{
	static const struct hash_key keys[] = {{1, 2}, {1, 3}, {2, 2}};
	uint64_t hash = siphash(&keys[0], "abcdefghi", 9);

	assert_int_equal(siphash(&keys[0], "abcdefghi", 9), hash);
	assert_int_not_equal(siphash(&keys[1], "abcdefghi", 9), hash);
	assert_int_not_equal(siphash(&keys[2], "abcdefghi", 9), hash);
	assert_int_not_equal(siphash(&keys[0], "abcdefghi", 8), hash);
	assert_int_not_equal(siphash(&keys[0], "abcdefghj", 9), hash);
	assert_int_not_equal(siphash(&keys[0], "bbcdefghi", 9), hash);
}

static void the_hash_of_a_pair_is_that_of_both_parts_in_a_row(void **state)
{
	static const uint8_t both[] = {7, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c'};
	static const struct hash_key key = {1, 2};

	assert_int_equal(keyed_hash_of_pair(7, "abc", 3), keyed_hash(both, sizeof(both)));
	assert_int_not_equal(keyed_hash_of_pair(8, "abc", 3), keyed_hash_of_pair(7, "abc", 3));
	assert_int_not_equal(keyed_hash_of_pair(0, "abc", 3), keyed_hash("abc", 3));
	assert_int_equal(siphash_of_pair(&key, 7, "abc", 3), siphash(&key, both, sizeof(both)));
}

static void the_key_of_the_process_is_constant_and_secret(void **state)
{
	assert_int_equal(keyed_hash("x", 1), keyed_hash("x", 1));
	assert_int_not_equal(keyed_hash("x", 1), siphash(&(struct hash_key){0}, "x", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_finds_nothing),
		cmocka_unit_test(growth_keeps_all_entries),
		cmocka_unit_test(a_reserved_table_does_not_grow),
		cmocka_unit_test(entries_are_removed_in_any_order),
		cmocka_unit_test(entries_with_one_hash_are_told_apart),
		cmocka_unit_test(a_later_entry_with_the_same_key_is_found_first),
		cmocka_unit_test(foreach_sees_each_entry_once_and_may_remove_it),
		cmocka_unit_test(the_hash_is_siphash_1_3),
		cmocka_unit_test(the_hash_depends_on_the_key_and_each_byte),
		cmocka_unit_test(the_hash_of_a_pair_is_that_of_both_parts_in_a_row),
		cmocka_unit_test(the_key_of_the_process_is_constant_and_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
