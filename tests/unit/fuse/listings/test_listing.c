/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which listing of a directory the kernel may keep. */
#include "fuse/known/known_fixture.h"

#include "fuse/listings/listing.h"

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

static void time_stamps_of_whole_seconds_show_no_listing(void **state)
{
	struct nfs_attr attr = attributes(S_IFDIR, 1, 1);

	told(1);
	list_once();
	assert_true(listing_shows(dir, &attr));
	attr.ctime.tv_nsec++;
	assert_false(listing_shows(dir, &attr));
	told(0);
	list_once();
	attr = attributes(S_IFDIR, 1, 0);
	assert_false(listing_shows(dir, &attr));
}

/* ---- the sum ---- */

static const struct hash_key key = {1, 2};
static const struct nfs_entry entries[] = {{.name = ".", .fileid = 1, .cookie = 10},
	{.name = "a", .fileid = 2, .cookie = 30}, {.name = "b", .fileid = 3, .cookie = 20},
	{.name = "c", .fileid = 4, .cookie = 40}};

/* So many entries, as one part. */
static void add_part(struct listing_sum *s, unsigned begin, unsigned count)
{
	uint64_t at = begin == 0 ? 0 : entries[begin - 1].cookie;

	listing_part(dir, 0);
	listing_sum_part(s, at);
	for (unsigned n = begin; n < begin + count; n++) {
		listing_sum_entry(s, &key, at, &entries[n]);
		at = entries[n].cookie;
	}
}

static void end_listing(struct listing_sum *s)
{
	listing_part(dir, 0);
	listing_sum_part(s, entries[3].cookie);
	listing_sum_end(s, dir, entries[3].cookie);
}

static uint64_t digest(void)
{
	uint64_t sum = 0;

	for (unsigned n = 1; n < ARRAY_SIZE(entries); n++)
		sum += siphash_of_pair(&key, entries[n].fileid, entries[n].name, strlen(entries[n].name));
	return sum;
}

static void a_listing_with_the_digest_of_the_directory_is_kept(void **state)
{
	struct listing_sum s = {0};

	told(1);
	assert_false(open_directory(&first, NULL));
	add_part(&s, 0, 2);
	assert_false(listing_needs_digest(&fs, dir));
	add_part(&s, 2, 2);
	end_listing(&s);
	close_directory(&first);
	assert_true(listing_needs_digest(&fs, dir));
	assert_false(listing_is_good(&fs, dir));
	listing_digest(dir, digest() + 1, known_state(dir));
	assert_false(listing_is_good(&fs, dir));
	listing_digest(dir, digest(), known_state(dir));
	assert_true(listing_is_good(&fs, dir));
	assert_false(listing_needs_digest(&fs, dir));
	told(2);
	assert_false(listing_is_good(&fs, dir));
}

static void the_digest_of_an_earlier_state_proves_nothing(void **state)
{
	struct listing_sum s = {0};
	uint64_t before;

	told(1);
	assert_false(open_directory(&first, NULL));
	add_part(&s, 0, 4);
	end_listing(&s);
	close_directory(&first);
	before = known_state(dir);
	told(2);
	listing_digest(dir, digest(), before);
	assert_false(listing_is_good(&fs, dir));
}

/* A listing before which the sidecar has told this digest of the directory in its present state. */
static void list_proved(uint64_t told_digest)
{
	struct listing_sum s = {0};

	assert_false(open_directory(&first, NULL));
	listing_sum_proved(&s, told_digest, known_state(dir));
	add_part(&s, 0, 4);
	end_listing(&s);
	close_directory(&first);
}

static void a_digest_from_before_the_listing_proves_it(void **state)
{
	told(1);
	list_proved(digest());
	assert_false(listing_needs_digest(&fs, dir));
	assert_true(listing_is_good(&fs, dir));
	told(2);
	assert_false(listing_is_good(&fs, dir));
	list_proved(digest() + 1);
	assert_false(listing_is_good(&fs, dir));
	assert_true(listing_needs_digest(&fs, dir));
}

