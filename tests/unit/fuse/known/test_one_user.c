/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private directories in a mount that one user alone may use. */
#include "fuse/known/known_fixture.h"

static const struct nfs_cred alice = {.uid = 1, .gid = 1};

static int setup(void **state)
{
	return make_all(0, false);
}

/* A directory that belongs to uid 1, and a LOOKUP there that the server answered. */
static void looked_up_by(const struct nfs_cred *cred, mode_t permissions, long version)
{
	struct nfs_attr attr = attributes(S_IFDIR | permissions, 1, version);

	attr.uid = 1;
	(void)known_attributes(&fs, dir, &attr, attr_clock());
	known_rights(&fs, dir, cred, NFS_ACCESS_LOOKUP, attr_clock());
}

static void in_a_mount_for_one_user_the_kernel_walks_where_the_user_may(void **state)
{
	static const struct nfs_cred carol = {.uid = 2, .gid = 1};

	fs.forgets_names = true;
	looked_up_by(&alice, 0700, 1);
	assert_true(known_entry_seconds(&fs, dir, file) == 0); /* everybody may use this mount */
	fs.one_user = true;
	looked_up_by(&carol, 0770, 2);
	assert_true(known_entry_seconds(&fs, dir, file) == 0); /* not the owner: groups or an ACL may say more */
	looked_up_by(&alice, 0600, 3);
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	looked_up_by(&alice, 0700, 4);
	assert_true(known_entry_seconds(&fs, dir, file) > 0);
	assert_true(known_absence_seconds(&fs, dir) > 0);
	/*
	 * A change by others ends the epoch, but as the rights are the same, the kernel may go on to believe its names.
	 */
	fs.forgot = 0;
	looked_up_by(&carol, 0700, 5);
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	assert_int_equal(fs.forgot, 0);
	looked_up_by(&alice, 0700, 5);
	assert_true(known_entry_seconds(&fs, dir, file) > 0);
	looked_up_by(&carol, 0600, 6);
	assert_int_not_equal(fs.forgot, 0);
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
}

static void the_owner_takes_away_the_own_right(void **state)
{
	struct nfs_attr attr = attributes(S_IFDIR | 0600, 1, 2);
	uint64_t asked;

	fs.forgets_names = fs.one_user = true;
	fs.leased_from = attr_clock_tick();
	fs.leased = 1;
	looked_up_by(&alice, 0700, 1);
	dir->known.lease = 1;
	assert_true(known_entry_seconds(&fs, dir, file) > 0);
	fs.forgot = 0;
	attr.uid = 1;
	known_change_begin(dir);
	known_set_end(&fs, dir, &attr, attr_clock(), &asked);
	assert_int_not_equal(fs.forgot, 0);
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(in_a_mount_for_one_user_the_kernel_walks_where_the_user_may),
		TEST(the_owner_takes_away_the_own_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
