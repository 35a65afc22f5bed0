/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A directory that this mount has made is known whole: which names it has not, without a question, and until when. */
#include "fuse/known/known_fixture.h"

#include <stdio.h>

#include "base/clock.h"
#include "fuse/known/known_parts.h"

static const struct nfs_cred user = {.uid = 1001, .gid = 2001};

static int setup(void **state)
{
	int r = make_all(0755, true);

	fs.forgets_names = true;
	return r;
}

/* Attributes of the directory arrive. */
static void see(long version)
{
	struct nfs_attr attr = attributes(S_IFDIR | 0755, 1, version);

	(void)known_attributes(&fs, dir, &attr, attr_clock());
}

/* The answer to MKDIR arrives. */
static void made(long version, bool empty, bool no_acl)
{
	struct nfs_call mkdir = {.attr = attributes(S_IFDIR | 0755, 1, version), .empty = empty, .no_acl = no_acl};

	struct nfs_attr attr = attributes(S_IFDIR | 0755, 1, 1);

	(void)known_attributes_watched(&fs, dir, &attr, attr_clock(), true);
	known_new_directory(&fs, dir, &mkdir, attr_clock());
}

/* This mount makes a name, and the answer continues what is known of the directory, or does not. */
static void make_name(const char *name, long before, long after)
{
	struct nfs_wcc wcc = {.has_before = true, .has_after = true, .no_acl = true, .size_before = 10};
	uint64_t asked;

	wcc.after = attributes(S_IFDIR | 0755, 1, after);
	wcc.ctime_before.tv_sec = 5;
	wcc.ctime_before.tv_nsec = before;
	known_may_have(dir, name);
	known_change_begin(dir);
	(void)known_change_end(&fs, dir, &wcc, attr_clock(), &asked);
}

/* The sidecar answers a SETATTR of the directory that was sent then, and the user may search it afterwards. */
static uint64_t set_mode_sent(uint64_t then, mode_t permissions, long version)
{
	struct nfs_attr attr = attributes(S_IFDIR | permissions, 1, version);
	uint64_t asked;

	known_set_end(&fs, dir, &attr, then, &asked);
	known_rights(&fs, dir, &user, NFS_ACCESS_LOOKUP, attr_clock());
	return asked;
}

static void set_mode(mode_t permissions, long version)
{
	known_change_begin(dir);
	assert_true(set_mode_sent(attr_clock(), permissions, version) == dir->known.changed);
}

static void a_new_directory_lacks_all_names(void **state)
{
	struct inode *owner = file;

	assert_int_equal(look_up("name", &user), -EAGAIN);
	made(1, true, true);
	assert_int_equal(look_up("name", &user), -ENOENT);
	assert_int_equal(look_up("", &user), -ENOENT);
	assert_true(known_owner(&fs, dir, "name", &owner));
	assert_null(owner);
	assert_true(known_absence_seconds(&fs, dir) > 0);
}

/* The daemon itself has made the directory, and nobody has said that it is watched. */
static void born(uint64_t number)
{
	struct nfs_call mkdir = {.attr = attributes(S_IFDIR | 0755, 1, 1),
		.empty = true,
		.no_acl = true,
		.born = number};

	(void)known_attributes(&fs, dir, &mkdir.attr, attr_clock());
	known_new_directory(&fs, dir, &mkdir, attr_clock());
}

static void the_daemons_own_directory_is_watched_at_once(void **state)
{
	fs.born = 7;
	born(7);
	assert_true(known_has_notices(&fs, dir));
	assert_int_equal(look_up("name", &user), -ENOENT);
}

/* Others have changed some name before the daemon knew which directory it has made. */
static void a_directory_from_before_a_foreign_change_is_not_watched(void **state)
{
	fs.born = 8;
	born(7);
	assert_false(known_has_notices(&fs, dir));
	assert_int_equal(look_up("name", &user), -EAGAIN);
}

static void an_answer_says_that_it_is_watched(void **state)
{
	struct nfs_attr attr = attributes(S_IFDIR | 0755, 1, 1);

	fs.born = 7;
	born(7);
	(void)known_attributes_watched(&fs, dir, &attr, attr_clock(), true);
	fs.born = 8;
	assert_true(known_has_notices(&fs, dir));
	assert_int_equal(look_up("name", &user), -ENOENT);
}

/* It may be another directory than the one that the daemon has made, with names of its own. */
static void an_answer_after_a_foreign_change_says_nothing_of_names(void **state)
{
	struct nfs_attr attr = attributes(S_IFDIR | 0755, 1, 1);

	fs.born = 7;
	born(7);
	fs.born = 8;
	(void)known_attributes_watched(&fs, dir, &attr, attr_clock(), true);
	assert_true(known_has_notices(&fs, dir));
	assert_int_equal(look_up("name", &user), -EAGAIN);
}

