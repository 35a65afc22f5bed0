/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which listing of a directory the kernel may keep. */
#include "fuse/known/known_fixture.h"

#include "fuse/names/listing.h"

static struct opened first, second;

static int setup(void **state)
{
	list_init(&first.node);
	list_init(&second.node);
	return make_all(0, true);
}

/* The sidecar tells the directory's attributes. */
static void told(long version)
{
	struct nfs_attr attr = attributes(S_IFDIR, 1, version);

	(void)known_attributes_watched(&fs, dir, &attr, attr_clock(), true);
}

/* An OPENDIR, as op_opendir() answers it. True if the kernel keeps its listing. *ret_fills: the kernel copies parts. */
static bool open_directory(struct opened *o, bool *ret_fills)
{
	struct fuse_file_info fi = {0};

	listing_open(&fs, dir, o, listing_is_good(&fs, dir) ? LISTING_KEEP : LISTING_BEGIN, &fi);
	if (ret_fills)
		*ret_fills = fi.cache_readdir;
	return fi.keep_cache;
}

static void close_directory(struct opened *o)
{
	LOCKED(&dir->lock);
	list_remove(&o->node);
}

/* Reads the directory by a single batch. */
static void list_directory(void)
{
	listing_part(dir, known_state(dir));
}

static void list_once(void)
{
	assert_false(open_directory(&first, NULL));
	list_directory();
	close_directory(&first);
}

static void an_unchanged_directory_is_listed_by_the_kernel(void **state)
{
	bool fills;

	told(1);
	assert_false(open_directory(&first, &fills));
	assert_true(fills);
	close_directory(&first);
	assert_false(open_directory(&first, &fills)); /* nothing was read */
	list_directory();
	close_directory(&first);
	told(1);
	assert_true(open_directory(&first, &fills));
	assert_true(fills);
	close_directory(&first);
}

static void a_change_by_anybody_ends_the_listing(void **state)
{
	uint64_t asked;

	told(1);
	list_once();
	told(2);
	list_once();
	assert_true(open_directory(&first, NULL));
	close_directory(&first);
	known_change_begin(dir);
	assert_false(listing_is_good(&fs, dir));
	(void)known_change_end(&fs, dir, NULL, attr_clock(), &asked);
	told(3);
	list_once();
	fs.leased = 0; /* no notices come any more */
	assert_false(listing_is_good(&fs, dir));
}

static void batches_of_different_states_are_no_listing(void **state)
{
	told(1);
	assert_false(open_directory(&first, NULL));
	list_directory();
	told(2);
	list_directory();
	close_directory(&first);
	assert_false(listing_is_good(&fs, dir));
	list_once();
	assert_true(listing_is_good(&fs, dir));
	listing_part(dir, 0); /* the server has told old attributes, or none */
	assert_false(listing_is_good(&fs, dir));
}

static void opens_beside_another_read_past_the_listing(void **state)
{
	bool fills;

	told(1);
	list_once();
	assert_true(open_directory(&first, &fills));
	assert_true(fills);
	assert_true(open_directory(&second, &fills)); /* the listing of the first stays */
	assert_false(fills);
	close_directory(&second);
	told(2);
	assert_true(open_directory(&second, &fills));
	assert_false(fills);
	close_directory(&first);
	close_directory(&second);
	assert_false(open_directory(&first, &fills));
	assert_true(fills);
	close_directory(&first);
}

static void an_open_without_permission_reads_past_the_listing(void **state)
{
	struct fuse_file_info fi = {0};

	told(1);
	list_once();
	listing_open(&fs, dir, &first, LISTING_READ_PAST, &fi);
	assert_false(fi.cache_readdir);
	assert_true(fi.keep_cache);
	close_directory(&first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_unchanged_directory_is_listed_by_the_kernel),
		TEST(a_change_by_anybody_ends_the_listing),
		TEST(batches_of_different_states_are_no_listing),
		TEST(opens_beside_another_read_past_the_listing),
		TEST(an_open_without_permission_reads_past_the_listing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
