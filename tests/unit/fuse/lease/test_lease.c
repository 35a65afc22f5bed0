/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When the lease on names begins and ends. Time passes only where a test says so, on a machine that has been up for
 * long.
 */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fuse/known/known.h"
#include "fuse/lease/lease.h"

static struct fs fs;
static struct mount_options options;
static struct broker_call *pinged; /* the PING without an answer */
static struct inode *dir;
static uint64_t now;
static unsigned pings;

uint64_t now_ms(void)
{
	return now;
}

uint64_t now_ns(void)
{
	return now * 1000000;
}

uint64_t work_ms(void)
{
	return now;
}

void probe_wake(struct probe *p)
{
}

uint64_t probe_generation(struct probe *p)
{
	return 1;
}

void probe_send(struct probe *p, struct broker_call *call, uint32_t type, const void *body, size_t length)
{
	assert_int_equal(type, BROKER_PING);
	assert_null(pinged);
	pinged = call;
	pings++;
}

static int setup(void **state)
{
	struct nfs_attr attr = {.mode = S_IFDIR | 0755, .fileid = 1, .nlink = 2};
	struct nfs_fh fh = {.len = 3, .data = "dir"};

	memset(&fs, 0, sizeof(fs));
	options_init(&options);
	fs.options = &options;
	fs.probe = (struct probe *)&fs; /* there is one; its functions are above */
	fs.forgets_names = true;
	now = 1000000000;
	pinged = NULL;
	pings = 0;
	if (lease_new(&fs) < 0 || inode_table_new(&fs.inodes) < 0)
		return -1;
	return inode_table_get(fs.inodes, &fh, &attr, &dir);
}

static int teardown(void **state)
{
	fs.lease = lease_free(fs.lease);
	(void)inode_unref(fs.inodes, dir);
	fs.inodes = inode_table_free(fs.inodes);
	return 0;
}

static void answer(int error)
{
	struct broker_call *call = pinged;

	assert_non_null(call);
	pinged = NULL;
	call->done(call, error, NULL);
}

/* So much time passes, and the sidecar answers each PING. */
static void pass(uint64_t ms)
{
	for (uint64_t end = now + ms; now < end; now += 100) {
		(void)lease_housekeep(&fs);
		if (pinged)
			answer(0);
	}
}

static void begin(void)
{
	lease_session(&fs, true);
	(void)lease_housekeep(&fs);
	lease_want(&fs);
	answer(0);
	assert_int_not_equal(fs.leased, 0);
}

/* Others have changed the directory. */
static void notice(uint32_t kind)
{
	struct broker_notice n = {.kind = kind, .fh.length = dir->fh.len};

	memcpy(n.fh.data, dir->fh.data, dir->fh.len);
	lease_notice(&fs, &n);
}

static void a_mount_that_nobody_uses_asks_once_for_notices(void **state)
{
	now = 5000; /* the machine was just started: the last use, at 0, is no long time ago */
	lease_session(&fs, true);
	pass(10000);
	assert_int_equal(fs.leased, 0);
	assert_int_equal(pings, 1);
	assert_int_equal(lease_housekeep(&fs), -1);
	assert_int_equal(fs.counters.notices_forgets, 0);
	assert_false(lease_is_watched(&fs));
}

static void a_lease_begins_with_the_first_use_and_stays(void **state)
{
	uint64_t first;

	lease_session(&fs, true);
	pass(10000);
	lease_want(&fs);
	pass(100);
	first = fs.leased;
	assert_int_not_equal(first, 0);
	pass(10000);
	assert_int_equal(fs.leased, first);
	assert_in_range(pings, 10, 12);
	assert_true(lease_is_watched(&fs));
}

static void a_lease_begins_soon_after_the_session(void **state)
{
	lease_session(&fs, true);
	(void)lease_housekeep(&fs);
	answer(0);
	now += 10;
	lease_want(&fs);
	assert_int_equal(lease_housekeep(&fs), LEASE_BEGIN_MS - 10);
	assert_null(pinged);
	now += LEASE_BEGIN_MS - 10;
	assert_int_equal(lease_housekeep(&fs), LEASE_PING_MS);
	answer(0);
	assert_int_not_equal(fs.leased, 0);
	/* From now on there is time. */
	assert_int_equal(lease_housekeep(&fs), LEASE_PING_MS);
	assert_null(pinged);
}

