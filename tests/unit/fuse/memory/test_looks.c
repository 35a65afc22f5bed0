/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks that travel together in one COMPOUND, and what becomes of those that it does not answer. */
#include "fuse/memory/memory_fixture.h"

static const struct nfs_fh *const three[] = {&dir, &dir2, &file};

static int setup_looks(void **state)
{
	int r = setup(state);

	server.abilities.looks = true;
	return r;
}

/* The oldest call is a COMPOUND of so many looks. */
static struct nfs_look *assert_compound(unsigned count)
{
	assert_true(called > 0);
	assert_int_equal(calls[0]->proc, NFS_COMPOUND);
	assert_int_equal(calls[0]->args.looks.count, count);
	return calls[0]->args.looks.looks;
}

/* Three are behind, and the server is asked for all. */
static struct nfs_look *ask_for_three(void)
{
	struct nfs_look *looks;

	for (size_t n = 0; n < ARRAY_SIZE(three); n++)
		memory_changed(&m, three[n]);
	memory_hurry(&m);
	assert_int_equal(called, 1);
	looks = assert_compound(3);
	for (size_t n = 0; n < ARRAY_SIZE(three); n++)
		assert_true(nfs_fh_equal(looks[n].fh, three[n]));
	return looks;
}

static void looks_that_are_due_together_are_one_request(void **state)
{
	const struct timespec mtime = {.tv_sec = 7, .tv_nsec = 8}, none = {0};
	struct nfs_look *looks = ask_for_three();

	looks[0].has_mtime = true;
	looks[0].mtime = mtime;
	answer(0);
	assert_int_equal(called, 0);
	assert_int_equal(m.count, 0);
	assert_int_equal(fs.counters.refreshes, 3);
	assert_int_equal(fs.counters.refreshes_failed, 0);
	assert_true(memory_has_seen(&m, &dir, &mtime));
	assert_false(memory_has_seen(&m, &dir2, &none));
}

static void a_look_alone_is_a_getacl(void **state)
{
	memory_changed(&m, &dir);
	memory_hurry(&m);
	assert_int_equal(called, 1);
	assert_called(0, NFS_GETACL, &dir);
	answer(0);
	assert_int_equal(m.count, 0);
}

static void a_look_that_is_not_answered_is_sent_alone(void **state)
{
	struct nfs_look *looks = ask_for_three();

	looks[1].error = looks[2].error = -EAGAIN;
	answer(0);
	assert_int_equal(m.count, 2);
	assert_int_equal(called, 2);
	assert_called(0, NFS_GETACL, &dir2);
	assert_called(1, NFS_GETACL, &file);
	answer(-ESTALE);
	answer(0);
	assert_int_equal(m.count, 0);
	assert_int_equal(fs.counters.refreshes, 3);
	assert_int_equal(fs.counters.refreshes_failed, 0);
	assert_int_equal(m.sender.refusals, 0);
}

/* Removed trees make requests end at their first look. */
static void files_that_are_gone_are_no_refusal(void **state)
{
	for (unsigned n = 0; n <= LOOKS_REFUSALS; n++) {
		struct nfs_look *looks = ask_for_three();

		looks[0].error = -ESTALE;
		looks[1].error = looks[2].error = -EAGAIN;
		answer(0);
		assert_int_equal(called, 2);
		answer_all(-ESTALE);
		assert_int_equal(m.count, 0);
	}
	assert_int_equal(m.sender.refusals, 0);
	assert_int_equal(fs.counters.refreshes_failed, 0);
}

static void a_server_with_acls_looks_by_commit_from_then_on(void **state)
{
	struct nfs_look *looks = ask_for_three();

	looks[2].has_acl = true;
	answer(0);
	assert_int_equal(m.count, 1);
	assert_int_equal(called, 1);
	assert_called(0, NFS_COMMIT, &file);
	answer(0);
	assert_int_equal(m.count, 0);
	memory_changed(&m, &dir);
	memory_changed(&m, &file);
	memory_hurry(&m);
	assert_int_equal(called, 2);
	assert_called(0, NFS_COMMIT, &dir);
	assert_called(1, NFS_COMMIT, &file);
	answer(-EISDIR);
	answer(0);
	assert_int_equal(m.count, 0);
}

/* Answers the three's request by an error, and then each look alone. */
static void refuse(int error, bool answered)
{
	struct nfs_look *looks = ask_for_three();

	for (size_t n = 0; n < ARRAY_SIZE(three); n++)
		looks[n].error = -EAGAIN;
	answer(answered ? 0 : error);
	assert_int_equal(called, 3);
	for (unsigned n = 0; n < ARRAY_SIZE(three); n++)
		assert_called(n, NFS_GETACL, three[n]);
	answer_all(0);
	assert_int_equal(m.count, 0);
}

