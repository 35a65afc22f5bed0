/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every cell of the table in open_mode.h, and which backing ids are kept or released. */
#include "cmocka_setup.h"

#include "fuse/node/open_mode.h"

#define SESSION 7

static const struct open_wish remote_read = {0}, remote_write = {.write = true},
			      remote_append = {.write = true, .append = true}, local_read = {.generation = SESSION},
			      local_write = {.generation = SESSION, .write = true},
			      granted_read = {.generation = SESSION, .granted_id = 5},
			      granted_rw = {.generation = SESSION, .granted_id = 5, .granted_writable = true},
			      granted_write = {.generation = SESSION,
				      .granted_id = 5,
				      .granted_writable = true,
				      .write = true},
			      refused_write = {.generation = SESSION, .granted_id = 5, .write = true};

/* Chooses and counts; *useless gets the id to be released. */
static int open_as(struct open_mode *m, const struct open_wish *w, int *useless)
{
	int path = open_mode_choose(m, w), id = w->granted_id;

	if (path >= 0)
		id = open_mode_count(m, w, (enum open_path)path);
	if (useless)
		*useless = id;
	return path;
}

static void nothing_open_takes_the_best_path(void **state)
{
	struct open_mode m = {0};

	assert_int_equal(open_mode_choose(&m, &remote_read), OPEN_PATH_CACHED);
	assert_int_equal(open_mode_choose(&m, &remote_write), OPEN_PATH_CACHED);
	assert_int_equal(open_mode_choose(&m, &remote_append), OPEN_PATH_DIRECT);
	assert_int_equal(open_mode_choose(&m, &local_read), OPEN_PATH_CACHED); /* no id was granted */
	assert_int_equal(open_mode_choose(&m, &granted_read), OPEN_PATH_PASSTHROUGH);
	assert_int_equal(open_mode_choose(&m, &granted_write), OPEN_PATH_PASSTHROUGH);
	/* A read-only id does not serve a writer: the kernel would open the backing file with EROFS. */
	assert_int_equal(open_mode_choose(&m, &refused_write), OPEN_PATH_CACHED);
}

static void beside_cached_opens_nothing_is_passthrough(void **state)
{
	struct open_mode m = {0};
	int useless;

	assert_int_equal(open_as(&m, &remote_read, NULL), OPEN_PATH_CACHED);
	assert_int_equal(open_mode_choose(&m, &remote_append), OPEN_PATH_DIRECT);
	assert_int_equal(open_as(&m, &granted_rw, &useless), OPEN_PATH_CACHED);
	assert_int_equal(useless, 5);
	assert_int_equal(m.backing_id, 0);
	/* The last release lets the next open be passthrough. */
	(void)open_mode_uncount(&m, OPEN_PATH_CACHED);
	assert_int_equal(open_mode_choose(&m, &granted_rw), OPEN_PATH_CACHED);
	(void)open_mode_uncount(&m, OPEN_PATH_CACHED);
	assert_int_equal(open_mode_choose(&m, &granted_rw), OPEN_PATH_PASSTHROUGH);
}

static void beside_direct_opens_everything_goes(void **state)
{
	struct open_mode m = {0};

	assert_int_equal(open_as(&m, &remote_append, NULL), OPEN_PATH_DIRECT);
	assert_int_equal(open_mode_choose(&m, &remote_read), OPEN_PATH_CACHED);
	assert_int_equal(open_mode_choose(&m, &remote_append), OPEN_PATH_DIRECT);
	assert_int_equal(open_mode_choose(&m, &granted_write), OPEN_PATH_PASSTHROUGH);
}

static void beside_direct_opens_that_may_be_mapped_nothing_is_passthrough(void **state)
{
	struct open_mode m = {0};
	struct open_wish append = remote_append;

	append.read = true;
	assert_int_equal(open_as(&m, &append, NULL), OPEN_PATH_DIRECT_MAPPABLE);
	assert_int_equal(open_mode_choose(&m, &granted_rw), OPEN_PATH_CACHED);
	assert_int_equal(open_mode_choose(&m, &append), OPEN_PATH_DIRECT_MAPPABLE);
	(void)open_mode_uncount(&m, OPEN_PATH_DIRECT_MAPPABLE);
	assert_int_equal(open_mode_choose(&m, &granted_rw), OPEN_PATH_PASSTHROUGH);
}