static void no_ping_is_sent_while_no_lease_may_begin(void **state)
{
	begin();
	now += 500;
	notice(BROKER_NOTICE_DOUBT);
	assert_int_equal(fs.leased, 0);
	lease_want(&fs);
	pings = 0;
	assert_int_equal(lease_housekeep(&fs), LEASE_REST_MS);
	now += LEASE_REST_MS - 1;
	assert_int_equal(lease_housekeep(&fs), 1);
	assert_int_equal(pings, 0);
	now++;
	(void)lease_housekeep(&fs);
	answer(0);
	assert_int_not_equal(fs.leased, 0);
}

static void a_lease_that_is_not_used_ends(void **state)
{
	begin();
	pass(KNOWN_WATCHED_MS);
	assert_int_not_equal(fs.leased, 0);
	lease_want(&fs);
	pass(KNOWN_WATCHED_MS);
	assert_int_not_equal(fs.leased, 0);
	pass(LEASE_SPARE_MS + 1000);
	assert_int_equal(fs.leased, 0);
	/* The kernel believes nothing more, so it need not forget. */
	assert_int_equal(fs.counters.notices_forgets, 0);
}

static void the_next_use_begins_another_lease(void **state)
{
	uint64_t first;

	begin();
	first = fs.leased;
	pass(KNOWN_WATCHED_MS + LEASE_SPARE_MS + 1000);
	lease_want(&fs);
	pass(LEASE_PING_MS);
	assert_true(fs.leased > first);
}

static void a_ping_without_an_answer_ends_the_lease(void **state)
{
	begin();
	now += LEASE_PING_MS;
	(void)lease_housekeep(&fs);
	assert_non_null(pinged);
	now += LEASE_PATIENCE_MS - 1;
	assert_int_equal(lease_housekeep(&fs), 1);
	assert_int_not_equal(fs.leased, 0);
	now++;
	(void)lease_housekeep(&fs);
	assert_int_equal(fs.leased, 0);
	assert_int_equal(fs.counters.notices_forgets, 1);
	answer(0);
	assert_int_equal(fs.leased, 0); /* nobody has used names since */
}

static void the_end_of_the_session_is_the_end_of_the_lease(void **state)
{
	begin();
	lease_session(&fs, false);
	assert_int_equal(fs.leased, 0);
	assert_int_equal(fs.counters.notices_forgets, 1);
	lease_session(&fs, true);
	lease_want(&fs);
	pass(2 * LEASE_PING_MS);
	assert_int_not_equal(fs.leased, 0);
}

static void after_the_loss_of_notices_there_is_no_lease_for_a_while(void **state)
{
	begin();
	notice(BROKER_NOTICE_DOUBT);
	assert_int_equal(fs.leased, 0);
	assert_int_equal(fs.counters.notices_forgets, 1);
	lease_want(&fs);
	pass(LEASE_REST_MS - 100);
	assert_int_equal(fs.leased, 0);
	pass(2 * LEASE_PING_MS);
	assert_int_not_equal(fs.leased, 0);
}

static void in_a_storm_of_changes_there_is_no_lease(void **state)
{
	begin();
	for (int n = 0; n < LEASE_CHANGES; n++)
		notice(BROKER_NOTICE_DIRECTORY);
	assert_int_not_equal(fs.leased, 0);
	notice(BROKER_NOTICE_DIRECTORY);
	assert_int_equal(fs.leased, 0);
	lease_want(&fs);
	pass(LEASE_STORM_MS - 100);
	assert_int_equal(fs.leased, 0);
	pass(2 * LEASE_PING_MS);
	assert_int_not_equal(fs.leased, 0);
}

static void slower_changes_end_no_lease(void **state)
{
	begin();
	for (int n = 0; n < 3 * LEASE_CHANGES; n++) {
		notice(BROKER_NOTICE_DIRECTORY);
		if (n % LEASE_CHANGES == 0)
			pass(1000);
	}
	assert_int_not_equal(fs.leased, 0);
}

