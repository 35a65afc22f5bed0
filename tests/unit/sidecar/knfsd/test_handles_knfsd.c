/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>

#include "handle/handle_knfsd.h"
#include "sidecar/knfsd/knfsd.h"
#include "base/util.h"

#define UUID 0x5a, 0x2d, 0xfa, 0xed, 0xbe, 0x42, 0x5d, 0x8e, 0x90, 0x52, 0xf9, 0xb5, 0x97, 0xc5, 0xd2, 0x01

/* Seen on the wire from Linux 7.2 on ext4; tests/integration/test-knfsd-handles asks a real server anew. */
static const uint8_t whole_root[] = {1, 0, 6, 0, UUID};
static const uint8_t whole_file[] = {1, 0, 6, 1, UUID, 0x0c, 0, 0, 0, 0xd3, 0x68, 0x1f, 0xb6};
static const uint8_t sub_root[] = {1, 0, 7, 0, 0x0d, 0, 0, 0, 0, 0, 0, 0, UUID};
static const uint8_t numbered_root[] = {1, 0, 1, 0, 0x2a, 0, 0, 0};
static const uint8_t connectable[] = {1, 0, 1, 2, 0x2a, 0, 0, 0, 0x0c, 0, 0, 0, 0xd3, 0x68, 0x1f, 0xb6, 2, 0, 0, 0, 0,
	0, 0, 0};

static const struct filesystem_id ext4_root = {.inode = 2,
	.dev_major = 7,
	.dev_minor = 3,
	.type = EXT4_SUPER_MAGIC,
	.fsid = {0x01020304, 0x05060708},
	.has_uuid = true,
	.uuid = {UUID},
	.mount_root = true};

static enum reason decode(const uint8_t *bytes, size_t n, struct nfs_handle *h)
{
	struct broker_fh fh = {.length = (uint32_t)n};

	memcpy(fh.data, bytes, n);
	return handle_knfsd_decode(&fh, h);
}

static void real_handles_are_understood(void **state)
{
	struct nfs_handle h;

	assert_int_equal(decode(whole_root, sizeof(whole_root), &h), REASON_NONE);
	assert_true(h.is_root);
	assert_int_equal(h.fsid_length, 16);
	assert_int_equal(decode(whole_file, sizeof(whole_file), &h), REASON_NONE);
	assert_false(h.is_root);
	assert_int_equal(h.kernel_type, 1);
	assert_int_equal(h.kernel_length, 8);
	assert_memory_equal(h.kernel, whole_file + 20, 8);
	assert_int_equal(decode(sub_root, sizeof(sub_root), &h), REASON_NONE);
	assert_int_equal(h.fsid_length, 24);
	assert_int_equal(decode(numbered_root, sizeof(numbered_root), &h), REASON_NONE);
	assert_int_equal(h.fsid_length, 4);
}

static void a_handle_that_names_its_directory_gets_no_grant(void **state)
{
	struct nfs_handle h;

	assert_int_equal(decode(connectable, sizeof(connectable), &h), REASON_SUBTREE_CHECK);
}

static void what_knfsd_does_not_make_is_refused(void **state)
{
	uint8_t bytes[BROKER_MAX_FH] = {0};
	struct nfs_handle h;

	memcpy(bytes, whole_file, sizeof(whole_file));
	for (size_t n = 0; n < sizeof(bytes); n++)
		if (n < 24 || n % 4 != 0 || n > 20 + NFS_HANDLE_MAX_KERNEL)
			assert_int_equal(decode(bytes, n, &h), REASON_BAD_HANDLE);
	memcpy(bytes, whole_root, sizeof(whole_root));
	assert_int_equal(decode(bytes, sizeof(whole_root) + 4, &h), REASON_BAD_HANDLE); /* behind a root */
	for (size_t i = 0; i < 3; i++) {
		memcpy(bytes, whole_file, sizeof(whole_file));
		bytes[i] = i == 2 ? 8 : 0x43; /* version, auth type, fsid type */
		assert_int_equal(decode(bytes, sizeof(whole_file), &h), REASON_BAD_HANDLE);
	}
}

