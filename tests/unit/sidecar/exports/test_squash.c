/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <string.h>

#include "sidecar/ganesha/rights_ganesha.h"
#include "sidecar/knfsd/rights_knfsd.h"
#include "base/util.h"

#define ANON 65534

static struct broker_cred squashed(enum squash squash, uint32_t uid, uint32_t gid)
{
	struct export_perms p = {.squash = squash, .anon_uid = ANON, .anon_gid = ANON};
	struct broker_cred wire = {.uid = uid, .gid = gid, .ngroups = 2, .groups = {0, 27}}, c;

	assert_int_equal(rights_ganesha_squash(&p, &wire, &c), 0);
	return c;
}

static void assert_cred(struct broker_cred c, uint32_t uid, uint32_t gid, uint32_t ngroups, uint32_t first)
{
	assert_int_equal(c.uid, uid);
	assert_int_equal(c.gid, gid);
	assert_int_equal(c.ngroups, ngroups);
	if (ngroups > 0)
		assert_int_equal(c.groups[0], first);
}

static void no_root_squash_changes_nothing(void **state)
{
	assert_cred(squashed(SQUASH_NONE, 0, 0), 0, 0, 2, 0);
	assert_cred(squashed(SQUASH_NONE, 1000, 100), 1000, 100, 2, 0);
}

static void root_squash_drops_all_groups_of_root(void **state)
{
	assert_cred(squashed(SQUASH_ROOT, 0, 0), ANON, ANON, 0, 0);
	assert_cred(squashed(SQUASH_ROOT, 0, 100), ANON, ANON, 0, 0);
}

static void group_0_of_a_user_becomes_anonymous(void **state)
{
	assert_cred(squashed(SQUASH_ROOT, 1000, 0), 1000, ANON, 2, ANON);
	assert_cred(squashed(SQUASH_ROOT, 1000, 100), 1000, 100, 2, ANON);
}

static void root_id_squash_keeps_the_groups(void **state)
{
	assert_cred(squashed(SQUASH_ROOT_ID, 0, 0), ANON, ANON, 2, ANON);
	assert_cred(squashed(SQUASH_ROOT_ID, 0, 100), ANON, 100, 2, ANON);
}

static void all_squash_leaves_nobody_as_he_was(void **state)
{
	assert_cred(squashed(SQUASH_ALL, 0, 0), ANON, ANON, 0, 0);
	assert_cred(squashed(SQUASH_ALL, 1000, 100), ANON, ANON, 0, 0);
}

static void minus_one_is_refused_everywhere(void **state)
{
	struct export_perms p = {.squash = SQUASH_ALL, .anon_uid = ANON, .anon_gid = ANON};
	struct broker_cred bad[] = {{.uid = UINT32_MAX}, {.gid = UINT32_MAX}, {.ngroups = 1, .groups = {UINT32_MAX}},
		{.ngroups = 17}},
			   c;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(rights_ganesha_squash(&p, &bad[i], &c), -EINVAL);
}

/* ---- knfsd: nfsd_setuser() ---- */

static struct broker_cred squashed_knfsd(enum squash squash, uint32_t uid, uint32_t gid)
{
	struct export_perms p = {.squash = squash, .anon_uid = ANON, .anon_gid = ANON};
	struct broker_cred wire = {.uid = uid, .gid = gid, .ngroups = 3, .groups = {0, UINT32_MAX, 27}}, c;

	assert_int_equal(rights_knfsd_squash(&p, &wire, &c), 0);
	return c;
}

static void knfsd_squashes_uid_and_gid_each_on_its_own(void **state)
{
	assert_cred(squashed_knfsd(SQUASH_ROOT, 0, 0), ANON, ANON, 2, ANON);
	assert_cred(squashed_knfsd(SQUASH_ROOT, 0, 100), ANON, 100, 2, ANON);
	assert_cred(squashed_knfsd(SQUASH_ROOT, 1000, 0), 1000, ANON, 2, ANON);
	assert_cred(squashed_knfsd(SQUASH_ROOT, 1000, 100), 1000, 100, 2, ANON);
	assert_int_equal(squashed_knfsd(SQUASH_ROOT, 1000, 100).groups[1], 27);
	assert_cred(squashed_knfsd(SQUASH_NONE, 0, 0), 0, 0, 2, 0);
	assert_cred(squashed_knfsd(SQUASH_ALL, 0, 0), ANON, ANON, 0, 0);
	assert_cred(squashed_knfsd(SQUASH_ALL, 1000, 100), ANON, ANON, 0, 0);
}