static void the_server_refuses_long_names(void **state)
{
	char name[NFS_NAME_MAX + 2] = {0};

	made(1, true, true);
	memset(name, 'x', NFS_NAME_MAX);
	assert_int_equal(look_up(name, &user), -ENOENT);
	name[NFS_NAME_MAX] = 'x';
	assert_int_equal(look_up(name, &user), -EAGAIN);
}

static void without_notices_the_server_is_asked(void **state)
{
	made(1, true, true);
	fs.leased = 0;
	assert_int_equal(look_up("name", &user), -EAGAIN);
	fs.leased = 2;
	assert_int_equal(look_up("name", &user), -EAGAIN);
}

static void only_the_sidecar_knows_that_it_is_empty(void **state)
{
	made(1, false, true);
	assert_int_equal(look_up("name", &user), -EAGAIN);
}

static void attributes_of_another_time_say_nothing(void **state)
{
	made(2, true, true);
	assert_int_equal(look_up("name", &user), -EAGAIN);
	assert_true(known_absence_seconds(&fs, dir) == 0);
}

static void who_may_search_must_be_known(void **state)
{
	made(1, true, false);
	assert_int_equal(look_up("name", &user), -EAGAIN);
	known_rights(&fs, dir, &user, NFS_ACCESS_LOOKUP, attr_clock());
	assert_int_equal(look_up("name", &user), -ENOENT);
	assert_true(known_absence_seconds(&fs, dir) == 0); /* the kernel would tell everybody */
}

static void own_names_are_asked_for(void **state)
{
	made(1, true, true);
	known_may_have(dir, "early");
	assert_int_equal(look_up("early", &user), -EAGAIN);
	make_name("late", 1, 2);
	assert_int_equal(look_up("late", &user), -EAGAIN);
	known_name(&fs, dir, "late", &file->fh, attr_clock());
	assert_int_equal(look_up("other", &user), -ENOENT);
}

static void a_change_by_others_ends_that(void **state)
{
	made(1, true, true);
	make_name("name", 2, 3);
	assert_int_equal(look_up("other", &user), -EAGAIN);
	see(3);
	assert_int_equal(look_up("other", &user), -EAGAIN);
}

static void a_name_by_others_ends_that(void **state)
{
	made(1, true, true);
	known_name(&fs, dir, "theirs", &file->fh, attr_clock());
	assert_int_equal(look_up("other", &user), -EAGAIN);
}

static void an_absent_name_ends_nothing(void **state)
{
	made(1, true, true);
	known_name(&fs, dir, "absent", NULL, attr_clock());
	assert_int_equal(look_up("other", &user), -ENOENT);
}

static void own_attributes_leave_the_names(void **state)
{
	made(1, true, true);
	known_may_have(dir, "own");
	set_mode(0700, 2);
	assert_int_equal(look_up("other", &user), -ENOENT);
	assert_int_equal(look_up("own", &user), -EAGAIN);
	see(2);
	assert_int_equal(look_up("other", &user), -ENOENT);
}

static void own_attributes_end_the_rights(void **state)
{
	static const struct nfs_cred carol = {.uid = 1002, .gid = 2002};

	made(1, true, true);
	assert_true(known_absence_seconds(&fs, dir) > 0);
	set_mode(0755, 2);
	assert_true(known_absence_seconds(&fs, dir) == 0);
	assert_true(known_wants_no_acl(&fs, dir));
	assert_int_equal(look_up("name", &user), -EAGAIN); /* asks for the ACL */
	assert_int_equal(look_up("name", &carol), -EAGAIN);
	assert_int_equal(look_up("name", &user), -ENOENT);
}

static void beside_another_change_own_attributes_end_all(void **state)
{
	made(1, true, true);
	known_change_begin(dir);
	known_change_begin(dir);
	assert_int_equal(set_mode_sent(attr_clock(), 0700, 2), 0);
	assert_false(known_has_notices(&fs, dir));
}

static void after_another_change_own_attributes_end_all(void **state)
{
	uint64_t sent = attr_clock();

	made(1, true, true);
	known_change_begin(dir);
	make_name("name", 1, 2);
	assert_int_equal(look_up("other", &user), -ENOENT);
	assert_int_equal(set_mode_sent(sent, 0700, 3), 0);
	assert_int_equal(look_up("other", &user), -EAGAIN);
}

