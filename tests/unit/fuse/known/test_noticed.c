/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What notices of changes end, and what they do not. */
#include "fuse/known/known_fixture.h"

#include "base/clock.h"

static int setup(void **state)
{
	int r = make_all(0755, true);

	options.acdirmin = options.acdirmax = 1;
	return r;
}

static void see(long version, bool watched)
{
	struct nfs_attr attr = attributes(S_IFDIR | 0755, 1, version);

	(void)known_attributes_watched(&fs, dir, &attr, attr_clock(), watched);
}

/* For how many seconds the kernel may believe names in the directory. */
static double believed(void)
{
	dir->known.no_acl = true;
	dir->known.unrest_ms = 0;
	return known_entry_seconds(&fs, dir, file);
}

static struct known_notice notice(const char *name, const struct inode *i, long version)
{
	return (struct known_notice){.name = name,
		.has_state = true,
		.fh = i ? i->fh : (struct nfs_fh){0},
		.has_version = true,
		.version = attributes(S_IFDIR | 0755, 1, version)};
}

static void names_of_a_watched_directory_are_believed_for_long(void **state)
{
	see(1, false);
	assert_true(believed() <= 1);
	see(1, true);
	assert_true(believed() > 100);
	options.nonotices = true;
	assert_true(believed() <= 1);
	options.nonotices = false;
	options.acdirmax = 0;
	assert_true(believed() <= 1);
}

static const struct nfs_cred user = {.uid = 1000, .gid = 1000};

/* A new version of the directory, which the user may search, and whose names a listing by the server told. */
static void list(mode_t permissions, long version)
{
	struct nfs_attr attr = attributes(S_IFDIR | permissions, 1, version),
			of_file = attributes(S_IFREG | 0644, 2, 1);

	(void)known_attributes(&fs, dir, &attr, attr_clock());
	(void)known_attributes(&fs, file, &of_file, attr_clock());
	known_rights(&fs, dir, &user, NFS_ACCESS_LOOKUP, attr_clock());
	assert_true(known_name_listed(&fs, dir, known_epoch(dir), "a", &file->fh, attr_clock()));
}

static void the_first_lookup_after_a_listing_asks_where_no_notices_come(void **state)
{
	options.acdirmin = options.acdirmax = options.acregmin = options.acregmax = 600;
	list(0755, 2);
	assert_int_equal(look_up("a", &user), -EAGAIN); /* the sidecar tells of the ACL, and begins notices */
	assert_int_equal(look_up("a", &user), 0);
	list(0755, 3); /* another epoch */
	assert_int_equal(look_up("a", &user), -EAGAIN);
	assert_int_equal(look_up("a", &user), 0);
	list(0755, 4);
	see(4, true);
	dir->known.no_acl = true;
	assert_int_equal(look_up("a", &user), 0);
	list(0700, 5); /* the kernel would be told no names */
	assert_int_equal(look_up("a", &user), 0);
	fs.leased = 0;
	list(0755, 6);
	assert_int_equal(look_up("a", &user), 0);
}

static void the_end_of_the_lease_ends_that(void **state)
{
	see(1, true);
	fs.leased = 0;
	assert_true(believed() <= 1);
	fs.leased = 2; /* another lease */
	assert_true(believed() <= 1);
	fs.leased = 1;
	assert_true(believed() > 100);
	known_stale(&fs);
	assert_true(believed() == 0);
}

static void an_answer_from_before_the_lease_does_not_count(void **state)
{
	struct nfs_attr attr = attributes(S_IFDIR | 0755, 1, 1);
	uint64_t asked = attr_clock();

	fs.leased_from = attr_clock_tick();
	(void)known_attributes_watched(&fs, dir, &attr, asked, true);
	assert_true(believed() <= 1);
}

static void attributes_that_nobody_watched_end_that(void **state)
{
	see(1, true);
	see(1, false); /* the same version */
	assert_true(believed() > 100);
	see(2, false);
	assert_true(believed() <= 1);
	see(2, true);
	assert_true(believed() > 100);
}

static void own_changes_do_not_end_that(void **state)
{
	struct nfs_wcc wcc = {.has_before = true,
		.has_after = true,
		.no_acl = true,
		.ctime_before = {.tv_sec = 5, .tv_nsec = 1}};
	struct known_notice n = notice("made", file, 2);
	uint64_t asked;

	wcc.after = attributes(S_IFDIR | 0755, 1, 2);
	wcc.size_before = 10;
	see(1, true);
	known_change_begin(dir);
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_LATER);
	known_own_name(&fs, dir, "made", &file->fh);
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_OWN);
	assert_true(known_change_end(&fs, dir, &wcc, attr_clock(), &asked));
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_OWN);
	assert_true(known_believed(&fs, dir));
	assert_true(believed() > 100);
	n = notice("made", file, 3); /* something else has changed since: its notice comes */
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_OWN);
	assert_false(known_believed(&fs, dir));
	assert_true(believed() > 100);
}

static void foreign_changes_end_that(void **state)
{
	struct known_notice n = notice("made", NULL, 2);

	known_own_name(&fs, dir, "made", &file->fh);
	see(1, true);
	assert_true(believed() > 100);
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_FORGET); /* gone again */
	assert_true(believed() == 0);
	n = notice("made", file, 3);
	see(2, true);
	dir->known.believed_ms = 0;
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_CHANGE); /* not the own change any more */
}

