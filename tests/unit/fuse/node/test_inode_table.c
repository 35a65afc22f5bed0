/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>

#include "fuse/node/inode_table.h"

static struct nfs_fh handle(uint32_t n)
{
	struct nfs_fh fh = {.len = 32};

	memcpy(fh.data, &n, sizeof(n));
	return fh;
}

static struct nfs_attr file_attr(uint64_t fileid)
{
	return (struct nfs_attr){.mode = S_IFREG | 0644, .fileid = fileid};
}

static atomic_uint freed;

static void count_free(void *arg, struct inode *i)
{
	freed++;
}

static struct inode_table *new_table(void)
{
	struct inode_table *t;

	assert_int_equal(inode_table_new(&t), 0);
	freed = 0;
	inode_table_on_free(t, count_free, NULL);
	return t;
}

static struct inode *get(struct inode_table *t, uint32_t n, uint64_t fileid)
{
	struct nfs_fh fh = handle(n);
	struct nfs_attr attr = file_attr(fileid);
	struct inode *i;

	assert_int_equal(inode_table_get(t, &fh, &attr, &i), 0);
	return i;
}

static void inodes_are_found_by_their_numbers(void **state)
{
	struct inode_table *t = new_table();
	struct inode *root = get(t, 1, 11), *i = get(t, 2, 12), *other;
	uint64_t number = i->number;

	assert_int_equal(root->number, 1); /* FUSE_ROOT_ID */
	assert_ptr_equal(inode_table_numbered(t, 1), root);
	assert_ptr_equal(inode_table_numbered(t, number), i);
	/* A retired inode keeps its number, because the kernel knows it; the fresh inode gets another number. */
	inode_table_retire(t, i);
	other = get(t, 2, 12);
	assert_ptr_not_equal(other, i);
	assert_ptr_equal(inode_table_numbered(t, number), i);
	assert_int_not_equal(other->number, number);
	(void)inode_unref(t, i);
	assert_null(inode_table_numbered(t, number));
	(void)inode_unref(t, other);
	(void)inode_unref(t, root);
	(void)inode_table_free(t);
}

static void an_inode_lives_until_its_last_lookup_is_forgotten(void **state)
{
	struct inode_table *t = new_table();
	struct inode *i = get(t, 1, 11);

	inode_table_looked_up(t, i);
	inode_table_looked_up(t, i);
	inode_table_looked_up(t, i);
	(void)inode_unref(t, i);
	inode_table_forget(t, i, 2);
	assert_int_equal(freed, 0);
	assert_int_equal(inode_table_count(t), 1);
	inode_table_forget(t, i, 1);
	assert_int_equal(freed, 1);
	assert_int_equal(inode_table_count(t), 0);
	(void)inode_table_free(t);
}

static void a_reference_outlives_the_lookups(void **state)
{
	struct inode_table *t = new_table();
	struct inode *i = get(t, 1, 11);

	inode_table_looked_up(t, i);
	inode_table_forget(t, i, 1);
	assert_int_equal(freed, 0);
	assert_ptr_equal(get(t, 1, 11), i);
	(void)inode_unref(t, i);
	(void)inode_unref(t, i);
	assert_int_equal(freed, 1);
	(void)inode_table_free(t);
}

static void one_handle_is_one_inode(void **state)
{
	struct inode_table *t = new_table();
	struct nfs_fh fh = handle(1), unknown = handle(2);
	struct inode *a = get(t, 1, 11), *b = get(t, 1, 11), *c = get(t, 3, 11);

	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	assert_int_not_equal(a->generation, c->generation);
	assert_null(inode_table_find(t, &unknown));
	b = inode_table_find(t, &fh);
	assert_ptr_equal(a, b);
	(void)inode_unref(t, a);
	(void)inode_unref(t, a);
	(void)inode_unref(t, a);
	(void)inode_unref(t, c);
	assert_int_equal(freed, 2);
	(void)inode_table_free(t);
}

static void a_reused_handle_of_another_file_is_another_inode(void **state)
{
	struct inode_table *t = new_table();
	struct inode *a = get(t, 1, 11), *b = get(t, 1, 12);

	assert_ptr_not_equal(a, b);
	assert_ptr_equal(get(t, 1, 12), b);
	(void)inode_unref(t, b);
	(void)inode_unref(t, b);
	(void)inode_unref(t, a);
	assert_int_equal(freed, 2);
	(void)inode_table_free(t);
}

