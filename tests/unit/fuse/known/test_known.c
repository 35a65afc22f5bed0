/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fuse/known/known_fixture.h"

static const struct nfs_cred alice = {.uid = 1, .gid = 1}, bob = {.uid = 1, .gid = 1, .ngroups = 1, .groups = {7}};

static int setup(void **state)
{
	return make_all(0, false);
}

static unsigned see(struct inode *i, long version)
{
	struct nfs_attr attr = attributes(i->type, i->fileid, version);

	return known_attributes(&fs, i, &attr, attr_clock());
}

/* Remembers what a LOOKUP's answer says: the directory, the right to search it, the name, the file. */
static void looked_up(const char *name, const struct nfs_cred *cred, long version)
{
	(void)see(dir, version);
	known_rights(&fs, dir, cred, NFS_ACCESS_LOOKUP, attr_clock());
	known_name(&fs, dir, name, &file->fh, attr_clock());
	(void)see(file, 1);
}

static struct nfs_wcc wcc(long before, long after)
{
	return (struct nfs_wcc){.has_before = true,
		.has_after = true,
		.size_before = 10,
		.ctime_before = {.tv_sec = 5, .tv_nsec = before},
		.after = attributes(S_IFDIR, 1, after)};
}

static bool change(const struct nfs_wcc *w)
{
	uint64_t asked;

	known_change_begin(dir);
	return known_change_end(&fs, dir, w, attr_clock(), &asked);
}

static void a_name_is_known_to_those_who_may_walk_there(void **state)
{
	struct inode *found;

	assert_int_equal(look_up("a", &alice), -EAGAIN);
	looked_up("a", &alice, 1);
	assert_int_equal(look_up("a", &alice), 0);
	assert_int_equal(look_up("b", &alice), -EAGAIN);
	assert_int_equal(look_up("a", &bob), -EAGAIN); /* with other groups it is another credential */
	assert_false(known_allowed(&fs, dir, &alice, NFS_ACCESS_READ));
	known_rights(&fs, dir, &alice, NFS_ACCESS_READ, attr_clock());
	assert_true(known_allowed(&fs, dir, &alice, NFS_ACCESS_READ | NFS_ACCESS_LOOKUP));
	assert_false(known_allowed(&fs, dir, &bob, NFS_ACCESS_LOOKUP));
	found = known_file(&fs, dir, "a");
	assert_ptr_equal(found, file);
	(void)inode_unref(fs.inodes, found);
	known_name_forget(&fs, dir, "a");
	assert_int_equal(look_up("a", &alice), -EAGAIN);
}

static void lookupcache_says_which_names(void **state)
{
	looked_up("a", &alice, 1);
	known_name(&fs, dir, "none", NULL, attr_clock());
	assert_int_equal(look_up("none", &alice), -ENOENT);
	options.lookupcache = LOOKUP_CACHE_POSITIVE;
	assert_int_equal(look_up("none", &alice), -EAGAIN);
	assert_int_equal(look_up("a", &alice), 0);
	options.lookupcache = LOOKUP_CACHE_NONE;
	assert_int_equal(look_up("a", &alice), -EAGAIN);
}

static void without_attribute_timeouts_nothing_is_known(void **state)
{
	options.noac = true;
	looked_up("a", &alice, 1);
	assert_int_equal(look_up("a", &alice), -EAGAIN);
	assert_false(known_allowed(&fs, dir, &alice, NFS_ACCESS_LOOKUP));
}

static void another_version_of_the_directory_ends_what_is_known(void **state)
{
	looked_up("a", &alice, 1);
	(void)see(dir, 1);
	assert_int_equal(look_up("a", &alice), 0);
	(void)see(dir, 2);
	assert_int_equal(look_up("a", &alice), -EAGAIN);
	assert_false(known_allowed(&fs, dir, &alice, NFS_ACCESS_LOOKUP));
	(void)see(dir, 1); /* not even when the old version comes back */
	assert_int_equal(look_up("a", &alice), -EAGAIN);
}

static void doubt_ends_what_is_known(void **state)
{
	looked_up("a", &alice, 1);
	known_doubt(file);
	assert_int_equal(look_up("a", &alice), -EAGAIN);
	looked_up("a", &alice, 1);
	assert_int_equal(look_up("a", &alice), 0);
	known_doubt(dir);
	assert_int_equal(look_up("a", &alice), -EAGAIN);
}

