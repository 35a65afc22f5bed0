/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looks of a server that remembers: which calls wait for them, and when they are made. Time passes only where a test
 * says so.
 */
#include "fuse/memory/memory_fixture.h"

/* True if a call that is made now would get old attributes. */
static bool is_behind(const struct nfs_fh *fh)
{
	return memory_is_behind(&m, fh, attr_clock());
}

static inline void assert_nothing_behind(void)
{
	assert_int_equal(m.count, 0);
	assert_int_equal(memory_housekeep(&m), -1);
	assert_int_equal(called, 0);
}

static void a_call_waits_for_a_look_at_what_it_touches(void **state)
{
	struct nfs_call readdir = of(NFS_READDIRPLUS, &dir), other = of(NFS_READDIRPLUS, &dir2);

	memory_changed(&m, &dir);
	assert_true(is_behind(&dir));
	assert_false(is_behind(&dir2));
	memory_submit(&m, &other, server_submit);
	assert_called(0, NFS_READDIRPLUS, &dir2);
	answer(0);
	memory_submit(&m, &readdir, server_submit);
	assert_int_equal(called, 1);
	assert_called(0, NFS_GETACL, &dir);
	answer(0);
	assert_false(is_behind(&dir));
	assert_called(0, NFS_READDIRPLUS, &dir);
	assert_int_equal(done, 1);
	answer(0);
	assert_int_equal(done, 2);
	assert_int_equal(fs.counters.refreshes, 1);
	assert_nothing_behind();
}

static void calls_share_a_look_that_sees_their_changes(void **state)
{
	struct nfs_call first = of(NFS_LOOKUP, &dir), second = first, third = first;

	memory_changed(&m, &dir);
	memory_changed(&m, &dir);
	memory_submit(&m, &first, server_submit);
	memory_submit(&m, &second, server_submit);
	assert_int_equal(called, 1);
	/* The look under way may not see this change. */
	memory_changed(&m, &dir);
	memory_submit(&m, &third, server_submit);
	assert_int_equal(called, 1);
	answer(0);
	assert_int_equal(called, 3);
	assert_called(0, NFS_GETACL, &dir);
	assert_ptr_equal(calls[1], &first);
	assert_ptr_equal(calls[2], &second);
	assert_true(is_behind(&dir));
	answer(0);
	assert_ptr_equal(calls[2], &third);
	answer_all(0);
	assert_int_equal(done, 3);
	assert_nothing_behind();
}

static void a_change_during_a_look_is_looked_at_later(void **state)
{
	memory_changed(&m, &dir);
	memory_hurry(&m);
	memory_changed(&m, &dir);
	answer(0);
	assert_int_equal(called, 0);
	assert_true(is_behind(&dir));
	assert_in_range(memory_housekeep(&m), 1, MEMORY_TICK_MS);
	memory_hurry(&m);
	answer(0);
	assert_nothing_behind();
}

static void rename_waits_for_both_directories(void **state)
{
	struct nfs_call rename = of(NFS_RENAME, &dir), again = rename;

	rename.fh2 = again.fh2 = dir2;
	memory_changed(&m, &dir);
	memory_changed(&m, &dir2);
	memory_submit(&m, &rename, server_submit);
	assert_called(0, NFS_GETACL, &dir);
	answer(0);
	assert_int_equal(called, 1);
	assert_called(0, NFS_GETACL, &dir2);
	answer(0);
	assert_ptr_equal(calls[0], &rename);
	answer(0);
	memory_changed(&m, &dir2);
	memory_submit(&m, &again, server_submit);
	assert_called(0, NFS_GETACL, &dir2);
	answer_all(0);
	assert_int_equal(done, 2);
	assert_nothing_behind();
}

static void a_call_without_a_second_handle_ignores_it(void **state)
{
	struct nfs_call call = of(NFS_LOOKUP, &dir);

	call.fh2 = dir2;
	memory_changed(&m, &dir2);
	memory_submit(&m, &call, server_submit);
	assert_ptr_equal(calls[0], &call);
	answer(0);
	memory_hurry(&m);
	answer(0);
}

