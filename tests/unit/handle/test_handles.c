/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "handle/handle_ganesha.h"
#include "base/util.h"

/* Seen on the wire from NFS-Ganesha 4.3 on ext4, export 78: the export's root and a file. */
static const uint8_t real_root[] = {0x43, 0x00, 0x00, 0x4e, 0x1a, 0x43, 0x2c, 0x5a, 0x2d, 0xfa, 0xed, 0xbe, 0x42, 0x5d,
	0x8e, 0x90, 0x52, 0xf9, 0xb5, 0x97, 0xc5, 0xd2, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
static const uint8_t real_file[] = {0x43, 0x00, 0x00, 0x4e, 0x1a, 0x43, 0x2c, 0x5a, 0x2d, 0xfa, 0xed, 0xbe, 0x42, 0x5d,
	0x8e, 0x90, 0x52, 0xf9, 0xb5, 0x97, 0xc5, 0xd2, 0x01, 0x0c, 0x00, 0x00, 0x00, 0xd3, 0x68, 0x1f, 0xb6, 0x00};

static struct broker_fh fh_of(const uint8_t *bytes, size_t n)
{
	struct broker_fh fh = {.length = (uint32_t)n};

	memcpy(fh.data, bytes, n);
	return fh;
}

static enum reason decode(const uint8_t *bytes, size_t n)
{
	struct broker_fh fh = fh_of(bytes, n);
	struct nfs_handle h;

	return handle_ganesha_decode(&fh, &h);
}

static void real_handles_are_understood(void **state)
{
	static const uint8_t generation[] = {0x0c, 0, 0, 0, 0xd3, 0x68, 0x1f, 0xb6};
	struct broker_fh fh = fh_of(real_file, sizeof(real_file));
	struct nfs_handle h;

	assert_int_equal(handle_ganesha_decode(&fh, &h), REASON_NONE);
	assert_int_equal(h.export_id, 78);
	assert_int_equal(h.fsid_type, GANESHA_FSID_UUID);
	assert_memory_equal(h.fsid, real_file + 6, 16);
	assert_int_equal(h.kernel_type, 1);
	assert_int_equal(h.kernel_length, 8);
	assert_memory_equal(h.kernel, generation, 8);
	assert_int_equal(decode(real_root, sizeof(real_root)), 0);
	assert_int_equal(decode(real_root, sizeof(real_root) - 1), 0); /* NFSv4: not padded */
}

static void lengths_must_be_exact(void **state)
{
	uint8_t bytes[BROKER_MAX_FH] = {0};

	memcpy(bytes, real_file, sizeof(real_file));
	for (size_t n = 0; n < sizeof(bytes); n++)
		if (n != sizeof(real_file) && n != sizeof(real_file) - 1)
			assert_int_equal(decode(bytes, n), REASON_BAD_HANDLE);
	bytes[sizeof(real_file) - 1] = 1; /* the padding */
	assert_int_equal(decode(bytes, sizeof(real_file)), REASON_BAD_HANDLE);
}

static void the_pseudo_root_and_others_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		enum reason expected;
	} changes[] = {
		{0, 0x41, REASON_BAD_HANDLE},     /* another version */
		{0, 0x01, REASON_BAD_HANDLE},     /* knfsd's */
		{1, 0x01, REASON_BAD_HANDLE},     /* a data server's */
		{1, 0x40, REASON_BAD_HANDLE},     /* the other byte order */
		{3, 0x00, REASON_BAD_HANDLE},     /* export 0 */
		{5, 0x63, REASON_BAD_HANDLE},     /* dummy */
		{5, 0x03, REASON_BAD_HANDLE},     /* no handle type */
		{5, 0x40, REASON_EXPORT_OPTIONS}, /* no fsid */
		{5, 0x41, REASON_EXPORT_OPTIONS}, /* one u64 */
		{5, 0x46, REASON_EXPORT_OPTIONS}, /* unknown */
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		uint8_t bytes[sizeof(real_file)];

		memcpy(bytes, real_file, sizeof(bytes));
		bytes[changes[i].at] = changes[i].value;
		assert_int_equal(decode(bytes, sizeof(bytes)), changes[i].expected);
	}
}

static void a_handle_is_made_as_the_server_makes_it(void **state)
{
	struct broker_fh fh = fh_of(real_file, sizeof(real_file)), made;
	struct nfs_handle h;

	assert_int_equal(handle_ganesha_decode(&fh, &h), REASON_NONE);
	assert_int_equal(handle_ganesha_encode(&h, &made), 0);
	assert_int_equal(made.length, fh.length);
	assert_memory_equal(made.data, fh.data, sizeof(fh.data));
	h.kernel_length = NFS_HANDLE_MAX_KERNEL; /* Ganesha has no room for it */
	assert_int_equal(handle_ganesha_encode(&h, &made), -EOVERFLOW);
}

static void random_handles_do_no_harm(void **state)
{
	srandom(1);
	for (int i = 0; i < 300000; i++) {
		struct broker_fh fh = fh_of(real_file, sizeof(real_file));
		struct nfs_handle h;

		if (random() % 4 == 0)
			fh.length = (uint32_t)(random() % 200);
		for (int j = random() % 4; j >= 0; j--)
			fh.data[random() % 48] = (uint8_t)random();
		if (handle_ganesha_decode(&fh, &h) == REASON_NONE) {
			struct nfs_handle again;
			struct broker_fh made;

			assert_int_equal(handle_ganesha_encode(&h, &made), 0);
			assert_int_equal(handle_ganesha_decode(&made, &again), REASON_NONE);
			assert_memory_equal(&again, &h, sizeof(h));
			assert_true(h.kernel_length <= NFS_HANDLE_MAX_KERNEL);
			assert_int_not_equal(h.export_id, 0);
			assert_true(h.fsid_length <= sizeof(h.fsid));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_handles_are_understood),
		cmocka_unit_test(lengths_must_be_exact),
		cmocka_unit_test(the_pseudo_root_and_others_are_refused),
		cmocka_unit_test(a_handle_is_made_as_the_server_makes_it),
		cmocka_unit_test(random_handles_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