static void a_retired_inode_is_found_no_more_but_lives(void **state)
{
	struct inode_table *t = new_table();
	struct inode *old = get(t, 1, 11), *fresh;

	inode_table_looked_up(t, old);
	inode_table_retire(t, old);
	fresh = get(t, 1, 11);
	assert_ptr_not_equal(old, fresh);
	(void)inode_unref(t, old);
	assert_int_equal(freed, 0);
	inode_table_forget(t, old, 1);
	assert_int_equal(freed, 1);
	assert_ptr_equal(get(t, 1, 11), fresh);
	(void)inode_unref(t, fresh);
	(void)inode_unref(t, fresh);
	assert_int_equal(freed, 2);
	(void)inode_table_free(t);
}

static void a_decoy_is_found_by_handle_and_user_alone(void **state)
{
	struct inode_table *t = new_table();
	struct nfs_fh fh = handle(1);
	struct nfs_attr attr = {.mode = S_IFIFO | 0600, .fileid = 11};
	struct inode *decoys[3], *same, *i;

	for (uint32_t uid = 0; uid < 3; uid++)
		assert_int_equal(inode_table_get_decoy(t, &fh, &attr, uid, &decoys[uid]), 0);
	assert_null(inode_table_find(t, &fh));
	assert_int_equal(inode_table_get(t, &fh, &attr, &i), 0);
	assert_false(i->decoy);
	assert_int_equal(inode_table_count(t), 4);
	for (uint32_t uid = 0; uid < 3; uid++) {
		assert_int_equal(inode_table_get_decoy(t, &fh, &attr, uid, &same), 0);
		assert_ptr_equal(same, decoys[uid]);
		(void)inode_unref(t, same);
		(void)inode_unref(t, decoys[uid]);
	}
	same = inode_table_find(t, &fh);
	assert_ptr_equal(same, i);
	(void)inode_unref(t, same);
	(void)inode_unref(t, i);
	assert_int_equal(inode_table_count(t), 0);
	(void)inode_table_free(t);
}

static void a_full_table_grows_and_finds_everything(void **state)
{
	enum {
		N = 10000
	};
	struct inode_table *t = new_table();
	static struct inode *all[N];

	for (uint32_t n = 0; n < N; n++)
		all[n] = get(t, n, n);
	assert_int_equal(inode_table_count(t), N);
	for (uint32_t n = 0; n < N; n++) {
		struct nfs_fh fh = handle(n);

		assert_ptr_equal(inode_table_find(t, &fh), all[n]);
		(void)inode_unref(t, all[n]);
	}
	/* Inodes that the kernel never forgot are freed with the table. */
	(void)inode_table_free(t);
	assert_int_equal(freed, N);
}

struct racer {
	struct inode_table *t;
	unsigned seed;
};

/* Each thread looks up and forgets the same few handles. */
static void *race(void *arg)
{
	struct racer *r = arg;

	for (int n = 0; n < 20000; n++) {
		struct nfs_fh fh = handle((uint32_t)rand_r(&r->seed) % 4);
		struct nfs_attr attr = file_attr(1);
		struct inode *i;

		if (inode_table_get(r->t, &fh, &attr, &i) < 0)
			return NULL;
		inode_table_looked_up(r->t, i);
		if (n % 7 == 0)
			inode_table_retire(r->t, i);
		(void)inode_unref(r->t, i);
		inode_table_forget(r->t, i, 1);
	}
	return arg;
}

static void threads_that_look_up_and_forget_leave_nothing(void **state)
{
	struct inode_table *t = new_table();
	struct racer racers[4];
	pthread_t threads[4];
	void *result;

	for (unsigned n = 0; n < 4; n++) {
		racers[n] = (struct racer){.t = t, .seed = n};
		assert_int_equal(pthread_create(&threads[n], NULL, race, &racers[n]), 0);
	}
	for (unsigned n = 0; n < 4; n++) {
		assert_int_equal(pthread_join(threads[n], &result), 0);
		assert_non_null(result);
	}
	assert_int_equal(inode_table_count(t), 0);
	(void)inode_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inodes_are_found_by_their_numbers),
		cmocka_unit_test(an_inode_lives_until_its_last_lookup_is_forgotten),
		cmocka_unit_test(a_reference_outlives_the_lookups),
		cmocka_unit_test(one_handle_is_one_inode),
		cmocka_unit_test(a_reused_handle_of_another_file_is_another_inode),
		cmocka_unit_test(a_retired_inode_is_found_no_more_but_lives),
		cmocka_unit_test(a_decoy_is_found_by_handle_and_user_alone),
		cmocka_unit_test(a_full_table_grows_and_finds_everything),
		cmocka_unit_test(threads_that_look_up_and_forget_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
