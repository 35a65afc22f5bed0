/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ids of a user namespace, and the ids that the server gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/util.h"
#include "fuse/fs/namespaces.h"

/* A rootless container: its root is user 1000, and its other ids are 100000 and more. */
static const char rootless[] = "         0       1000          1\n         1     100000      65535\n";

static struct namespaces container(bool outside)
{
	struct namespaces n = {.outside = outside, .translates = outside, .sees_callers = true};

	assert_int_equal(id_map_parse(&n.uids, rootless), 0);
	assert_int_equal(id_map_parse(&n.gids, rootless), 0);
	return n;
}

static void ids_are_those_of_the_parent_namespace(void **state)
{
	struct namespaces n = container(true);

	assert_int_equal(namespaces_uid_to_server(&n, 0), 1000);
	assert_int_equal(namespaces_uid_to_server(&n, 1), 100000);
	assert_int_equal(namespaces_uid_to_server(&n, 65535), 165534);
	assert_int_equal(namespaces_uid_to_server(&n, 65536), ID_NOBODY);
	assert_int_equal(namespaces_gid_to_server(&n, 5), 100004);
	assert_int_equal(namespaces_uid_from_server(&n, 1000), 0);
	assert_int_equal(namespaces_uid_from_server(&n, 100000), 1);
	assert_int_equal(namespaces_uid_from_server(&n, 0), ID_NOBODY);
	assert_int_equal(namespaces_uid_from_server(&n, 165535), ID_NOBODY);
	assert_int_equal(namespaces_gid_from_server(&n, 100004), 5);
}

static void map_inside_translates_nothing(void **state)
{
	struct namespaces n = container(false);
	gid_t groups[] = {0, 70000};

	assert_int_equal(namespaces_uid_to_server(&n, 0), 0);
	assert_int_equal(namespaces_gid_from_server(&n, 70000), 70000);
	assert_int_equal(namespaces_groups_to_server(&n, groups, 2), 2);
	assert_int_equal(groups[1], 70000);
}

static void groups_that_are_not_mapped_are_dropped(void **state)
{
	struct namespaces n = container(true);
	gid_t groups[] = {65536, 3, 65534, 0}; /* the third is also the sign of a group that is not mapped */

	assert_int_equal(namespaces_groups_to_server(&n, groups, 4), 2);
	assert_int_equal(groups[0], 100002);
	assert_int_equal(groups[1], 1000);
}

static void a_file_of_an_owner_without_a_map_has_no_known_owner(void **state)
{
	struct namespaces n = container(true);
	uint32_t uid = 1, gid = 0;

	assert_true(namespaces_owner_to_server(&n, &uid, &gid));
	assert_int_equal(uid, 100000);
	assert_int_equal(gid, 1000);
	uid = 70000;
	assert_false(namespaces_owner_to_server(&n, &uid, &gid));
	uid = 1;
	gid = ID_NOBODY; /* mapped, and also the sign of a group that is not mapped */
	assert_false(namespaces_owner_to_server(&n, &uid, &gid));
	n.plain = true;
	assert_true(namespaces_owner_to_server(&n, &uid, &gid));
}

static void the_initial_namespace_translates_nothing(void **state)
{
	struct namespaces n;

	assert_int_equal(id_map_parse(&n.uids, "         0          0 4294967295\n"), 0);
	assert_int_equal(n.uids.count, 1);
	assert_int_equal(namespaces_look(&n, true, false, true), 0);
	assert_false(n.sees_callers);
	assert_int_equal(namespaces_uid_to_server(&n, 4294967294), n.plain ? 4294967294 : ID_NOBODY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_those_of_the_parent_namespace),
		cmocka_unit_test(map_inside_translates_nothing),
		cmocka_unit_test(groups_that_are_not_mapped_are_dropped),
		cmocka_unit_test(a_file_of_an_owner_without_a_map_has_no_known_owner),
		cmocka_unit_test(the_initial_namespace_translates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
