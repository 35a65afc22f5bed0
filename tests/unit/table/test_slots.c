/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "table/slots.h"

#define MANY    5000 /* more than some chunks */
#define THREADS 4
#define ROUNDS  20000

static int objects[MANY];

static void numbers_begin_with_1_and_find_their_objects(void **state)
{
	struct slots s;

	assert_int_equal(slots_init(&s), 0);
	for (unsigned n = 0; n < MANY; n++)
		assert_int_equal(slots_add(&s, &objects[n]), n + 1);
	for (unsigned n = 0; n < MANY; n++)
		assert_ptr_equal(slots_get(&s, n + 1), &objects[n]);
	slots_done(&s);
}

static void numbers_that_nobody_has_find_nothing(void **state)
{
	struct slots s;

	assert_int_equal(slots_init(&s), 0);
	assert_null(slots_get(&s, 0));
	assert_null(slots_get(&s, 1));
	assert_int_equal(slots_add(&s, &objects[0]), 1);
	assert_null(slots_get(&s, 2));
	assert_null(slots_get(&s, SLOTS_OF_CHUNK + 1));
	assert_null(slots_get(&s, (uint64_t)SLOTS_CHUNKS * SLOTS_OF_CHUNK));
	assert_null(slots_get(&s, (uint64_t)SLOTS_CHUNKS * SLOTS_OF_CHUNK + 1));
	assert_null(slots_get(&s, UINT64_MAX));
	slots_done(&s);
}

static void a_number_that_is_given_up_is_given_again(void **state)
{
	struct slots s;

	assert_int_equal(slots_init(&s), 0);
	for (unsigned n = 0; n < MANY; n++)
		(void)slots_add(&s, &objects[n]);
	for (unsigned n = 0; n < MANY; n += 3)
		slots_remove(&s, n + 1);
	for (unsigned n = 0; n < MANY; n++)
		assert_ptr_equal(slots_get(&s, n + 1), n % 3 == 0 ? NULL : &objects[n]);
	for (unsigned n = 0; n < MANY; n += 3) {
		uint64_t number = slots_add(&s, &objects[n]);

		assert_true(number >= 1 && number <= MANY && (number - 1) % 3 == 0);
		assert_ptr_equal(slots_get(&s, number), &objects[n]);
	}
	assert_int_equal(slots_add(&s, &objects[0]), MANY + 1);
	slots_done(&s);
}

/* Each thread has objects of its own, and finds them whatever the others add and remove. */
static void *adds_and_removes(void *arg)
{
	struct slots *s = arg;
	int own[8];
	uint64_t numbers[ARRAY_SIZE(own)];

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned n = 0; n < ARRAY_SIZE(own); n++)
			numbers[n] = slots_add(s, &own[n]);
		for (unsigned n = 0; n < ARRAY_SIZE(own); n++)
			if (slots_get(s, numbers[n]) != &own[n])
				return s;
		for (unsigned n = 0; n < ARRAY_SIZE(own); n++)
			slots_remove(s, numbers[n]);
	}
	return NULL;
}

static void threads_find_their_own_objects(void **state)
{
	struct slots s;
	pthread_t threads[THREADS];
	void *wrong;

	assert_int_equal(slots_init(&s), 0);
	for (unsigned n = 0; n < THREADS; n++)
		assert_int_equal(pthread_create(&threads[n], NULL, adds_and_removes, &s), 0);
	for (unsigned n = 0; n < THREADS; n++) {
		assert_int_equal(pthread_join(threads[n], &wrong), 0);
		assert_null(wrong);
	}
	/* No number was lost: no more were made than were in use at a time. */
	assert_true(slots_add(&s, &objects[0]) <= THREADS * 8);
	slots_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_begin_with_1_and_find_their_objects),
		cmocka_unit_test(numbers_that_nobody_has_find_nothing),
		cmocka_unit_test(a_number_that_is_given_up_is_given_again),
		cmocka_unit_test(threads_find_their_own_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