static void minus_one_is_anonymous_to_knfsd(void **state)
{
	assert_cred(squashed_knfsd(SQUASH_NONE, UINT32_MAX, 5), ANON, 5, 2, 0);
	assert_cred(squashed_knfsd(SQUASH_NONE, 5, UINT32_MAX), 5, ANON, 2, 0);
	assert_cred(squashed_knfsd(SQUASH_ROOT, UINT32_MAX, UINT32_MAX), ANON, ANON, 2, ANON);
}

static void too_many_groups_are_refused(void **state)
{
	struct broker_cred wire = {.ngroups = BROKER_MAX_GROUPS + 1}, c;
	struct export_perms p = {.squash = SQUASH_ALL};

	assert_int_equal(rights_knfsd_squash(&p, &wire, &c), -EINVAL);
}

/* ---- Ganesha's own access rule ---- */

static uint32_t bits(mode_t mode, uint32_t uid, uint32_t gid, uint32_t group)
{
	struct access_file f = {.mode = mode, .uid = 1000, .gid = 100};
	struct broker_cred c = {.uid = uid, .gid = gid, .ngroups = 1, .groups = {group}};

	return rights_ganesha_access(&f, &c, true);
}

/* The modes of the issue, each as the server's fsal_check_access_no_acl decides. */
static void access_is_what_the_server_says(void **state)
{
	const uint32_t rw = NFS_ACCESS_READ | NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND;

	assert_int_equal(bits(0600, 1000, 5, 5), rw);
	assert_int_equal(bits(0600, 1001, 100, 5), 0);
	assert_int_equal(bits(0640, 1001, 5, 100), NFS_ACCESS_READ);
	assert_int_equal(bits(0444, 1001, 5, 5), NFS_ACCESS_READ);
	assert_int_equal(bits(0622, 1001, 5, 5), NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND);
	assert_int_equal(bits(0711, 1001, 5, 5), NFS_ACCESS_EXECUTE);
	assert_int_equal(bits(0077, 1000, 100, 100), 0); /* the owner's bits, nobody else's */
	assert_int_equal(bits(0707, 1001, 100, 5), 0);   /* the group's bits */
	assert_int_equal(bits(0000, 0, 0, 0), rw);
	assert_int_equal(bits(0010, 0, 0, 0), rw | NFS_ACCESS_EXECUTE);
}

static void an_ro_export_modifies_nothing(void **state)
{
	struct access_file f = {.mode = 0777, .uid = 1000, .gid = 100};
	struct broker_cred c = {.uid = 1000};

	assert_int_equal(rights_ganesha_access(&f, &c, false), NFS_ACCESS_READ | NFS_ACCESS_EXECUTE);
}

static void read_and_write_know_the_owner_and_exec(void **state)
{
	struct access_file f = {.mode = 0010, .uid = 1000, .gid = 100};
	struct broker_cred owner = {.uid = 1000}, member = {.uid = 1, .gid = 100}, other = {.uid = 1};

	assert_true(rights_ganesha_may_read(&f, &owner));
	assert_true(rights_ganesha_may_write(&f, &owner));
	assert_true(rights_ganesha_may_read(&f, &member)); /* may execute, so may read */
	assert_false(rights_ganesha_may_write(&f, &member));
	assert_false(rights_ganesha_may_read(&f, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_root_squash_changes_nothing),
		cmocka_unit_test(root_squash_drops_all_groups_of_root),
		cmocka_unit_test(group_0_of_a_user_becomes_anonymous),
		cmocka_unit_test(root_id_squash_keeps_the_groups),
		cmocka_unit_test(all_squash_leaves_nobody_as_he_was),
		cmocka_unit_test(minus_one_is_refused_everywhere),
		cmocka_unit_test(knfsd_squashes_uid_and_gid_each_on_its_own),
		cmocka_unit_test(minus_one_is_anonymous_to_knfsd),
		cmocka_unit_test(too_many_groups_are_refused),
		cmocka_unit_test(access_is_what_the_server_says),
		cmocka_unit_test(an_ro_export_modifies_nothing),
		cmocka_unit_test(read_and_write_know_the_owner_and_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