/* A change of this mount is under way: its own notice comes before the answer. */
static void a_notice_waits_for_a_change_of_this_mount(void **state)
{
	uint64_t asked;

	begin();
	known_change_begin(dir);
	notice(BROKER_NOTICE_DIRECTORY);
	(void)lease_housekeep(&fs);
	assert_true(known_company(&fs, &dir->fh) != COMPANY_SOME);
	(void)known_change_end(&fs, dir, NULL, attr_clock(), &asked);
	(void)lease_housekeep(&fs);
	assert_true(known_company(&fs, &dir->fh) == COMPANY_SOME);
}

static void a_notice_does_not_wait_for_ever(void **state)
{
	uint64_t asked;

	begin();
	known_change_begin(dir);
	notice(BROKER_NOTICE_DIRECTORY);
	now += LEASE_LATER_MS;
	(void)lease_housekeep(&fs);
	assert_true(known_company(&fs, &dir->fh) == COMPANY_SOME);
	(void)known_change_end(&fs, dir, NULL, attr_clock(), &asked);
}

/* The daemon has made a directory, which it takes for watched since the number before. */
static uint64_t make_directory(void)
{
	fs.has_born = true;
	return fs.born;
}

static void foreign_names_end_the_lease_of_new_directories(void **state)
{
	uint64_t born;

	begin();
	born = make_directory();
	assert_int_not_equal(born, 0);
	assert_true(born != fs.leased);
	notice(BROKER_NOTICE_ATTR);
	assert_true(fs.born == born);
	assert_int_equal(fs.counters.notices_forgets, 0);
	notice(BROKER_NOTICE_DIRECTORY);
	assert_int_not_equal(fs.born, 0);
	assert_true(fs.born != born && fs.born != fs.leased);
	assert_int_equal(fs.counters.notices_forgets, 1);
	/* There is none any more. */
	pass(1000);
	notice(BROKER_NOTICE_DIRECTORY);
	pass(1000);
	assert_int_equal(fs.counters.notices_forgets, 1);
}

/* The daemon is making a directory, and others make a name in it. */
static void a_notice_of_an_unknown_directory_ends_it_too(void **state)
{
	struct broker_notice n = {.kind = BROKER_NOTICE_NAME, .fh = {.length = 3, .data = "new"}};
	uint64_t born;

	begin();
	born = make_directory();
	lease_notice(&fs, &n);
	assert_true(fs.born != born && fs.born != 0);
	assert_int_equal(fs.counters.notices_forgets, 1);
}

static void new_directories_have_no_lease_without_the_mounts(void **state)
{
	begin();
	notice(BROKER_NOTICE_DOUBT);
	assert_int_equal(fs.born, 0);
	lease_session(&fs, true);
	lease_want(&fs);
	pass(LEASE_REST_MS + 2 * LEASE_PING_MS);
	assert_int_not_equal(fs.born, 0);
	pass(KNOWN_WATCHED_MS + LEASE_SPARE_MS + 1000);
	assert_int_equal(fs.leased, 0);
	assert_int_equal(fs.born, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_mount_that_nobody_uses_asks_once_for_notices),
		TEST(a_lease_begins_with_the_first_use_and_stays),
		TEST(a_lease_begins_soon_after_the_session),
		TEST(no_ping_is_sent_while_no_lease_may_begin),
		TEST(a_lease_that_is_not_used_ends),
		TEST(the_next_use_begins_another_lease),
		TEST(a_ping_without_an_answer_ends_the_lease),
		TEST(the_end_of_the_session_is_the_end_of_the_lease),
		TEST(after_the_loss_of_notices_there_is_no_lease_for_a_while),
		TEST(in_a_storm_of_changes_there_is_no_lease),
		TEST(slower_changes_end_no_lease),
		TEST(a_notice_waits_for_a_change_of_this_mount),
		TEST(a_notice_does_not_wait_for_ever),
		TEST(foreign_names_end_the_lease_of_new_directories),
		TEST(a_notice_of_an_unknown_directory_ends_it_too),
		TEST(new_directories_have_no_lease_without_the_mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