static void a_server_that_refuses_is_asked_three_times_in_a_row(void **state)
{
	refuse(-EPROTONOSUPPORT, false);
	refuse(0, true);
	(void)ask_for_three();
	answer(0); /* the server can */
	refuse(-EPFNOSUPPORT, false);
	refuse(0, true);
	refuse(-EIO, false);
	for (size_t n = 0; n < ARRAY_SIZE(three); n++)
		memory_changed(&m, three[n]);
	memory_hurry(&m);
	assert_int_equal(called, 3);
	for (unsigned n = 0; n < ARRAY_SIZE(three); n++)
		assert_called(n, NFS_GETACL, three[n]);
	answer_all(0);
	assert_int_equal(fs.counters.refreshes_failed, 0);
}

static void a_server_that_answers_from_its_memory_is_asked_for_one_at_a_time(void **state)
{
	const struct memory_directory change = {.mtime = {.tv_sec = 9}, .ctime = {.tv_sec = 9}};
	const struct timespec right = {.tv_sec = 9};
	struct nfs_call call = of(NFS_LOOKUP, &dir);
	struct nfs_look *looks;

	memory_directory_changed(&m, &dir, &change);
	looks = ask_for_three();
	memory_submit(&m, &call, server_submit);
	for (size_t n = 0; n < ARRAY_SIZE(three); n++) {
		looks[n].has_mtime = true;
		looks[n].mtime.tv_sec = 8; /* only of dir something else is known */
	}
	answer(0);
	assert_int_equal(m.count, 1);
	assert_int_equal(called, 1);
	assert_called(0, NFS_GETACL, &dir);
	calls[0]->has_attr = true;
	calls[0]->attr.mtime = right;
	answer(0);
	assert_true(memory_has_seen(&m, &dir, &right));
	assert_int_equal(called, 1);
	assert_ptr_equal(calls[0], &call);
	answer(0);
	memory_changed(&m, &dir2);
	memory_changed(&m, &file);
	memory_hurry(&m);
	assert_called(0, NFS_GETACL, &dir2);
	assert_called(1, NFS_GETACL, &file);
	answer_all(0);
	/* A GETACL is believed: somebody else may have set an old time. */
	memory_directory_changed(&m, &dir, &change);
	memory_hurry(&m);
	calls[0]->has_attr = true;
	calls[0]->attr.mtime.tv_sec = 1;
	answer(0);
	assert_int_equal(m.count, 0);
}

static void an_absent_server_is_no_refusal(void **state)
{
	(void)ask_for_three();
	answer(-ETIMEDOUT);
	assert_int_equal(called, 0);
	assert_int_equal(m.count, 3);
	assert_int_equal(m.failures, 3);
	assert_int_equal(m.sender.refusals, 0);
	(void)ask_for_three();
	answer(0);
	assert_int_equal(m.count, 0);
	assert_int_equal(m.failures, 0);
}

static void the_looks_after_an_answer_travel_together_too(void **state)
{
	struct nfs_fh fh = {.len = 4};

	for (uint32_t n = 0; n < 40; n++) {
		memcpy(fh.data, &n, sizeof(n));
		memory_changed(&m, &fh);
	}
	memory_hurry(&m);
	assert_int_equal(called, 1);
	(void)assert_compound(16);
	answer(0);
	assert_int_equal(called, 1);
	(void)assert_compound(16);
	answer(0);
	assert_int_equal(called, 1);
	(void)assert_compound(8);
	answer(0);
	assert_int_equal(m.count, 0);
	assert_int_equal(fs.counters.refreshes, 40);
}

static void a_call_waits_for_its_look_in_a_request(void **state)
{
	struct nfs_call call = of(NFS_LOOKUP, &dir2), killed = of(NFS_LOOKUP, &file);

	(void)ask_for_three();
	memory_submit(&m, &call, server_submit);
	memory_submit(&m, &killed, server_submit);
	assert_int_equal(called, 1);
	assert_false(calls[0]->given_up(calls[0]));
	assert_int_equal(done, 0);
	unwanted = true;
	assert_false(calls[0]->given_up(calls[0])); /* the look goes on for the others */
	assert_int_equal(done, 2);
	assert_int_equal(last_error, -EINTR);
	connected = false;
	assert_true(calls[0]->given_up(calls[0]));
	answer(-EINTR);
	assert_int_equal(m.count, 3);
	connected = true;
	unwanted = false;
	memory_submit(&m, &call, server_submit);
	assert_called(0, NFS_GETACL, &dir2);
	answer(0);
	assert_ptr_equal(calls[0], &call);
	answer(0);
	assert_int_equal(done, 3);
	memory_hurry(&m);
	answer_all(0);
	assert_int_equal(m.count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_looks, teardown)
	const struct CMUnitTest tests[] = {
		TEST(looks_that_are_due_together_are_one_request),
		TEST(a_look_alone_is_a_getacl),
		TEST(a_look_that_is_not_answered_is_sent_alone),
		TEST(files_that_are_gone_are_no_refusal),
		TEST(a_server_with_acls_looks_by_commit_from_then_on),
		TEST(a_server_that_refuses_is_asked_three_times_in_a_row),
		TEST(a_server_that_answers_from_its_memory_is_asked_for_one_at_a_time),
		TEST(an_absent_server_is_no_refusal),
		TEST(the_looks_after_an_answer_travel_together_too),
		TEST(a_call_waits_for_its_look_in_a_request),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