static void a_stale_handle_puts_everything_in_doubt(void **state)
{
	looked_up("a", &alice, 1);
	known_stale(&fs);
	assert_int_equal(look_up("a", &alice), -EAGAIN);
	assert_false(known_allowed(&fs, dir, &alice, NFS_ACCESS_LOOKUP));
	(void)see(dir, 1);
	assert_true(known_allowed(&fs, dir, &alice, NFS_ACCESS_LOOKUP));
	assert_int_equal(look_up("a", &alice), -EAGAIN);
	(void)see(file, 1);
	assert_int_equal(look_up("a", &alice), 0);
}

static void later_attributes_are_not_replaced(void **state)
{
	uint64_t asked = attr_clock(), came = now_ms();

	assert_false(known_later(file, asked, came));
	(void)see(file, 1);
	assert_false(known_later(file, asked, now_ms()));
	assert_true(known_later(file, asked, came - 1));
	known_doubt(file);
	assert_true(known_later(file, asked, now_ms()));
	assert_false(known_later(file, attr_clock(), now_ms()));
}

static void a_change_of_ours_keeps_the_rest_when_nobody_else_changed_anything(void **state)
{
	struct nfs_wcc w = wcc(1, 2);

	looked_up("a", &alice, 1);
	assert_true(change(&w));
	assert_int_equal(look_up("a", &alice), 0);
	w = wcc(2, 3);
	assert_true(change(&w));
	w = wcc(2, 4); /* another client changed the directory between 3 and this change */
	assert_false(change(&w));
	assert_int_equal(look_up("a", &alice), -EAGAIN);
}

static void a_change_of_which_the_server_says_little_ends_what_is_known(void **state)
{
	struct nfs_wcc w = wcc(1, 2);

	looked_up("a", &alice, 1);
	w.has_before = false;
	assert_false(change(&w));
	assert_int_equal(look_up("a", &alice), -EAGAIN);
	looked_up("a", &alice, 2);
	assert_false(change(NULL));
	assert_int_equal(look_up("a", &alice), -EAGAIN);
}

static void what_was_asked_before_a_change_of_ours_is_not_kept(void **state)
{
	uint64_t before = attr_clock(), asked;
	struct nfs_attr attr = attributes(S_IFDIR, 1, 1);
	struct nfs_wcc w = wcc(1, 2);

	looked_up("a", &alice, 1);
	known_change_begin(dir);
	known_name(&fs, dir, "late", &file->fh, attr_clock());
	assert_int_equal(look_up("late", &alice), -EAGAIN);
	assert_true(known_change_end(&fs, dir, &w, before, &asked));
	assert_true(asked > before);
	known_name(&fs, dir, "late", &file->fh, before);
	known_rights(&fs, dir, &bob, NFS_ACCESS_LOOKUP, before);
	assert_int_equal(look_up("late", &alice), -EAGAIN);
	assert_int_equal(look_up("late", &bob), -EAGAIN);
	assert_int_equal(known_attributes(&fs, dir, &attr, before), 0);
	assert_int_equal(look_up("a", &alice), -EAGAIN);
}

static void a_name_is_not_known_that_was_told_beside_a_change_of_ours(void **state)
{
	struct nfs_wcc w = wcc(1, 2);
	uint64_t asked = attr_clock(), ignored;

	looked_up("a", &alice, 1);
	known_change_begin(dir);
	known_name(&fs, dir, "a", NULL, attr_clock()); /* such as the answer to a second change */
	assert_true(known_change_end(&fs, dir, &w, asked, &ignored));
	assert_int_equal(look_up("a", &alice), -EAGAIN);
	known_name(&fs, dir, "a", &file->fh, attr_clock());
	assert_int_equal(look_up("a", &alice), 0);
	known_name(&fs, dir, "a", NULL, asked);
	assert_int_equal(look_up("a", &alice), -EAGAIN);
}

static void two_changes_may_be_answered_in_any_order(void **state)
{
	struct nfs_wcc first = wcc(1, 2), second = wcc(2, 3);
	uint64_t asked = attr_clock(), ignored;

	looked_up("a", &alice, 1);
	known_change_begin(dir);
	known_change_begin(dir);
	assert_false(known_change_end(&fs, dir, &second, asked, &ignored));
	assert_false(known_change_end(&fs, dir, &first, asked, &ignored));
	assert_false(known_believed(&fs, dir));
	assert_int_equal(look_up("a", &alice), -EAGAIN);
}

