/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* POSIX ACLs between extended attributes and NFSACL: valid ACLs, equal ACLs, and random bytes. */
#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/kernel/posix_acl.h"

#define ALL_IDS UINT32_MAX

/* The value of an extended attribute: entries of tag, permissions and id. */
struct value {
	size_t size;
	uint8_t bytes[POSIX_ACL_XATTR_SIZE(NFS_ACL_MAX + 1)];
};

static void add(struct value *v, uint32_t tag, uint32_t perm, uint32_t id)
{
	const uint8_t entry[8] = {(uint8_t)tag, (uint8_t)(tag >> 8), (uint8_t)perm, (uint8_t)(perm >> 8), (uint8_t)id,
		(uint8_t)(id >> 8), (uint8_t)(id >> 16), (uint8_t)(id >> 24)};

	if (v->size == 0) {
		memcpy(v->bytes, "\2\0\0", 4);
		v->size = 4;
	}
	memcpy(v->bytes + v->size, entry, sizeof(entry));
	v->size += sizeof(entry);
}

static void add_mode(struct value *v, uint32_t user, uint32_t group, uint32_t other)
{
	add(v, POSIX_ACL_USER_OBJ, user, ALL_IDS);
	add(v, POSIX_ACL_GROUP_OBJ, group, ALL_IDS);
	add(v, POSIX_ACL_OTHER, other, ALL_IDS);
}

/* Through NFSACL and back, with the entries in any order; the result is the same value. */
static void assert_survives(const struct value *v, uint32_t flag, uint32_t expected_count)
{
	static struct posix_acl acl, back;
	static struct nfs_ace entries[NFS_ACL_MAX + 1];
	struct value again = {0};
	uint32_t count;

	assert_int_equal(posix_acl_from_xattr(v->bytes, v->size, &acl), 0);
	count = posix_acl_to_nfs(&acl, 1001, 2001, flag, entries);
	assert_int_equal(count, expected_count);
	for (uint32_t n = 0; n < count; n++) {
		struct nfs_ace e = entries[n];
		uint32_t other = (uint32_t)rand() % count;

		assert_int_equal(e.tag & NFS_ACE_DEFAULT, flag);
		entries[n] = entries[other];
		entries[other] = e;
	}
	assert_int_equal(posix_acl_from_nfs(entries, count, &back), 0);
	assert_int_equal(POSIX_ACL_XATTR_SIZE(back.count), v->size);
	posix_acl_to_xattr(&back, again.bytes);
	assert_memory_equal(again.bytes, v->bytes, v->size);
}

static void an_acl_survives_the_way_to_a_server_and_back(void **state)
{
	struct value v = {0};

	add(&v, POSIX_ACL_USER_OBJ, 7, ALL_IDS);
	add(&v, POSIX_ACL_USER, 4, 5);
	add(&v, POSIX_ACL_USER, 6, 4000000000U);
	add(&v, POSIX_ACL_GROUP_OBJ, 5, ALL_IDS);
	add(&v, POSIX_ACL_GROUP, 0, 0);
	add(&v, POSIX_ACL_MASK, 5, ALL_IDS);
	add(&v, POSIX_ACL_OTHER, 1, ALL_IDS);
	assert_survives(&v, 0, 7);
	assert_survives(&v, NFS_ACE_DEFAULT, 7);
}

static void random_acls_survive(void **state)
{
	const char *seed = getenv("LOCALIOFS_SEED");
	unsigned random = seed ? (unsigned)strtoul(seed, NULL, 10) : 1;

	(void)printf("# LOCALIOFS_SEED=%u\n", random);
	srand(random);
	for (int n = 0; n < 2000; n++) {
		uint32_t users = (uint32_t)rand() % 20, groups = (uint32_t)rand() % 20;
		struct value v = {0};

		add(&v, POSIX_ACL_USER_OBJ, (uint32_t)rand() % 8, ALL_IDS);
		for (uint32_t id = 0; id < users; id++)
			add(&v, POSIX_ACL_USER, (uint32_t)rand() % 8, id * 77);
		add(&v, POSIX_ACL_GROUP_OBJ, 1 + (uint32_t)rand() % 7, ALL_IDS);
		for (uint32_t id = 0; id < groups; id++)
			add(&v, POSIX_ACL_GROUP, (uint32_t)rand() % 8, id * 77);
		add(&v, POSIX_ACL_MASK, 0, ALL_IDS);
		add(&v, POSIX_ACL_OTHER, (uint32_t)rand() % 8, ALL_IDS);
		assert_survives(&v, rand() % 2 ? NFS_ACE_DEFAULT : 0, 4 + users + groups);
	}
}

