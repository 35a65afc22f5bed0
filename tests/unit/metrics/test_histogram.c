/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include "base/util.h"
#include "metrics/histogram.h"

static void a_bound_belongs_to_its_bucket(void **state)
{
	assert_int_equal(histogram_bucket(0), 0);
	assert_int_equal(histogram_bucket(1), 0);
	assert_int_equal(histogram_bucket(1000), 0);
	assert_int_equal(histogram_bucket(1001), 1);
	for (unsigned n = 1; n < HISTOGRAM_BOUNDS; n++) {
		uint64_t ns = histogram_bound_us(n) * 1000;

		assert_int_equal(histogram_bucket(ns - 1), n);
		assert_int_equal(histogram_bucket(ns), n);
		assert_int_equal(histogram_bucket(ns + 1), n + 1);
	}
	assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void percentiles_lie_between_the_bounds_of_their_bucket(void **state)
{
	struct histogram_counts c = {0};

	assert_true(histogram_percentile_us(&c, 0.5) == 0);
	c.counts[3] = 100; /* 4 to 8 us */
	assert_true(histogram_percentile_us(&c, 0.5) == 6);
	assert_true(histogram_percentile_us(&c, 1) == 8);
	c.counts[5] = 100; /* 16 to 32 us */
	assert_true(histogram_percentile_us(&c, 0.25) == 6);
	assert_true(histogram_percentile_us(&c, 0.5) == 8);
	assert_true(histogram_percentile_us(&c, 0.75) == 24);
	c = (struct histogram_counts){.counts = {[0] = 4}};
	assert_true(histogram_percentile_us(&c, 0.5) == 0.5);
	c = (struct histogram_counts){.counts = {[HISTOGRAM_BUCKETS - 1] = 4}};
	assert_true(histogram_percentile_us(&c, 0.5) == (double)histogram_bound_us(HISTOGRAM_BOUNDS - 1));
}

#define THREADS 4
#define ROUNDS  20000

static void *add_many(void *arg)
{
	for (uint64_t n = 0; n < ROUNDS; n++)
		histogram_add(arg, n * 100);
	return NULL;
}

static void no_duration_of_any_thread_is_lost(void **state)
{
	static struct histogram h;
	struct histogram_counts c = {0};
	pthread_t threads[THREADS];

	for (size_t n = 0; n < THREADS; n++)
		assert_int_equal(pthread_create(&threads[n], NULL, add_many, &h), 0);
	for (size_t n = 0; n < THREADS; n++)
		assert_int_equal(pthread_join(threads[n], NULL), 0);
	histogram_read(&h, &c);
	assert_int_equal(histogram_total(&c), THREADS * ROUNDS);
	assert_int_equal(c.ns, UINT64_C(100) * THREADS * ROUNDS * (ROUNDS - 1) / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bound_belongs_to_its_bucket),
		cmocka_unit_test(percentiles_lie_between_the_bounds_of_their_bucket),
		cmocka_unit_test(no_duration_of_any_thread_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