static void a_listing_is_not_known_after_a_change(void **state)
{
	struct nfs_wcc w = wcc(1, 2);
	uint64_t asked = attr_clock(), epoch;

	looked_up("a", &alice, 1);
	epoch = known_epoch(dir);
	assert_true(known_name_listed(&fs, dir, epoch, "b", &file->fh, asked));
	assert_int_equal(look_up("b", &alice), 0);
	assert_true(change(&w)); /* this change removes b */
	known_name(&fs, dir, "b", NULL, attr_clock());
	assert_int_equal(known_epoch(dir), epoch);
	assert_false(known_name_listed(&fs, dir, epoch, "b", &file->fh, asked));
	assert_int_equal(look_up("b", &alice), -ENOENT);
	asked = attr_clock();
	assert_true(known_name_listed(&fs, dir, epoch, "c", &file->fh, asked));
	(void)see(dir, 3);
	assert_false(known_name_listed(&fs, dir, epoch, "c", &file->fh, asked));
	assert_int_equal(look_up("c", &alice), -EAGAIN);
}

static void the_answer_of_one_of_two_changes_at_once_is_as_old_as_any(void **state)
{
	uint64_t first = attr_clock(), asked;

	known_change_begin(file);
	known_change_begin(file);
	(void)known_change_end(&fs, file, NULL, first, &asked);
	assert_int_equal(asked, 0);
	(void)known_change_end(&fs, file, NULL, first, &asked);
	assert_int_equal(asked, 0);
	first = attr_clock();
	known_change_begin(file);
	(void)known_change_end(&fs, file, NULL, first, &asked);
	assert_int_equal(asked, attr_clock());
	assert_true(see(file, 3) > 0);
}

static void a_file_with_a_writer_has_attributes_of_its_own(void **state)
{
	looked_up("a", &alice, 1);
	{
		LOCKED(&file->lock);
		known_writer(file, 1);
	}
	(void)see(file, 1);
	assert_int_equal(look_up("a", &alice), -EAGAIN);
	{
		LOCKED(&file->lock);
		known_writer(file, -1);
	}
	assert_int_equal(look_up("a", &alice), -EAGAIN);
	(void)see(file, 1);
	assert_int_equal(look_up("a", &alice), 0);
}

static void a_removed_name_puts_the_files_other_names_in_doubt(void **state)
{
	struct nfs_attr two = attributes(S_IFREG, 2, 1);

	looked_up("a", &alice, 1);
	known_links_changed(&fs);
	assert_int_equal(look_up("a", &alice), 0); /* the file has only this name */
	two.nlink = 2;
	(void)known_attributes(&fs, file, &two, attr_clock());
	assert_int_equal(look_up("a", &alice), 0);
	known_links_changed(&fs);
	assert_int_equal(look_up("a", &alice), -EAGAIN);
}

/* Walks until the directory's ACL should be asked for. Returns the epoch of the question, 0 if there is none. */
static uint64_t walk(unsigned times)
{
	uint64_t epoch;

	while (times-- > 0)
		assert_int_equal(look_up("a", &alice), 0);
	return known_asks_acl(&fs, dir, &epoch) ? epoch : 0;
}

static void see_mode(uint32_t permissions, long version)
{
	struct nfs_attr attr = attributes(S_IFDIR | permissions, 1, version);

	(void)known_attributes(&fs, dir, &attr, attr_clock());
}

static void the_kernel_walks_where_everybody_may(void **state)
{
	uint64_t epoch, ignored;

	fs.forgets_names = true;
	looked_up("a", &alice, 1);
	see_mode(0755, 2);
	looked_up("a", &alice, 2);
	see_mode(0755, 2);
	assert_int_equal(walk(KNOWN_WALKS - 1), 0);
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	epoch = walk(1);
	assert_int_not_equal(epoch, 0);
	assert_false(known_asks_acl(&fs, dir, &ignored)); /* once */
	known_acl(&fs, dir, false, epoch, attr_clock());
	assert_true(known_entry_seconds(&fs, dir, file) > 0);
	assert_true(known_absence_seconds(&fs, dir) > 0);
	options.lookupcache = LOOKUP_CACHE_POSITIVE;
	assert_true(known_entry_seconds(&fs, dir, file) > 0);
	assert_true(known_absence_seconds(&fs, dir) == 0);
	options.lookupcache = LOOKUP_CACHE_NONE;
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	options.lookupcache = LOOKUP_CACHE_ALL;
	known_change_begin(dir); /* the change may be a chmod */
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	(void)known_change_end(&fs, dir, NULL, attr_clock(), &ignored);
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	see_mode(0755, 3);
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	assert_true(known_asks_acl(&fs, dir, &epoch)); /* at once, because the kernel walks through the directory */
	known_acl(&fs, dir, false, epoch - 1, attr_clock());
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	known_acl(&fs, dir, false, epoch, attr_clock());
	assert_true(known_entry_seconds(&fs, dir, file) > 0);
	see_mode(0750, 4);
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	assert_false(known_asks_acl(&fs, dir, &epoch));
}