static void what_a_mode_says_has_a_mask_at_the_server_only(void **state)
{
	struct value v = {0}, masked = {0};
	struct nfs_ace entries[4];
	struct posix_acl acl;

	add_mode(&v, 7, 5, 1);
	assert_survives(&v, 0, 4);
	posix_acl_from_mode(0100751, &acl);
	assert_int_equal(posix_acl_to_nfs(&acl, 1001, 2001, 0, entries), 4);
	assert_memory_equal(&entries[0], (&(struct nfs_ace){.tag = 1, .id = 1001, .perm = 7}), sizeof(*entries));
	assert_memory_equal(&entries[1], (&(struct nfs_ace){.tag = 4, .id = 2001, .perm = 5}), sizeof(*entries));
	assert_memory_equal(&entries[2], (&(struct nfs_ace){.tag = 0x10, .perm = 5}), sizeof(*entries));
	assert_memory_equal(&entries[3], (&(struct nfs_ace){.tag = 0x20, .perm = 1}), sizeof(*entries));
	/* A mask that limits permissions stays; a mask equal to the group's is lost, as with the kernel's client. */
	add(&masked, POSIX_ACL_USER_OBJ, 7, ALL_IDS);
	add(&masked, POSIX_ACL_GROUP_OBJ, 5, ALL_IDS);
	add(&masked, POSIX_ACL_MASK, 4, ALL_IDS);
	add(&masked, POSIX_ACL_OTHER, 1, ALL_IDS);
	assert_survives(&masked, 0, 4);
	entries[2].perm = 4;
	assert_int_equal(posix_acl_from_nfs(entries, 4, &acl), 0);
	assert_int_equal(acl.count, 4);
	entries[2].perm = 5;
	assert_int_equal(posix_acl_from_nfs(entries, 4, &acl), 0);
	assert_int_equal(acl.count, POSIX_ACL_MODE_ENTRIES);
}

static int take(const struct value *v)
{
	static struct posix_acl acl;

	return posix_acl_from_xattr(v->bytes, v->size, &acl);
}

static void what_is_no_acl_is_refused(void **state)
{
	struct value v = {0};

	assert_int_equal(take(&v), 0); /* an empty value removes the ACL */
	add_mode(&v, 7, 5, 1);
	assert_int_equal(take(&v), 0);
	v.size = 4;
	assert_int_equal(take(&v), 0);
	for (v.size = 1; v.size < 28; v.size++)
		assert_int_equal(take(&v),
			v.size == 4 ? 0 : -EINVAL); /* truncated, or without one of the three entries */
	v.bytes[0] = 3;
	assert_int_equal(take(&v), -EOPNOTSUPP);

	v.size = 0;
	add_mode(&v, 7, 5, 8); /* no such permission */
	assert_int_equal(take(&v), -EINVAL);
	v.size = 0;
	add_mode(&v, 7, 5, 1);
	add(&v, POSIX_ACL_OTHER, 1, ALL_IDS); /* twice */
	assert_int_equal(take(&v), -EINVAL);
	v.size = 0;
	add_mode(&v, 7, 5, 1);
	add(&v, 0x40, 1, ALL_IDS); /* no such tag */
	assert_int_equal(take(&v), -EINVAL);
	v.size = 0;
	add(&v, POSIX_ACL_USER, 4, 5); /* not in order */
	add_mode(&v, 7, 5, 1);
	assert_int_equal(take(&v), -EINVAL);
	v.size = 0;
	add(&v, POSIX_ACL_USER_OBJ, 7, ALL_IDS);
	add(&v, POSIX_ACL_USER, 7, ALL_IDS); /* a named user without an id */
	add(&v, POSIX_ACL_GROUP_OBJ, 7, ALL_IDS);
	add(&v, POSIX_ACL_MASK, 7, ALL_IDS);
	add(&v, POSIX_ACL_OTHER, 7, ALL_IDS);
	assert_int_equal(take(&v), -EINVAL);
	v.bytes[4 + 8 + 4] = 0;
	assert_int_equal(take(&v), 0);
	memmove(v.bytes + 4 + 3 * 8, v.bytes + 4 + 4 * 8, 8); /* no mask */
	v.size -= 8;
	assert_int_equal(take(&v), -EINVAL);

	v.size = 0;
	add(&v, POSIX_ACL_USER_OBJ, 7, ALL_IDS);
	for (uint32_t id = 0; id < NFS_ACL_MAX - 4; id++)
		add(&v, POSIX_ACL_USER, 7, id);
	add(&v, POSIX_ACL_GROUP_OBJ, 7, ALL_IDS);
	add(&v, POSIX_ACL_MASK, 7, ALL_IDS);
	add(&v, POSIX_ACL_OTHER, 7, ALL_IDS);
	assert_int_equal(take(&v), 0);
	add(&v, POSIX_ACL_OTHER, 7, ALL_IDS);
	assert_int_equal(take(&v), -ENOSPC);
}