static void beside_passthrough_opens_the_id_stays_the_same(void **state)
{
	struct open_mode m = {0};
	int useless;

	assert_int_equal(open_as(&m, &granted_rw, &useless), OPEN_PATH_PASSTHROUGH);
	assert_int_equal(useless, 0);
	assert_int_equal(m.backing_id, 5);
	/* A second granted id of the same file is not needed. */
	struct open_wish second = granted_rw;
	second.granted_id = 6;
	assert_int_equal(open_as(&m, &second, &useless), OPEN_PATH_PASSTHROUGH);
	assert_int_equal(useless, 6);
	assert_int_equal(m.backing_id, 5);
	assert_int_equal(open_as(&m, &local_write, NULL), OPEN_PATH_PASSTHROUGH);
	assert_int_equal(open_mode_registered(&m), 3);
	assert_int_equal(open_mode_take_id(&m), 0);
}

/* An id writes with the rights of the opener who registered it, and root has more rights. */
/* O_DIRECT with odirect=any: as if the file had no id, except beside opens that use one. */
static void what_the_daemon_shall_serve_is_not_passed_through(void **state)
{
	struct open_wish by_daemon = {.generation = SESSION,
		.granted_id = 5,
		.granted_writable = true,
		.read = true,
		.by_daemon = true};
	struct open_mode m = {0};

	assert_int_equal(open_mode_choose(&m, &by_daemon), OPEN_PATH_CACHED);
	assert_int_equal(open_as(&m, &granted_rw, NULL), OPEN_PATH_PASSTHROUGH);
	by_daemon.granted_id = 0;
	assert_int_equal(open_mode_choose(&m, &by_daemon), OPEN_PATH_PASSTHROUGH_DIRECT);
	(void)open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH);
	assert_int_equal(open_mode_choose(&m, &by_daemon), OPEN_PATH_CACHED);
}

static void root_and_others_write_by_ids_of_their_own(void **state)
{
	for (int root = 0; root <= 1; root++) {
		struct open_mode m = {0};
		struct open_wish first = granted_write, other = granted_write, reader = granted_read;
		int useless;

		first.root = root;
		other.root = reader.root = !root;
		other.granted_id = 6;
		assert_int_equal(open_as(&m, &first, NULL), OPEN_PATH_PASSTHROUGH);
		assert_int_equal(open_as(&m, &reader, NULL),
			OPEN_PATH_PASSTHROUGH); /* reading needs no rights of root */
		assert_int_equal(open_as(&m, &other, &useless), OPEN_PATH_PASSTHROUGH_DIRECT);
		assert_int_equal(useless, 6);
		assert_int_equal(open_as(&m, &first, NULL), OPEN_PATH_PASSTHROUGH);
		(void)open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH);
		(void)open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH);
		(void)open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH);
		assert_true(open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH_DIRECT));
		/* No open is left: the next writer's id replaces the idle id. */
		assert_int_equal(open_as(&m, &other, &useless), OPEN_PATH_PASSTHROUGH);
		assert_int_equal(useless, 5);
		assert_int_equal(m.backing_id, 6);
		assert_int_equal(m.root, !root);
	}
}

static void passthrough_opens_outlive_their_session(void **state)
{
	struct open_mode m = {0};
	struct open_wish next = granted_rw;

	assert_int_equal(open_as(&m, &granted_rw, NULL), OPEN_PATH_PASSTHROUGH);
	/* No session: the open gets the id, but the daemon serves it. */
	assert_int_equal(open_as(&m, &remote_write, NULL), OPEN_PATH_PASSTHROUGH_DIRECT);
	assert_int_equal(open_as(&m, &remote_append, NULL), OPEN_PATH_PASSTHROUGH_DIRECT);
	/* The next session did not grant this id. */
	next.generation = SESSION + 1;
	next.granted_id = 9;
	assert_int_equal(open_mode_choose(&m, &next), OPEN_PATH_PASSTHROUGH_DIRECT);
	assert_false(open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH));
	assert_false(open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH_DIRECT));
	assert_true(open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH_DIRECT));
	/* Now the new id may replace the old one, which must be closed. */
	int useless;
	assert_int_equal(open_as(&m, &next, &useless), OPEN_PATH_PASSTHROUGH);
	assert_int_equal(useless, 5);
	assert_int_equal(m.backing_id, 9);
}