/* ---- match_fsid() ---- */

static bool owned(const void *fsid, enum knfsd_fsid type, uint32_t length, const struct export_client *c,
	const struct filesystem_id *id)
{
	static const struct export_client plain;
	struct nfs_handle h = {.fsid_type = (uint8_t)type, .fsid_length = length, .is_root = true};
	struct export_client client = c != NULL ? *c : plain;
	struct export_entry e = {.clients = &client, .nclients = 1};

	memcpy(h.fsid, fsid, length);
	return server_knfsd.names(&e, &h) && server_knfsd.owns(NULL, &client, id, &h);
}

static void each_kind_of_fsid_finds_its_export(void **state)
{
	static const uint8_t dev[] = {0, 7, 0, 3, 2, 0, 0, 0};
	static const uint8_t major_minor[] = {0, 0, 0, 7, 0, 0, 0, 3, 2, 0, 0, 0};
	static const uint8_t encode_dev[] = {3, 7, 0, 0, 2, 0, 0, 0};
	static const uint8_t uuid16[] = {UUID}, uuid16_inum[] = {2, 0, 0, 0, 0, 0, 0, 0, UUID};
	static const uint8_t uuid8[] = {0x5a ^ 0x90, 0x2d ^ 0x52, 0xfa ^ 0xf9, 0xed ^ 0xb5, 0xbe ^ 0x97, 0x42 ^ 0xc5,
		0x5d ^ 0xd2, 0x8e ^ 0x01};
	const uint8_t uuid4[] = {2, 0, 0, 0, uuid8[0] ^ uuid8[4], uuid8[1] ^ uuid8[5], uuid8[2] ^ uuid8[6],
		uuid8[3] ^ uuid8[7]};
	const struct {
		const uint8_t *fsid;
		enum knfsd_fsid type;
		uint32_t length;
		bool has_inode, needs_mount;
	} cases[] = {
		{dev, KNFSD_FSID_DEV, sizeof(dev), true, false},
		{major_minor, KNFSD_FSID_MAJOR_MINOR, sizeof(major_minor), true, false},
		{encode_dev, KNFSD_FSID_ENCODE_DEV, sizeof(encode_dev), true, false},
		{uuid4, KNFSD_FSID_UUID4_INUM, sizeof(uuid4), true, false},
		{uuid8, KNFSD_FSID_UUID8, sizeof(uuid8), false, true},
		{uuid16, KNFSD_FSID_UUID16, sizeof(uuid16), false, true},
		{uuid16_inum, KNFSD_FSID_UUID16_INUM, sizeof(uuid16_inum), true, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filesystem_id id = ext4_root;
		uint8_t wrong[NFS_HANDLE_MAX_FSID];

		assert_true(owned(cases[i].fsid, cases[i].type, cases[i].length, NULL, &id));
		for (uint32_t byte = 0; byte < cases[i].length; byte++) {
			memcpy(wrong, cases[i].fsid, cases[i].length);
			wrong[byte] ^= 0x10;
			assert_false(owned(wrong, cases[i].type, cases[i].length, NULL, &id));
		}
		id.mount_root = false;
		assert_int_equal(owned(cases[i].fsid, cases[i].type, cases[i].length, NULL, &id),
			!cases[i].needs_mount);
		id = ext4_root;
		id.inode = 12;
		assert_int_equal(owned(cases[i].fsid, cases[i].type, cases[i].length, NULL, &id), !cases[i].has_inode);
	}
}

static void fsid_options_name_the_export(void **state)
{
	static const uint8_t number[] = {0x2a, 0, 0, 0}, uuid[] = {UUID};
	static const uint8_t given[] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x12, 0x34, 0x56, 0x78, 0x9a,
		0xbc, 0xde, 0xf0};
	struct export_client numbered = {.fsid = {.kind = EXPORT_FSID_NUMBER, .number = 42}};
	struct export_client named = {
		.fsid = {.kind = EXPORT_FSID_UUID, .uuid = "12345678-9ABC-def0:12345678-9abcdef0"}};

	assert_true(owned(number, KNFSD_FSID_NUM, 4, &numbered, &ext4_root));
	assert_false(owned(number, KNFSD_FSID_NUM, 4, NULL, &ext4_root));
	numbered.fsid.number = 43;
	assert_false(owned(number, KNFSD_FSID_NUM, 4, &numbered, &ext4_root));
	assert_true(owned(given, KNFSD_FSID_UUID16, 16, &named, &ext4_root));
	assert_false(owned(uuid, KNFSD_FSID_UUID16, 16, &named, &ext4_root));
}