static void what_is_in_doubt_stays_in_doubt(void **state)
{
	uint64_t sent = attr_clock();

	made(1, true, true);
	known_change_begin(dir);
	known_doubt(dir);
	assert_int_equal(set_mode_sent(sent, 0700, 2), 0);
	assert_int_equal(look_up("other", &user), -EAGAIN);
}

static void after_a_stale_handle_own_attributes_end_all(void **state)
{
	made(1, true, true);
	known_stale(&fs);
	set_mode(0700, 2);
	assert_int_equal(look_up("other", &user), -EAGAIN);
}

static void there_is_a_limit(void **state)
{
	char name[32];

	made(1, true, true);
	for (unsigned n = 0; n < KNOWN_MADE; n++) {
		(void)snprintf(name, sizeof(name), "name%u", n);
		known_may_have(dir, name);
	}
	assert_int_equal(look_up("other", &user), -ENOENT);
	known_may_have(dir, "one more");
	assert_int_equal(look_up("other", &user), -EAGAIN);
	assert_null(dir->known.whole);
}

static void lookupcache_is_obeyed(void **state)
{
	made(1, true, true);
	options.lookupcache = LOOKUP_CACHE_POSITIVE;
	assert_int_equal(look_up("name", &user), -EAGAIN);
	options.lookupcache = LOOKUP_CACHE_NONE;
	assert_int_equal(look_up("name", &user), -EAGAIN);
}

static void the_sidecar_is_asked_for_an_acl_once(void **state)
{
	struct nfs_attr attr = attributes(S_IFDIR | 0755, 1, 1);

	see(1);
	assert_true(known_wants_no_acl(&fs, dir));
	known_no_acl(dir, &attr, attr_clock());
	assert_false(known_wants_no_acl(&fs, dir));
	assert_true(known_entry_seconds(&fs, dir, file) > 0);
	see(2); /* the change may have been an ACL */
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	known_no_acl(dir, &attr, attr_clock()); /* of the directory before that */
	assert_true(known_wants_no_acl(&fs, dir));
	options.noacl = true;
	assert_false(known_wants_no_acl(&fs, dir));
}

static void the_server_is_asked_for_an_acl_only_if_the_sidecar_does_not_tell(void **state)
{
	uint64_t epoch;

	see(1);
	dir->known.believed_ms = now_ms() + 10000;
	see(2); /* the kernel walks through a directory that has changed */
	assert_false(known_asks_acl(&fs, dir, &epoch));
	fs.leased = 0;
	assert_true(known_asks_acl(&fs, dir, &epoch));
}

static void an_answer_from_before_a_change_says_nothing(void **state)
{
	struct nfs_attr attr = attributes(S_IFDIR | 0755, 1, 1);
	uint64_t asked = attr_clock();

	see(1);
	known_doubt(dir);
	known_no_acl(dir, &attr, asked);
	assert_true(known_wants_no_acl(&fs, dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_new_directory_lacks_all_names, setup, teardown),
		cmocka_unit_test_setup_teardown(the_daemons_own_directory_is_watched_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_directory_from_before_a_foreign_change_is_not_watched, setup,
			teardown),
		cmocka_unit_test_setup_teardown(an_answer_says_that_it_is_watched, setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_after_a_foreign_change_says_nothing_of_names, setup,
			teardown),
		cmocka_unit_test_setup_teardown(the_server_refuses_long_names, setup, teardown),
		cmocka_unit_test_setup_teardown(without_notices_the_server_is_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(only_the_sidecar_knows_that_it_is_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(attributes_of_another_time_say_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(who_may_search_must_be_known, setup, teardown),
		cmocka_unit_test_setup_teardown(own_names_are_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(a_change_by_others_ends_that, setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_by_others_ends_that, setup, teardown),
		cmocka_unit_test_setup_teardown(an_absent_name_ends_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(own_attributes_leave_the_names, setup, teardown),
		cmocka_unit_test_setup_teardown(own_attributes_end_the_rights, setup, teardown),
		cmocka_unit_test_setup_teardown(beside_another_change_own_attributes_end_all, setup, teardown),
		cmocka_unit_test_setup_teardown(after_another_change_own_attributes_end_all, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_in_doubt_stays_in_doubt, setup, teardown),
		cmocka_unit_test_setup_teardown(after_a_stale_handle_own_attributes_end_all, setup, teardown),
		cmocka_unit_test_setup_teardown(there_is_a_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(lookupcache_is_obeyed, setup, teardown),
		cmocka_unit_test_setup_teardown(the_sidecar_is_asked_for_an_acl_once, setup, teardown),
		cmocka_unit_test_setup_teardown(the_server_is_asked_for_an_acl_only_if_the_sidecar_does_not_tell, setup,
			teardown),
		cmocka_unit_test_setup_teardown(an_answer_from_before_a_change_says_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
