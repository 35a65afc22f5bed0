/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When a mount probes again: the waits double up to a limit, and jitter keeps a million mounts apart. */
#include "cmocka_setup.h"

#include "base/util.h"
#include "pacing/probe_pace.h"

static void waits_double_up_to_the_limit(void **state)
{
	const struct backoff_limits limits = {.least_ms = 20, .most_ms = 1000, .jitter_part = 2};
	const unsigned expected[] = {20, 40, 80, 160, 320, 640, 1000, 1000};
	struct backoff b = {0};

	for (size_t n = 0; n < ARRAY_SIZE(expected); n++)
		assert_int_equal(backoff_next(&b, &limits, 0), expected[n]);
	for (uint32_t random = 0; random < 5000; random += 7) {
		unsigned wait = backoff_next(&b, &limits, random);

		assert_in_range(wait, 1000, 1500);
	}
	assert_int_equal(backoff_next(&b, &limits, 500), 1500);
}

static void an_attempt_comes_at_least_every_reprobe(void **state)
{
	struct backoff b = {0};
	unsigned wait = 0;

	assert_int_equal(probe_pace_attempt(&b, REASON_NOT_MATCHED, 60, 0), 200);
	for (unsigned n = 0; n < 20; n++)
		wait = probe_pace_attempt(&b, REASON_NOT_MATCHED, 60, 0);
	assert_int_equal(wait, 60000);
	assert_in_range(probe_pace_attempt(&b, REASON_NOT_MATCHED, 60, UINT32_MAX), 60000, 75000);
}

/* A sidecar that comes back is found within two seconds, however long it was away. */
static void without_a_sidecar_attempts_stay_frequent(void **state)
{
	const enum reason reasons[] = {REASON_NO_REGISTRY, REASON_NO_BROKER};

	for (size_t n = 0; n < ARRAY_SIZE(reasons); n++) {
		struct backoff b = {.wait_ms = 60000};

		for (uint32_t random = 0; random < 100000; random += 13)
			assert_in_range(probe_pace_attempt(&b, reasons[n], 60, random), 1400, 1750);
	}
	assert_in_range(probe_pace_attempt(&(struct backoff){.wait_ms = 60000}, REASON_NO_BROKER, 1, UINT32_MAX), 1000,
		1250);
}

/*
 * Three questions in the time for which the sidecar believes the last match, spread over a quarter of their distance.
 */
static void a_session_asks_three_times(void **state)
{
	unsigned least = UINT32_MAX, most = 0;

	for (uint32_t random = 0; random < 400000; random += 11) {
		unsigned wait = probe_pace_recheck(900, true, random);

		least = wait < least ? wait : least;
		most = wait > most ? wait : most;
	}
	assert_in_range(least, 225000, 226000);
	assert_in_range(most, 299000, 300000);
	assert_int_equal(probe_pace_recheck(900, false, 0), 20000);
	assert_int_equal(probe_pace_recheck(3, false, 0), 1000);
	assert_int_equal(probe_pace_recheck(0, true, 0), 333);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_double_up_to_the_limit),
		cmocka_unit_test(an_attempt_comes_at_least_every_reprobe),
		cmocka_unit_test(without_a_sidecar_attempts_stay_frequent),
		cmocka_unit_test(a_session_asks_three_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