static void a_writer_beside_a_read_only_id_gets_a_fresh_inode(void **state)
{
	struct open_mode m = {0};

	assert_int_equal(open_as(&m, &granted_read, NULL), OPEN_PATH_PASSTHROUGH);
	assert_int_equal(open_mode_choose(&m, &local_write), -ESTALE);
	assert_int_equal(open_mode_choose(&m, &granted_write), -ESTALE);
	assert_int_equal(open_mode_choose(&m, &remote_write), -ESTALE);
	assert_int_equal(open_mode_choose(&m, &local_read), OPEN_PATH_PASSTHROUGH);
	/* Without opens the read-only id is simply replaced. */
	(void)open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH);
	assert_int_equal(open_mode_choose(&m, &granted_write), OPEN_PATH_PASSTHROUGH);
	assert_int_equal(open_mode_choose(&m, &local_write), OPEN_PATH_CACHED);
}

static void an_idle_id_serves_the_next_open_of_its_session_only(void **state)
{
	struct open_mode m = {0};
	struct open_wish other = local_read;

	assert_int_equal(open_as(&m, &granted_rw, NULL), OPEN_PATH_PASSTHROUGH);
	assert_true(open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH));
	assert_int_equal(open_mode_choose(&m, &local_write), OPEN_PATH_PASSTHROUGH);
	assert_int_equal(open_mode_choose(&m, &remote_read), OPEN_PATH_CACHED);
	other.generation = SESSION + 1;
	assert_int_equal(open_mode_choose(&m, &other), OPEN_PATH_CACHED);
	assert_int_equal(open_mode_take_id(&m), 5);
	assert_int_equal(open_mode_take_id(&m), 0);
	assert_int_equal(open_mode_choose(&m, &local_write), OPEN_PATH_CACHED);
}

/* A passthrough open that was closed meanwhile may have left a mapping, which the daemon cannot see. */
static void after_a_local_open_that_may_be_mapped_for_writing_nothing_is_cached(void **state)
{
	const struct open_wish rw = {.generation = SESSION,
		.granted_id = 5,
		.granted_writable = true,
		.read = true,
		.write = true};
	const struct open_wish read = {.generation = SESSION, .granted_id = 5, .read = true}, far_read = {.read = true};
	struct open_mode m = {0};

	assert_int_equal(open_as(&m, &granted_write, NULL),
		OPEN_PATH_PASSTHROUGH); /* an O_WRONLY open cannot be mapped */
	(void)open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH);
	assert_false(open_mode_written_locally(&m));
	assert_false(open_mode_seen_locally(&m));
	assert_int_equal(open_as(&m, &read, NULL), OPEN_PATH_PASSTHROUGH);
	assert_true(open_mode_written_locally(&m));
	(void)open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH);
	assert_false(open_mode_written_locally(&m));
	assert_true(open_mode_seen_locally(&m));
	assert_int_equal(open_mode_choose(&m, &far_read), OPEN_PATH_CACHED);
	assert_int_equal(open_as(&m, &rw, NULL), OPEN_PATH_PASSTHROUGH);
	(void)open_mode_uncount(&m, OPEN_PATH_PASSTHROUGH);
	assert_true(open_mode_written_locally(&m));
	assert_int_equal(open_mode_choose(&m, &far_read), OPEN_PATH_DIRECT_MAPPABLE);
	assert_int_equal(open_mode_choose(&m, &remote_write), OPEN_PATH_DIRECT);
	assert_int_equal(open_mode_choose(&m, &rw), OPEN_PATH_PASSTHROUGH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_open_takes_the_best_path),
		cmocka_unit_test(beside_cached_opens_nothing_is_passthrough),
		cmocka_unit_test(beside_direct_opens_everything_goes),
		cmocka_unit_test(beside_direct_opens_that_may_be_mapped_nothing_is_passthrough),
		cmocka_unit_test(beside_passthrough_opens_the_id_stays_the_same),
		cmocka_unit_test(what_the_daemon_shall_serve_is_not_passed_through),
		cmocka_unit_test(root_and_others_write_by_ids_of_their_own),
		cmocka_unit_test(passthrough_opens_outlive_their_session),
		cmocka_unit_test(a_writer_beside_a_read_only_id_gets_a_fresh_inode),
		cmocka_unit_test(an_idle_id_serves_the_next_open_of_its_session_only),
		cmocka_unit_test(after_a_local_open_that_may_be_mapped_for_writing_nothing_is_cached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