static void requests_that_make_the_server_look_wait_for_no_look(void **state)
{
	struct nfs_call commit = of(NFS_COMMIT, &file), acl = of(NFS_GETACL, &file);

	memory_changed(&m, &file);
	memory_submit(&m, &commit, server_submit);
	assert_ptr_equal(calls[0], &commit);
	answer(0);
	memory_submit(&m, &acl, server_submit);
	assert_ptr_equal(calls[0], &acl);
	answer(0);
	fs.has_acls = true;
	memory_submit(&m, &acl, server_submit);
	assert_called(0, NFS_COMMIT, &file);
	answer(-EISDIR);
	assert_ptr_equal(calls[0], &acl);
	answer(0);
	assert_nothing_behind();
}

static void a_server_with_acls_looks_at_commit(void **state)
{
	struct nfs_ace aces[3] = {0};

	memory_changed(&m, &file);
	memory_hurry(&m);
	assert_called(0, NFS_GETACL, &file);
	calls[0]->res.acl.access = aces;
	calls[0]->res.acl.access_count = 3;
	answer(0);
	assert_int_equal(called, 1);
	assert_called(0, NFS_COMMIT, &file);
	assert_int_equal(fs.counters.refreshes, 0);
	answer(0);
	assert_int_equal(fs.counters.refreshes, 1);
	memory_changed(&m, &file);
	memory_hurry(&m);
	assert_called(0, NFS_COMMIT, &file);
	answer(0);
	assert_nothing_behind();
}

static void a_server_without_nfsacl_looks_at_commit(void **state)
{
	memory_changed(&m, &dir);
	memory_hurry(&m);
	answer(-EOPNOTSUPP);
	assert_called(0, NFS_COMMIT, &dir);
	answer(-EISDIR);
	assert_int_equal(fs.counters.refreshes_failed, 0);
	assert_nothing_behind();
}

static void a_file_that_is_gone_is_behind_no_more(void **state)
{
	struct nfs_call call = of(NFS_GETATTR, &file);

	memory_changed(&m, &file);
	memory_submit(&m, &call, server_submit);
	memory_changed(&m, &file);
	answer(-ESTALE);
	assert_int_equal(fs.counters.refreshes_failed, 0);
	assert_ptr_equal(calls[0], &call);
	answer(-ESTALE);
	assert_int_equal(last_error, -ESTALE);
	assert_nothing_behind();
}

static void a_failed_look_is_made_again_and_delays_calls_once(void **state)
{
	struct nfs_call call = of(NFS_GETATTR, &file);

	memory_changed(&m, &file);
	memory_submit(&m, &call, server_submit);
	answer(-EIO);
	assert_int_equal(fs.counters.refreshes_failed, 1);
	assert_ptr_equal(calls[0], &call);
	answer(0);
	assert_true(is_behind(&file));
	assert_in_range(memory_housekeep(&m), 1, 2 * MEMORY_TICK_MS);
	memory_hurry(&m);
	answer(0);
	assert_nothing_behind();
}

static void failures_send_changes_to_the_server_until_a_look_succeeds(void **state)
{
	memory_changed(&m, &file);
	for (int n = 0; n < MEMORY_FAILURES; n++) {
		assert_int_equal(memory_reason(&m), REASON_NONE);
		memory_hurry(&m);
		assert_called(0, NFS_GETACL, &file);
		answer(-EACCES);
	}
	assert_int_equal(fs.counters.refreshes_failed, MEMORY_FAILURES);
	assert_int_equal(memory_reason(&m), REASON_SERVER_REMEMBERS);
	memory_hurry(&m);
	answer_all(0);
	assert_int_equal(memory_reason(&m), REASON_NONE);
	assert_nothing_behind();
}

static void too_many_behind_send_changes_to_the_server(void **state)
{
	struct nfs_fh fh = {.len = 4};

	for (uint32_t n = 0; n < MEMORY_BEHIND_MAX; n++) {
		assert_int_equal(memory_reason(&m), REASON_NONE);
		memcpy(fh.data, &n, sizeof(n));
		memory_changed(&m, &fh);
	}
	assert_int_equal(memory_reason(&m), REASON_SERVER_REMEMBERS);
	memory_hurry(&m);
	assert_int_equal(called, MEMORY_LOOKS_MAX);
	answer(0);
	assert_int_equal(memory_reason(&m), REASON_NONE);
	while (called > MEMORY_LOOKS_LOW + 1)
		answer(0);
	memory_hurry(&m);
	assert_int_equal(called, MEMORY_LOOKS_LOW + 1);
	answer(0); /* now the next begin together */
	assert_int_equal(called, MEMORY_LOOKS_MAX);
	answer_all(0);
	assert_nothing_behind();
}

