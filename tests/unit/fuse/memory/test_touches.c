/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When a directory is touched, so that a server that remembers drops the names that it knows there. */
#include "fuse/known/known.h"
#include "fuse/memory/memory_fixture.h"

static unsigned touched;
static bool sends;

static bool touch(void *toucher, const struct nfs_fh *fh, const struct nfs_cred *taker)
{
	assert_true(nfs_fh_equal(fh, &dir));
	assert_int_equal(taker->uid, 1001);
	touched += sends;
	return sends;
}

static int setup_touches(void **state)
{
	int r = setup(state);

	touched = 0;
	sends = true;
	m.touch = touch;
	return r;
}

/* The sidecar has changed the directory, which has this mtime then; taker: a name was taken away. */
static void change(time_t mtime, const struct nfs_cred *taker)
{
	const struct memory_directory d = {.mtime = {.tv_sec = mtime}, .ctime = {.tv_sec = mtime}, .taker = taker};

	memory_directory_changed(&m, &dir, &d);
}

/* The server looks, and tells this mtime. */
static void look(time_t mtime)
{
	memory_hurry(&m);
	assert_called(0, NFS_GETACL, &dir);
	calls[0]->has_attr = mtime != 0;
	calls[0]->attr.mtime.tv_sec = mtime;
	answer(0);
}

static void a_directory_that_others_change_is_touched_after_the_look(void **state)
{
	const struct nfs_cred user = {.uid = 1001};

	change(5, NULL);
	look(6);
	assert_int_equal(touched, 0); /* no name was taken away */
	change(7, &user);
	look(7);
	assert_int_equal(touched, 0); /* by this mount alone */
	change(8, &user);
	look(0);
	assert_int_equal(touched, 0); /* the server does not tell */
	change(9, &user);
	change(10, NULL);
	look(11);
	assert_int_equal(touched, 1);
}

static void a_directory_is_not_touched_again_and_again(void **state)
{
	const struct nfs_cred user = {.uid = 1001};
	time_t now = 5;

	for (unsigned n = 0; n < MEMORY_TOUCHES; n++, now += 2) {
		change(now, &user);
		look(now + 1);
		assert_int_equal(touched, n + 1);
	}
	change(now, &user);
	look(now + 1);
	assert_int_equal(touched, MEMORY_TOUCHES);
	change(now + 2, &user);
	look(now + 3);
	assert_int_equal(touched, MEMORY_TOUCHES + 1); /* that is another change */
}

static void a_touch_that_the_server_takes_over_is_repeated(void **state)
{
	const struct nfs_cred user = {.uid = 1001};

	change(5, &user);
	look(6);
	assert_int_equal(touched, 1);
	change(7, NULL); /* the touch is made */
	look(8);
	assert_int_equal(touched, 2);
	change(9, NULL);
	look(9);
	assert_int_equal(touched, 2);
	change(10, NULL);
	look(11);
	assert_int_equal(touched, 2); /* no name was taken away since */
}

static void a_touch_that_is_not_sent_is_due_again(void **state)
{
	const struct nfs_cred user = {.uid = 1001};

	sends = false;
	for (time_t now = 5; now < 5 + 2 * MEMORY_TOUCHES; now += 2) {
		change(now, &user);
		look(now + 1);
	}
	assert_int_equal(touched, 0);
	sends = true;
	change(100, NULL);
	look(101);
	assert_int_equal(touched, 1);
}

/* Notices tell of a change by others. */
static struct inode *others_change(void)
{
	static const struct nfs_attr attr = {.mode = S_IFDIR | 0755};
	static const struct known_notice notice = {.name = NULL};
	struct inode *i = NULL;

	assert_int_equal(inode_table_get(fs.inodes, &dir, &attr, &i), 0);
	assert_int_equal(known_notice_name(&fs, i, &notice, true), NOTICED_CHANGE);
	return i;
}

static void a_directory_is_touched_once_after_a_notice(void **state)
{
	const struct nfs_cred user = {.uid = 1001};
	struct inode *i = others_change();

	change(5, NULL);
	look(5);
	assert_int_equal(touched, 0); /* no name was taken away */
	change(6, &user);
	look(6);
	assert_int_equal(touched, 1);
	change(7, NULL);
	look(7);
	assert_int_equal(touched, 1);
	(void)inode_unref(fs.inodes, i);
}

static void an_older_answer_tells_no_mtime(void **state)
{
	const struct nfs_cred user = {.uid = 1001};

	change(9, &user);
	change(8, &user);
	look(9);
	assert_int_equal(touched, 0);
	assert_true(memory_has_seen(&m, &dir, &(struct timespec){.tv_sec = 9}));
	assert_false(memory_has_seen(&m, &dir, &(struct timespec){.tv_sec = 8}));
	assert_false(memory_has_seen(&m, &dir2, &(struct timespec){.tv_sec = 9}));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_touches, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_directory_that_others_change_is_touched_after_the_look),
		TEST(a_directory_is_not_touched_again_and_again),
		TEST(a_touch_that_the_server_takes_over_is_repeated),
		TEST(a_touch_that_is_not_sent_is_due_again),
		TEST(a_directory_is_touched_once_after_a_notice),
		TEST(an_older_answer_tells_no_mtime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
