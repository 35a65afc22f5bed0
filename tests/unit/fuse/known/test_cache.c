/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <stdio.h>
#include <string.h>

#include "fuse/known/cache.h"
#include "base/util.h"

static struct cache *new_cache(size_t max)
{
	struct cache *c;

	assert_int_equal(cache_new(max, &c), 0);
	return c;
}

static void put(struct cache *c, unsigned key, unsigned value)
{
	cache_put(c, &key, sizeof(key), &value, sizeof(value));
}

/* The value, 0 for none. */
static unsigned get(struct cache *c, unsigned key)
{
	unsigned value = 0;

	return cache_get(c, &key, sizeof(key), &value, sizeof(value)) ? value : 0;
}

static void what_was_put_is_found_until_it_is_dropped(void **state)
{
	struct cache *c = new_cache(10);
	unsigned key = 1;
	uint8_t byte;

	put(c, 1, 11);
	put(c, 2, 12);
	assert_int_equal(get(c, 1), 11);
	assert_int_equal(get(c, 2), 12);
	assert_int_equal(get(c, 3), 0);
	put(c, 1, 21);
	assert_int_equal(get(c, 1), 21);
	assert_false(cache_get(c, &key, sizeof(key), &byte, sizeof(byte))); /* of another size */
	assert_false(cache_get(c, &key, 1, &byte, sizeof(byte)));
	cache_drop(c, &key, sizeof(key));
	cache_drop(c, &key, sizeof(key));
	assert_int_equal(get(c, 1), 0);
	assert_int_equal(get(c, 2), 12);
	assert_null(cache_free(c));
	assert_null(cache_free(NULL));
}

static void what_was_not_used_for_longest_goes_first(void **state)
{
	struct cache *c = new_cache(3);

	put(c, 1, 11);
	put(c, 2, 12);
	put(c, 3, 13);
	assert_int_equal(get(c, 1), 11);
	put(c, 4, 14);
	assert_int_equal(get(c, 2), 0);
	put(c, 3, 23); /* used, too */
	put(c, 5, 15);
	put(c, 6, 16);
	assert_int_equal(get(c, 1), 0);
	assert_int_equal(get(c, 4), 0);
	assert_int_equal(get(c, 3), 23);
	assert_int_equal(get(c, 5), 15);
	assert_int_equal(get(c, 6), 16);
	(void)cache_free(c);
}

static void many_are_found_in_any_order(void **state)
{
	struct cache *c = new_cache(5000);

	for (unsigned n = 1; n <= 8000; n++)
		put(c, n, n + 7);
	for (unsigned n = 1; n <= 3000; n++)
		assert_int_equal(get(c, n), 0);
	for (unsigned n = 8000; n > 3000; n--)
		assert_int_equal(get(c, n), n + 7);
	(void)cache_free(c);
}

#define THREADS 4

static void *use(void *arg)
{
	struct cache *c = arg;

	for (unsigned n = 0; n < 20000; n++) {
		unsigned key = n % 97, value = get(c, key);

		if (value != 0 && value != key + 1)
			return c;
		put(c, key, key + 1);
		if (n % 13 == 0)
			cache_drop(c, &key, sizeof(key));
	}
	return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
	struct cache *c = new_cache(50);
	pthread_t threads[THREADS];
	void *wrong;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use, c), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	(void)cache_free(c);
}

/* Parts: threads seldom meet, and together they hold no more than one. */
static void a_large_one_holds_no_more_than_it_may(void **state)
{
	struct cache *c = new_cache(65536);
	unsigned found = 0;

	for (unsigned n = 1; n <= 40000; n++)
		put(c, n, n + 7);
	for (unsigned n = 1; n <= 40000; n++)
		assert_int_equal(get(c, n), n + 7);
	for (unsigned n = 40001; n <= 200000; n++)
		put(c, n, n + 7);
	for (unsigned n = 1; n <= 200000; n++)
		found += get(c, n) == n + 7;
	assert_int_equal(found, 65536);
	(void)cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_is_found_until_it_is_dropped),
		cmocka_unit_test(what_was_not_used_for_longest_goes_first),
		cmocka_unit_test(many_are_found_in_any_order),
		cmocka_unit_test(a_large_one_holds_no_more_than_it_may),
		cmocka_unit_test(threads_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