static void a_killed_caller_does_not_wait_for_the_look(void **state)
{
	struct nfs_call call = of(NFS_GETATTR, &file), impatient = call;

	impatient.given_up = NULL;
	impatient.patience_ms = 1;
	memory_changed(&m, &file);
	memory_submit(&m, &call, server_submit);
	assert_false(calls[0]->given_up(calls[0]));
	assert_int_equal(done, 0);
	unwanted = true;
	assert_false(calls[0]->given_up(calls[0]));
	assert_int_equal(done, 1);
	assert_int_equal(last_error, -EINTR);
	memory_submit(&m, &impatient, server_submit);
	while (done == 1)
		assert_false(calls[0]->given_up(calls[0]));
	assert_int_equal(last_error, -ETIMEDOUT);
	answer(0);
	assert_nothing_behind();
}

static void without_a_connection_no_call_waits(void **state)
{
	struct nfs_call call = of(NFS_GETATTR, &file), later = call;

	memory_changed(&m, &file);
	memory_submit(&m, &call, server_submit);
	connected = false;
	assert_true(calls[0]->given_up(calls[0]));
	answer(-EINTR);
	assert_ptr_equal(calls[0], &call);
	memory_submit(&m, &later, server_submit);
	assert_ptr_equal(calls[1], &later);
	memory_flush(&m); /* does not wait */
	answer_all(-ENOTCONN);
	assert_int_equal(memory_reason(&m), REASON_NONE);
	assert_true(is_behind(&file));
}

static void a_server_that_is_stopped_has_nothing_behind(void **state)
{
	struct nfs_call call = of(NFS_GETATTR, &file);

	memory_changed(&m, &file);
	memory_submit(&m, &call, server_submit);
	answer_all(-ENOTCONN);
	assert_int_equal(last_error, -ENOTCONN);
	assert_nothing_behind();
}

static void changes_are_looked_at_by_themselves(void **state)
{
	int wait;

	assert_int_equal(memory_housekeep(&m), -1);
	memory_changed(&m, &file);
	memory_changed(&m, &file);
	memory_changed(&m, &dir);
	assert_int_equal(woken, 1);
	wait = memory_housekeep(&m);
	assert_in_range(wait, 1, MEMORY_TICK_MS);
	assert_int_equal(called, 0);
	while (called < 2) {
		(void)usleep((useconds_t)wait * 1000);
		wait = memory_housekeep(&m);
	}
	assert_int_equal(wait, -1);
	assert_called(0, NFS_GETACL, &file);
	assert_called(1, NFS_GETACL, &dir);
	answer_all(0);
	assert_nothing_behind();
}

static void files_that_are_closed_together_are_looked_at_together(void **state)
{
	const struct nfs_fh other = {.len = 5, .data = "other"};
	int wait;

	memory_written(&m, &file);
	wait = memory_housekeep(&m);
	assert_in_range(wait, 1, MEMORY_CLOSED_MS);
	(void)usleep(3000);
	memory_written(&m, &other);
	assert_int_equal(woken, 1);
	while (called == 0) {
		(void)usleep(1000);
		wait = memory_housekeep(&m);
	}
	assert_int_equal(called, 2);
	assert_int_equal(wait, -1);
	assert_called(0, NFS_GETACL, &file);
	assert_called(1, NFS_GETACL, &other);
	answer_all(0);
	assert_nothing_behind();
}

static void a_file_that_is_closed_often_is_looked_at_less_often(void **state)
{
	uint64_t since;
	int wait;

	memory_written(&m, &file);
	memory_hurry(&m);
	answer(0);
	since = now_ms();
	memory_written(&m, &file);
	wait = memory_housekeep(&m);
	assert_true((int)(now_ms() - since) + wait >= MEMORY_TICK_MS);
	memory_hurry(&m);
	answer_all(0);
	assert_nothing_behind();
}