/* btrfs has one UUID for all its subvolumes: statfs tells them apart. */
static void statfs_is_the_uuid_where_there_is_no_other(void **state)
{
	static const uint8_t from_statfs[] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0}, uuid[] = {UUID};
	struct filesystem_id id = ext4_root;

	assert_true(owned(from_statfs, KNFSD_FSID_UUID16, 16, NULL, &id));
	id.type = BTRFS_SUPER_MAGIC;
	assert_true(owned(from_statfs, KNFSD_FSID_UUID16, 16, NULL, &id));
	assert_false(owned(uuid, KNFSD_FSID_UUID16, 16, NULL, &id));
	id.fsid[0] = id.fsid[1] = 0;
	assert_false(owned((uint8_t[16]){0}, KNFSD_FSID_UUID16, 16, NULL, &id));
}

static void a_handle_is_made_as_the_server_makes_it(void **state)
{
	struct broker_fh fh = {.length = sizeof(whole_file)}, made;
	struct nfs_handle h;

	memcpy(fh.data, whole_file, sizeof(whole_file));
	assert_int_equal(handle_knfsd_decode(&fh, &h), REASON_NONE);
	assert_int_equal(handle_knfsd_encode(&h, &made), 0);
	assert_int_equal(made.length, fh.length);
	assert_memory_equal(made.data, fh.data, sizeof(fh.data));
	h.kernel_length = 9; /* no whole words */
	assert_int_equal(handle_knfsd_encode(&h, &made), -EOVERFLOW);
	h.kernel_length = 8;
	h.kernel_type = 256; /* more than a byte */
	assert_int_equal(handle_knfsd_encode(&h, &made), -EOVERFLOW);
}

static void random_handles_do_no_harm(void **state)
{
	srandom(1);
	for (int i = 0; i < 300000; i++) {
		struct broker_fh fh = {.length = sizeof(whole_file)};
		struct nfs_handle h;

		memcpy(fh.data, whole_file, sizeof(whole_file));
		if (random() % 4 == 0)
			fh.length = (uint32_t)(random() % 200);
		for (int j = random() % 4; j >= 0; j--)
			fh.data[random() % 48] = (uint8_t)random();
		if (handle_knfsd_decode(&fh, &h) == REASON_NONE) {
			assert_true(h.kernel_length <= sizeof(h.kernel));
			assert_true(h.fsid_length <= sizeof(h.fsid));
			assert_int_equal(h.is_root, h.kernel_length == 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_handles_are_understood),
		cmocka_unit_test(a_handle_that_names_its_directory_gets_no_grant),
		cmocka_unit_test(what_knfsd_does_not_make_is_refused),
		cmocka_unit_test(each_kind_of_fsid_finds_its_export),
		cmocka_unit_test(fsid_options_name_the_export),
		cmocka_unit_test(statfs_is_the_uuid_where_there_is_no_other),
		cmocka_unit_test(a_handle_is_made_as_the_server_makes_it),
		cmocka_unit_test(random_handles_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
