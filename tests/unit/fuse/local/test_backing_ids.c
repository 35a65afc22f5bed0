/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which messages close the ids that are given back. Time passes only where a test says so. */
#include "cmocka_setup.h"

#include <string.h>

#include "base/clock.h"
#include "fuse/local/backing_ids.h"

#define MESSAGES_MAX 8

static struct backing_ids *ids;
static struct broker_call *calls[MESSAGES_MAX]; /* without an answer, the oldest first */
static struct broker_release messages[MESSAGES_MAX];
static unsigned sent, wakes;
static uint64_t now, generation;

uint64_t now_ms(void)
{
	return now;
}

uint64_t work_ms(void)
{
	return now;
}

void probe_wake(struct probe *p)
{
	wakes++;
}

uint64_t probe_generation(struct probe *p)
{
	return generation;
}

void probe_send(struct probe *p, struct broker_call *call, uint32_t type, const void *body, size_t length)
{
	assert_int_equal(type, BROKER_RELEASE);
	assert_int_equal(length, sizeof(struct broker_release));
	assert_in_range(sent, 0, MESSAGES_MAX - 1);
	memcpy(&messages[sent], body, length);
	calls[sent++] = call;
}

static int setup(void **state)
{
	sent = wakes = 0;
	now = 1000000000;
	generation = 1;
	return backing_ids_new(&ids);
}

static int teardown(void **state)
{
	ids = backing_ids_free(ids);
	return sent == 0 ? 0 : -1;
}

/* The mount gets and gives back the ids first, first + 1 and so on; negative ones are descriptors. */
static void give_back(int first, unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		backing_ids_registered(ids);
		backing_ids_close(ids, first < 0 ? first - (int)n : first + (int)n);
	}
}

/* The oldest message is answered; an error: the session ends before. */
static void answer(int error)
{
	static const struct broker_status good;
	struct broker_call *call = calls[0];

	assert_true(sent > 0);
	sent--;
	memmove(calls, calls + 1, sent * sizeof(calls[0]));
	memmove(messages, messages + 1, sent * sizeof(messages[0]));
	call->done(call, error, error == 0 ? &good : NULL);
}

static void assert_message(unsigned n, unsigned count, int first)
{
	assert_in_range(n, 0, sent - 1);
	assert_int_equal(messages[n].count, count);
	assert_int_equal(messages[n].backing_ids[0], first);
}

static void assert_counts(size_t held, size_t left_over)
{
	size_t is_held, is_left_over;

	backing_ids_counts(ids, &is_held, &is_left_over);
	assert_int_equal(is_held, held);
	assert_int_equal(is_left_over, left_over);
}

static void ids_are_gathered_for_a_while(void **state)
{
	give_back(5, 1);
	assert_int_equal(wakes, 1);
	now += BACKING_IDS_GATHER_MS - 1;
	give_back(6, 2);
	assert_int_equal(wakes, 1);
	assert_int_equal(backing_ids_housekeep(ids), 1);
	assert_int_equal(sent, 0);
	now++;
	assert_int_equal(backing_ids_housekeep(ids), -1);
	assert_int_equal(sent, 1);
	assert_message(0, 3, 5);
	assert_int_equal(messages[0].backing_ids[2], 7);
	assert_counts(3, 0);
	answer(0);
	assert_counts(0, 0);
	assert_int_equal(backing_ids_housekeep(ids), -1);
	assert_int_equal(sent, 0);
}

static void a_full_message_goes_at_once(void **state)
{
	give_back(1, BROKER_MAX_RELEASE - 1);
	assert_int_equal(sent, 0);
	give_back(100, 2);
	assert_int_equal(sent, 1);
	assert_message(0, BROKER_MAX_RELEASE, 1);
	assert_int_equal(wakes, 2); /* for the first id of each message */
	now += BACKING_IDS_GATHER_MS;
	(void)backing_ids_housekeep(ids);
	assert_message(1, 1, 101);
	answer(0);
	answer(0);
	assert_counts(0, 0);
}

static void no_id_is_no_message(void **state)
{
	backing_ids_close(ids, 0);
	assert_int_equal(wakes, 0);
	assert_int_equal(backing_ids_housekeep(ids), -1);
}

static void the_next_session_closes_what_is_left_over(void **state)
{
	give_back(1, 1);
	give_back(-7, 2);
	give_back(3, 1);
	now += BACKING_IDS_GATHER_MS;
	(void)backing_ids_housekeep(ids);
	assert_message(0, 4, 1);
	answer(-ENOTCONN);
	assert_counts(2, 2); /* the descriptors were closed already */
	backing_ids_new_session(ids);
	assert_message(0, 2, 1);
	assert_int_equal(messages[0].backing_ids[1], 3);
	assert_counts(2, 0);
	answer(0);
	assert_counts(0, 0);
}

static void of_descriptors_alone_nothing_is_left_over(void **state)
{
	give_back(-1, 3);
	now += BACKING_IDS_GATHER_MS;
	(void)backing_ids_housekeep(ids);
	answer(-ENOTCONN);
	assert_counts(0, 0);
	backing_ids_new_session(ids);
	assert_int_equal(sent, 0);
}

static void without_a_session_ids_are_left_over_at_once(void **state)
{
	give_back(1, 2);
	generation = 0;
	backing_ids_session_ended(ids);
	assert_message(0, 2, 1);
	answer(-ENOTCONN);
	assert_counts(2, 2);
	give_back(3, 1);
	assert_message(0, 1, 3);
	answer(-ENOTCONN);
	assert_counts(3, 3);
	generation = 2;
	backing_ids_new_session(ids);
	assert_message(0, 2, 1);
	assert_message(1, 1, 3);
	answer(0);
	answer(0);
	assert_counts(0, 0);
}

static void the_end_of_the_mount_frees_gathered_ids(void **state)
{
	give_back(1, 3);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(ids_are_gathered_for_a_while),
		TEST(a_full_message_goes_at_once),
		TEST(no_id_is_no_message),
		TEST(the_next_session_closes_what_is_left_over),
		TEST(of_descriptors_alone_nothing_is_left_over),
		TEST(without_a_session_ids_are_left_over_at_once),
		TEST(the_end_of_the_mount_frees_gathered_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
