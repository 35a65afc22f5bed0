/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who waits for a backing file to be stable, against a server that the test plays: it answers when the test says so. */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>

#include "fuse/paths/backing_sync.h"

struct fake_server {
	struct server server;
	struct list calls; /* submitted and not yet answered */
};

struct asker {
	struct backing_sync_wait wait;
	struct errors_heard heard;
	int calls, error;
	bool killed;
};

static struct fake_server server;
static struct fs fs;
static struct inode *file;
static const struct nfs_cred creds[] = {{.uid = 1}, {.uid = 2}, {.uid = 3}};

static void fake_submit(struct server *t, struct nfs_call *call)
{
	(void)t;
	assert_int_equal(call->proc, NFS_COMMIT);
	list_append(&server.calls, &call->node);
}

static const struct server_ops fake_ops = {.submit = fake_submit};

static int setup(void **state)
{
	struct nfs_fh fh = {.len = 4};
	struct nfs_attr attr = {.mode = S_IFREG | 0644, .fileid = 7};

	(void)state;
	memset(&fs, 0, sizeof(fs));
	server.server.ops = &fake_ops;
	list_init(&server.calls);
	fs.server = &server.server;
	return inode_table_new(&fs.inodes) < 0 || inode_table_get(fs.inodes, &fh, &attr, &file) < 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_true(list_empty(&server.calls));
	assert_null(file->syncing);
	(void)inode_unref(fs.inodes, file);
	fs.inodes = inode_table_free(fs.inodes);
	return 0;
}

static void asker_done(struct backing_sync_wait *w, int error)
{
	CONTAINER_OF(w, struct asker, wait)->calls++;
	CONTAINER_OF(w, struct asker, wait)->error = error;
}

static bool is_killed(void *arg)
{
	return ((const struct asker *)arg)->killed;
}

/* The file was opened before by everybody; this one asks now, with the credential of that number. */
static void ask(struct asker *a, unsigned cred, bool writer)
{
	*a = (struct asker){.wait = {.cred = &creds[cred],
				    .writer = writer,
				    .patience = {.given_up = is_killed, .arg = a},
				    .done = asker_done}};
	backing_sync_request(&fs, file, &a->wait);
}

/* As a writer, for what the asker wants. */
static void ask_again(struct asker *a, unsigned cred)
{
	bool data_only = a->wait.data_only;

	*a = (struct asker){.wait = {.cred = &creds[cred], .writer = true, .data_only = data_only, .done = asker_done}};
	backing_sync_request(&fs, file, &a->wait);
}

/* The only COMMIT under way. */
static struct nfs_call *under_way(void)
{
	assert_false(list_empty(&server.calls));
	assert_ptr_equal(server.calls.next, server.calls.prev);
	return CONTAINER_OF(server.calls.next, struct nfs_call, node);
}

static void answer(int error)
{
	struct nfs_call *call = under_way();

	list_remove(&call->node);
	call->error = error;
	call->done(call);
}

static int told(struct asker *a)
{
	assert_int_equal(a->calls, 1);
	assert_int_equal(a->error, 0);
	return write_log_tell(&file->writes, &a->heard, false);
}

static void one_is_under_way_at_a_time_for_all_who_wait(void **state)
{
	struct asker a, b, c;

	ask(&a, 0, true);
	ask(&b, 1, true);
	ask(&c, 2, true);
	answer(0);
	assert_int_equal(told(&a), 0);
	assert_int_equal(b.calls + c.calls, 0);
	answer(0);
	assert_int_equal(told(&b) + told(&c), 0);
}

static void times_are_stable_if_anybody_has_asked_for_that(void **state)
{
	struct asker data = {.wait.data_only = true}, all = {0}, first;

	ask(&first, 0, true);
	ask_again(&data, 1);
	ask_again(&all, 2);
	file->written_locally = 7;
	answer(0);
	answer(0);
	assert_int_equal(told(&data) + told(&all), 0);
	assert_int_equal(file->synced_locally, 7);
	file->written_locally = 9;
	ask_again(&data, 0);
	answer(0);
	assert_int_equal(file->synced_locally, 7);
	ask_again(&all, 0);
	answer(0);
	assert_int_equal(file->synced_locally, 9);
}

static void a_loss_is_told_to_who_came_meanwhile_too(void **state)
{
	struct asker a, b;

	ask(&a, 0, true);
	ask(&b, 1, true);
	answer(-ENOSPC);
	answer(0); /* the descriptor has told of it */
	assert_int_equal(told(&a), -ENOSPC);
	assert_int_equal(told(&b), -ENOSPC);
	assert_int_equal(told(&b), 0);
}

static void who_was_killed_waits_no_longer_and_takes_no_error_along(void **state)
{
	struct asker a, b, other = {.calls = 1};

	ask(&a, 0, true);
	ask(&b, 1, true);
	a.killed = b.killed = true;
	assert_false(under_way()->given_up(under_way()));
	assert_int_equal(a.error, -EINTR);
	assert_int_equal(b.error, -EINTR);
	answer(-EIO);
	assert_int_equal(told(&other), -EIO);
	assert_int_equal(a.calls + b.calls, 2);
}

static void the_server_is_shown_a_writer(void **state)
{
	struct asker first, reader, writer;

	ask(&first, 0, true);
	ask(&reader, 1, false);
	ask(&writer, 2, true);
	answer(0);
	assert_int_equal(under_way()->cred.uid, creds[2].uid);
	answer(0);
	assert_int_equal(told(&reader) + told(&writer), 0);
}

static void who_is_refused_is_told_alone(void **state)
{
	struct asker reader, first, refused, other;

	ask(&reader, 0, false);
	answer(-EACCES); /* he has written nothing */
	assert_int_equal(told(&reader), 0);
	ask(&first, 0, true);
	ask(&refused, 1, true);
	ask(&other, 2, true);
	answer(0);
	answer(-EACCES);
	assert_int_equal(refused.error, -EACCES);
	assert_int_equal(other.calls, 0);
	assert_int_equal(under_way()->cred.uid, creds[2].uid);
	answer(0);
	assert_int_equal(told(&other), 0);
}

static void the_end_of_the_mount_is_no_loss(void **state)
{
	struct asker a, other = {.calls = 1};

	ask(&a, 0, true);
	answer(-ENOTCONN);
	assert_int_equal(a.error, -ENOTCONN);
	assert_int_equal(told(&other), 0);
}

static void what_was_written_meanwhile_is_not_stable(void **state)
{
	struct asker a;

	file->written_locally = 1;
	ask(&a, 0, true);
	answer(-EIO);
	assert_int_equal(file->synced_locally, 0);
	ask(&a, 0, true);
	file->written_locally = 2;
	answer(0);
	assert_int_equal(file->synced_locally, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_is_under_way_at_a_time_for_all_who_wait),
		TEST(times_are_stable_if_anybody_has_asked_for_that),
		TEST(a_loss_is_told_to_who_came_meanwhile_too),
		TEST(who_was_killed_waits_no_longer_and_takes_no_error_along),
		TEST(the_server_is_shown_a_writer),
		TEST(who_is_refused_is_told_alone),
		TEST(the_end_of_the_mount_is_no_loss),
		TEST(what_was_written_meanwhile_is_not_stable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