static void the_kernel_is_told_no_names_amid_changes(void **state)
{
	struct known_notice n = notice("made", NULL, 2);

	see(1, true);
	assert_true(believed() > 100);
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_FORGET);
	known_make_kernel_forget(&fs);
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_CHANGE); /* the kernel has none any more */
	see(2, true);
	dir->known.no_acl = true;
	assert_true(known_entry_seconds(&fs, dir, file) > 100); /* two changes are no unrest */
	for (unsigned change = 2; change <= KNOWN_CALM; change++)
		(void)known_notice_name(&fs, dir, &n, false);
	see(3, true);
	dir->known.no_acl = true;
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	known_make_kernel_forget(&fs);
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_CHANGE);
	see(4, true);
	assert_true(believed() > 100); /* after the unrest */
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_FORGET);
}

static void a_notice_without_a_name_is_a_foreign_change(void **state)
{
	struct known_notice n = {.has_version = true, .version = attributes(S_IFDIR | 0755, 1, 1)};

	see(1, true);
	assert_true(believed() > 100);
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_FORGET);
}

static void a_change_under_way_does_not_delay_for_ever(void **state)
{
	struct known_notice n = notice("made", file, 2);

	see(1, true);
	known_change_begin(dir);
	assert_int_equal(known_notice_name(&fs, dir, &n, false), NOTICED_LATER);
	assert_int_equal(known_notice_name(&fs, dir, &n, true), NOTICED_CHANGE);
	assert_int_equal(known_notice_attributes(&fs, dir, &n, false), NOTICED_LATER);
	assert_int_equal(known_notice_attributes(&fs, dir, &n, true), NOTICED_CHANGE);
}

static void known_attributes_are_no_change(void **state)
{
	struct known_notice n = notice(NULL, NULL, 1);

	see(1, true);
	assert_true(believed() > 100);
	assert_int_equal(known_notice_attributes(&fs, dir, &n, false), NOTICED_OWN);
	assert_true(believed() > 100);
	n.version.ctime.tv_nsec = 2;
	assert_int_equal(known_notice_attributes(&fs, dir, &n, false), NOTICED_FORGET);
	assert_true(believed() == 0);
}

/* Rights that others have changed right before a change by this mount, whose answer tells the attributes since. */
static void rights_that_a_change_has_brought_are_a_change(void **state)
{
	struct nfs_wcc wcc = {.has_before = true, .has_after = true, .no_acl = true, .size_before = 10};
	struct known_notice n = notice(NULL, NULL, 2);
	uint64_t asked;

	wcc.ctime_before = (struct timespec){.tv_sec = 5, .tv_nsec = 1};
	wcc.after = attributes(S_IFDIR | 0700, 1, 2);
	see(1, true);
	assert_true(believed() > 100);
	known_change_begin(dir);
	assert_false(known_change_end(&fs, dir, &wcc, attr_clock(), &asked));
	assert_int_equal(known_notice_attributes(&fs, dir, &n, false), NOTICED_FORGET);
	known_make_kernel_forget(&fs);

	see(1, true);
	assert_true(believed() > 100);
	wcc.after = attributes(S_IFDIR | 0755, 1, 2);
	wcc.no_acl = false;
	known_change_begin(dir);
	assert_true(known_change_end(&fs, dir, &wcc, attr_clock(), &asked));
	assert_false(dir->known.no_acl);
	assert_int_equal(known_notice_attributes(&fs, dir, &n, false), NOTICED_FORGET);
}

static void an_answer_that_crosses_a_notice_does_not_count(void **state)
{
	struct known_notice n = notice("made", file, 2);
	struct nfs_attr attr = attributes(S_IFDIR | 0755, 1, 1);
	uint64_t asked = attr_clock();

	(void)known_notice_name(&fs, dir, &n, false);
	(void)known_attributes_watched(&fs, dir, &attr, asked, true);
	assert_true(believed() == 0);
}

/* The daemon has made a directory without knowing which: others may have put the one there that the notice names. */
static void a_name_that_is_noticed_is_never_own(void **state)
{
	struct known_notice n = notice("made", file, 1);

	see(1, true);
	known_own_name(&fs, dir, "made", &file->fh);
	known_name_is_noticed(&fs, dir, "made");
	assert_true(known_notice_name(&fs, dir, &n, false) != NOTICED_OWN);
	known_own_name(&fs, dir, "made", NULL);
	known_name_is_noticed(&fs, dir, "made");
	n = notice("made", NULL, 1);
	assert_true(known_notice_name(&fs, dir, &n, false) != NOTICED_OWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_of_a_watched_directory_are_believed_for_long, setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_lookup_after_a_listing_asks_where_no_notices_come, setup,
			teardown),
		cmocka_unit_test_setup_teardown(the_end_of_the_lease_ends_that, setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_from_before_the_lease_does_not_count, setup, teardown),
		cmocka_unit_test_setup_teardown(attributes_that_nobody_watched_end_that, setup, teardown),
		cmocka_unit_test_setup_teardown(own_changes_do_not_end_that, setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_that_is_noticed_is_never_own, setup, teardown),
		cmocka_unit_test_setup_teardown(foreign_changes_end_that, setup, teardown),
		cmocka_unit_test_setup_teardown(the_kernel_is_told_no_names_amid_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_notice_without_a_name_is_a_foreign_change, setup, teardown),
		cmocka_unit_test_setup_teardown(a_change_under_way_does_not_delay_for_ever, setup, teardown),
		cmocka_unit_test_setup_teardown(rights_that_a_change_has_brought_are_a_change, setup, teardown),
		cmocka_unit_test_setup_teardown(known_attributes_are_no_change, setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_that_crosses_a_notice_does_not_count, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