static void a_digest_from_before_a_change_proves_nothing(void **state)
{
	struct listing_sum s = {0};

	told(1);
	assert_false(open_directory(&first, NULL));
	listing_sum_proved(&s, digest(), known_state(dir));
	add_part(&s, 0, 2);
	told(2);
	add_part(&s, 2, 2);
	end_listing(&s);
	close_directory(&first);
	assert_false(listing_is_good(&fs, dir));
}

static void a_listing_that_is_dropped_meanwhile_is_not_kept(void **state)
{
	struct listing_sum s = {0};

	told(1);
	assert_false(open_directory(&first, NULL));
	add_part(&s, 0, 4);
	end_listing(&s);
	close_directory(&first);
	assert_false(open_directory(&first, NULL)); /* before the sidecar has answered */
	listing_digest(dir, digest(), known_state(dir));
	assert_false(listing_is_good(&fs, dir));
	close_directory(&first);
}

static void the_sum_follows_the_kernel(void **state)
{
	static const unsigned parts[][4][2] = {
		{{0, 2}, {1, 3}},         /* the kernel has added the second entry, although its reader had no room */
		{{0, 3}, {0, 1}, {3, 1}}, /* rewinddir(3) */
		{{0, 1}, {2, 2}},         /* seekdir(3) over an entry */
		{{1, 3}},
		{{0, 3}},
	};
	static const bool whole[] = {true, false, false, false, false};

	for (unsigned n = 0; n < ARRAY_SIZE(parts); n++) {
		struct listing_sum s = {0};

		told(n + 1);
		assert_false(open_directory(&first, NULL));
		for (unsigned m = 0; m < ARRAY_SIZE(parts[n]) && parts[n][m][1] > 0; m++)
			add_part(&s, parts[n][m][0], parts[n][m][1]);
		end_listing(&s);
		close_directory(&first);
		assert_int_equal(listing_needs_digest(&fs, dir), whole[n]);
		if (whole[n])
			listing_digest(dir, digest(), known_state(dir));
		assert_int_equal(listing_is_good(&fs, dir), whole[n]);
	}
}

static void a_listing_after_the_end_has_no_sum(void **state)
{
	struct listing_sum s = {0};

	told(1);
	assert_false(open_directory(&first, NULL));
	add_part(&s, 0, 4);
	end_listing(&s);
	add_part(&s, 0, 4); /* the kernel reads again, because the directory has changed */
	end_listing(&s);
	close_directory(&first);
	assert_false(listing_needs_digest(&fs, dir));
}

static void a_long_listing_has_no_sum(void **state)
{
	for (unsigned more = 0; more < 2; more++) {
		struct listing_sum s = {0};
		char name[16];

		told(more + 1);
		assert_false(open_directory(&first, NULL));
		listing_part(dir, 0);
		listing_sum_part(&s, 0);
		for (unsigned n = 0; n < BROKER_MAX_DIGEST + more; n++) {
			struct nfs_entry e = {.name = name, .fileid = n, .cookie = n + 1};

			(void)snprintf(name, sizeof(name), "%u", n);
			listing_sum_entry(&s, &key, n, &e);
		}
		listing_sum_end(&s, dir, BROKER_MAX_DIGEST + more);
		close_directory(&first);
		assert_int_equal(listing_needs_digest(&fs, dir), more == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_unchanged_directory_is_listed_by_the_kernel),
		TEST(a_change_by_anybody_ends_the_listing),
		TEST(batches_of_different_states_are_no_listing),
		TEST(opens_beside_another_read_past_the_listing),
		TEST(an_open_without_permission_reads_past_the_listing),
		TEST(time_stamps_of_whole_seconds_show_no_listing),
		TEST(a_listing_with_the_digest_of_the_directory_is_kept),
		TEST(the_digest_of_an_earlier_state_proves_nothing),
		TEST(a_digest_from_before_the_listing_proves_it),
		TEST(a_digest_from_before_a_change_proves_nothing),
		TEST(a_listing_that_is_dropped_meanwhile_is_not_kept),
		TEST(the_sum_follows_the_kernel),
		TEST(a_listing_after_the_end_has_no_sum),
		TEST(a_long_listing_has_no_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