static void an_answer_about_an_acl_that_is_dropped_is_asked_for_again(void **state)
{
	struct nfs_wcc w = wcc(1, 2);
	uint64_t epoch, again, asked;

	fs.forgets_names = true;
	w.after.mode |= 0755;
	see_mode(0755, 1);
	looked_up("a", &alice, 1);
	see_mode(0755, 1);
	epoch = walk(KNOWN_WALKS);
	asked = attr_clock();
	assert_true(change(&w)); /* a change by this mount, after which everything else is still known */
	known_acl(&fs, dir, false, epoch, asked);
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	assert_int_equal(walk(KNOWN_WALKS - 1), 0); /* not at once, during a burst of changes */
	known_change_begin(dir);
	assert_int_equal(walk(1), 0); /* nor while the answer would be dropped again */
	w = wcc(2, 3);
	w.after.mode |= 0755;
	assert_true(known_change_end(&fs, dir, &w, attr_clock(), &asked));
	again = walk(1);
	assert_int_equal(again, epoch);
	known_acl(&fs, dir, false, again, attr_clock());
	assert_true(known_entry_seconds(&fs, dir, file) > 0);
	assert_int_equal(walk(2 * KNOWN_WALKS), 0);
}

static void a_moved_name_is_believed_where_it_was(void **state)
{
	struct inode *other = make_inode(3, S_IFDIR);

	fs.forgets_names = true;
	see_mode(0755, 1);
	looked_up("a", &alice, 1);
	see_mode(0755, 1);
	known_acl(&fs, dir, false, walk(KNOWN_WALKS), attr_clock());
	known_moved(&fs, file, dir, other);
	known_moved(&fs, NULL, other, dir);
	assert_int_equal(file->known.named_ms, 0); /* the kernel was told no name and need not forget any */
	assert_true(known_entry_seconds(&fs, dir, file) > 0);
	assert_true(file->known.named_ms > now_ms());
	assert_true(dir->known.believed_ms > now_ms());
	assert_true(known_entry_seconds(&fs, other, file) == 0);
	(void)inode_unref(fs.inodes, other);
}

static void an_acl_makes_the_kernel_ask(void **state)
{
	uint64_t epoch;

	fs.forgets_names = true;
	see_mode(0755, 1);
	looked_up("a", &alice, 1);
	see_mode(0755, 1);
	epoch = walk(KNOWN_WALKS);
	assert_int_not_equal(epoch, 0);
	known_acl(&fs, dir, true, epoch, attr_clock());
	assert_true(known_entry_seconds(&fs, dir, file) == 0);
	assert_int_equal(walk(10 * KNOWN_WALKS), 0);
}

static void the_kernel_asks_where_it_cannot_forget(void **state)
{
	uint64_t epoch;

	see_mode(0755, 1);
	looked_up("a", &alice, 1);
	see_mode(0755, 1);
	assert_int_equal(walk(KNOWN_WALKS), 0);
	fs.forgets_names = true;
	options.noacl = true;
	assert_false(known_asks_acl(&fs, dir, &epoch));
}

static void a_file_that_the_kernel_forgot_is_asked_for(void **state)
{
	looked_up("a", &alice, 1);
	file = inode_unref(fs.inodes, file);
	assert_int_equal(look_up("a", &alice), -EAGAIN);
	assert_null(known_file(&fs, dir, "a"));
}

static void a_name_of_any_length_is_itself(void **state)
{
	char one[NFS_NAME_MAX + 1], other[NFS_NAME_MAX + 1], longer[NFS_NAME_MAX + 2];

	memset(one, 'x', NFS_NAME_MAX);
	one[NFS_NAME_MAX] = '\0';
	memcpy(other, one, sizeof(other));
	other[NFS_NAME_MAX - 1] = 'y';
	looked_up(one, &alice, 1);
	assert_int_equal(look_up(one, &alice), 0);
	assert_int_equal(look_up(other, &alice), -EAGAIN);
	other[NFS_NAME_MAX - 1] = '\0';
	assert_int_equal(look_up(other, &alice), -EAGAIN);
	memset(longer, 'x', NFS_NAME_MAX + 1);
	longer[NFS_NAME_MAX + 1] = '\0';
	assert_int_equal(look_up(longer, &alice), -EAGAIN);
}