static void a_file_that_is_removed_needs_no_look(void **state)
{
	memory_gone(&m, &file);
	memory_written(&m, &file);
	memory_written(&m, &dir);
	memory_gone(&m, &file);
	memory_hurry(&m);
	assert_int_equal(called, 1);
	assert_called(0, NFS_GETACL, &dir);
	answer(0);
	/* Not so if the look has begun: a call may wait for it. */
	memory_written(&m, &file);
	memory_hurry(&m);
	memory_gone(&m, &file);
	answer(-ESTALE);
	memory_gone(&m, &dir);
	assert_nothing_behind();
}

static void a_look_counts_for_the_data_of_the_file(void **state)
{
	struct nfs_attr attr = {.mode = S_IFREG | 0644, .nlink = 1};
	struct inode *i;

	assert_int_equal(inode_table_get(fs.inodes, &file, &attr, &i), 0);
	server_refresh_changed(i);
	memory_written(&m, &file);
	assert_true(server_refresh_owed(&fs, i));
	memory_hurry(&m);
	assert_false(server_refresh_owed(&fs, i));
	server_refresh_changed(i); /* this look may not see it */
	answer(0);
	assert_true(server_refresh_needed(&fs, i));
	memory_written(&m, &file);
	memory_hurry(&m);
	answer(-EIO);
	assert_true(server_refresh_needed(&fs, i));
	memory_hurry(&m);
	answer(0);
	assert_false(server_refresh_needed(&fs, i));
	(void)inode_unref(fs.inodes, i);
	assert_nothing_behind();
}

static void an_answer_on_its_way_during_the_look_has_old_attributes(void **state)
{
	uint64_t asked = attr_clock(), later;
	struct nfs_fh fh = {.len = 4};

	memory_changed(&m, &file);
	memory_hurry(&m);
	answer(0);
	later = attr_clock();
	assert_true(memory_is_behind(&m, &file, asked));
	assert_false(memory_is_behind(&m, &file, later));
	assert_false(memory_is_behind(&m, &dir, asked));
	memory_changed(&m, &file);
	assert_true(memory_is_behind(&m, &file, later));
	memory_hurry(&m);
	answer(0);
	assert_true(memory_is_behind(&m, &file, later));
	assert_false(is_behind(&file));
	/* Too many looks later every file may have been among those that are forgotten. */
	for (uint32_t n = 0; n < MEMORY_RECENT_MAX; n++) {
		memcpy(fh.data, &n, sizeof(n));
		memory_changed(&m, &fh);
		memory_hurry(&m);
		answer(0);
	}
	assert_true(memory_is_behind(&m, &dir, later));
	assert_false(is_behind(&file));
	assert_false(is_behind(&fh));
	assert_int_equal(m.behind.count, MEMORY_RECENT_MAX);
	assert_nothing_behind();
}

static void a_server_that_forgets_needs_no_looks(void **state)
{
	remembers = false;
	memory_changed(&m, &file);
	assert_false(is_behind(&file));
	assert_nothing_behind();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_call_waits_for_a_look_at_what_it_touches),
		TEST(calls_share_a_look_that_sees_their_changes),
		TEST(a_change_during_a_look_is_looked_at_later),
		TEST(rename_waits_for_both_directories),
		TEST(a_call_without_a_second_handle_ignores_it),
		TEST(requests_that_make_the_server_look_wait_for_no_look),
		TEST(a_server_with_acls_looks_at_commit),
		TEST(a_server_without_nfsacl_looks_at_commit),
		TEST(a_file_that_is_gone_is_behind_no_more),
		TEST(a_failed_look_is_made_again_and_delays_calls_once),
		TEST(failures_send_changes_to_the_server_until_a_look_succeeds),
		TEST(too_many_behind_send_changes_to_the_server),
		TEST(a_killed_caller_does_not_wait_for_the_look),
		TEST(without_a_connection_no_call_waits),
		TEST(a_server_that_is_stopped_has_nothing_behind),
		TEST(changes_are_looked_at_by_themselves),
		TEST(files_that_are_closed_together_are_looked_at_together),
		TEST(a_file_that_is_closed_often_is_looked_at_less_often),
		TEST(a_file_that_is_removed_needs_no_look),
		TEST(a_look_counts_for_the_data_of_the_file),
		TEST(an_answer_on_its_way_during_the_look_has_old_attributes),
		TEST(a_server_that_forgets_needs_no_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