static void what_a_server_answers_is_checked(void **state)
{
	struct nfs_ace entries[5] = {{1, 0, 7}, {2, 5, 7}, {4, 0, 7}, {0x10, 0, 0xffff}, {0x20, 0, 7}};
	static struct posix_acl acl;

	assert_int_equal(posix_acl_from_nfs(entries, 0, &acl), 0);
	assert_int_equal(posix_acl_from_nfs(entries, 5, &acl), 0);
	assert_int_equal(acl.entries[3].perm, 7);
	assert_int_equal(posix_acl_from_nfs(entries, 4, &acl), -EIO);
	entries[1].perm = 8;
	assert_int_equal(posix_acl_from_nfs(entries, 5, &acl), -EIO);
	entries[1].perm = 7;
	entries[1].tag = 1; /* the owner twice */
	assert_int_equal(posix_acl_from_nfs(entries, 5, &acl), -EIO);
	entries[1].tag = 3;
	assert_int_equal(posix_acl_from_nfs(entries, 5, &acl), -EIO);
	assert_int_equal(posix_acl_from_nfs(NULL, NFS_ACL_MAX + 1, &acl), -EIO);
}

/* Every value that is accepted as an ACL can be written again, with the same result. */
static void garbage_harms_nobody(void **state)
{
	static struct posix_acl acl, again;
	static struct nfs_ace entries[NFS_ACL_MAX + 1];
	static const uint32_t tags[] = {1, 2, 4, 8, 0x10, 0x20, 0x40, 0, 0x1001, UINT32_MAX};
	unsigned taken = 0;

	for (int n = 0; n < 200000; n++) {
		struct value v = {0};
		uint32_t count = (uint32_t)rand() % 7, nfs_count;
		size_t tag = 0;

		/* Mostly in order, so that some are ACLs. */
		for (uint32_t e = 0; e < count; e++, tag = tag + (rand() % 8 > 0))
			add(&v, tags[rand() % 16 ? tag : (size_t)rand() % 10], (uint32_t)rand() % (rand() % 4 ? 8 : 9),
				(uint32_t)rand() % 3 - (rand() % 8 == 0));
		for (uint32_t e = 0; e < count; e++)
			entries[e] =
				(struct nfs_ace){tags[(size_t)rand() % 10], (uint32_t)rand() % 3, (uint32_t)rand() % 9};
		(void)posix_acl_from_nfs(entries, count, &acl);
		if (v.size > 0 && rand() % 8 == 0)
			v.size -= (size_t)rand() % v.size;
		if (posix_acl_from_xattr(v.bytes, v.size, &acl) < 0 || acl.count == 0)
			continue;
		taken++;
		nfs_count = posix_acl_to_nfs(&acl, 1, 2, 0, entries);
		assert_int_equal(posix_acl_from_nfs(entries, nfs_count, &again), 0);
		assert_true(again.count == acl.count || (again.count == 3 && acl.count == 4));
	}
	assert_true(taken > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_acl_survives_the_way_to_a_server_and_back),
		cmocka_unit_test(random_acls_survive),
		cmocka_unit_test(what_a_mode_says_has_a_mask_at_the_server_only),
		cmocka_unit_test(what_is_no_acl_is_refused),
		cmocka_unit_test(what_a_server_answers_is_checked),
		cmocka_unit_test(garbage_harms_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