static bool kernel_may_differ(long version, uint64_t *ret_tellings)
{
	struct nfs_attr attr = attributes(S_IFREG, 2, version);

	return known_kernel_may_differ(file, &attr, ret_tellings);
}

static void of_answers_that_cross_the_kernel_may_believe_either(void **state)
{
	uint64_t before, tellings;

	assert_true(kernel_may_differ(1, &before));
	(void)see(file, 1);
	assert_false(kernel_may_differ(1, &tellings));
	assert_true(kernel_may_differ(2, &tellings));
	(void)see(file, 2);
	assert_true(kernel_may_differ(2, &tellings));
	/* Attributes told meanwhile are not taken back: they and the invalidation may reach the kernel in any order. */
	known_attributes_taken_back(file, before);
	assert_true(kernel_may_differ(2, &tellings));
	known_attributes_taken_back(file, tellings);
	assert_false(kernel_may_differ(2, &tellings));
	/* The kernel now believes no attributes that these could differ from. */
	(void)see(file, 3);
	assert_false(kernel_may_differ(3, &tellings));
	known_attributes_written(file);
	(void)see(file, 4);
	assert_false(kernel_may_differ(4, &tellings));
}

static bool told_again(long version, long *ret_version)
{
	struct nfs_attr server = attributes(S_IFREG, 2, version), told;
	double seconds;

	if (!known_tell_again(&fs, file, &server, &told, &seconds))
		return false;
	assert_true(seconds > 0);
	*ret_version = told.ctime.tv_nsec;
	return true;
}

static void a_listing_takes_back_nothing_that_is_as_new(void **state)
{
	long version = 0;
	uint64_t tellings;

	assert_false(told_again(5, &version));
	(void)see(file, 5);
	assert_true(told_again(5, &version));
	assert_int_equal(version, 5);
	assert_true(told_again(4, &version));
	assert_int_equal(version, 5);
	assert_false(told_again(6, &version));
	/* An open found that size and times may be old. */
	assert_true(known_attributes_expire(file, &tellings));
	assert_false(told_again(5, &version));
	(void)see(file, 5);
	assert_true(told_again(5, &version));
	known_doubt(file);
	assert_false(told_again(5, &version));
	known_writer(file, 1);
	(void)see(file, 5);
	assert_false(told_again(5, &version));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_is_known_to_those_who_may_walk_there),
		TEST(lookupcache_says_which_names),
		TEST(without_attribute_timeouts_nothing_is_known),
		TEST(another_version_of_the_directory_ends_what_is_known),
		TEST(doubt_ends_what_is_known),
		TEST(a_stale_handle_puts_everything_in_doubt),
		TEST(later_attributes_are_not_replaced),
		TEST(a_change_of_ours_keeps_the_rest_when_nobody_else_changed_anything),
		TEST(a_change_of_which_the_server_says_little_ends_what_is_known),
		TEST(what_was_asked_before_a_change_of_ours_is_not_kept),
		TEST(a_name_is_not_known_that_was_told_beside_a_change_of_ours),
		TEST(two_changes_may_be_answered_in_any_order),
		TEST(a_listing_is_not_known_after_a_change),
		TEST(the_answer_of_one_of_two_changes_at_once_is_as_old_as_any),
		TEST(a_file_with_a_writer_has_attributes_of_its_own),
		TEST(a_removed_name_puts_the_files_other_names_in_doubt),
		TEST(a_listing_takes_back_nothing_that_is_as_new),
		TEST(the_kernel_walks_where_everybody_may),
		TEST(an_answer_about_an_acl_that_is_dropped_is_asked_for_again),
		TEST(a_moved_name_is_believed_where_it_was),
		TEST(an_acl_makes_the_kernel_ask),
		TEST(the_kernel_asks_where_it_cannot_forget),
		TEST(a_file_that_the_kernel_forgot_is_asked_for),
		TEST(a_name_of_any_length_is_itself),
		TEST(of_answers_that_cross_the_kernel_may_believe_either),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
