/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include "fuse/fs/file.h"

static struct fuse_file_info info_of(const struct file *f)
{
	return (struct fuse_file_info){.fh = f->opened.number};
}

static void an_open_file_is_found_by_its_number(void **state)
{
	struct fs fs = {.spec = ""};
	struct fuse_file_info first_info, second_info;
	struct file *first, *second;

	assert_int_equal(slots_init(&fs.opened), 0);
	first = file_new(&fs);
	second = file_new(&fs);
	first_info = info_of(first);
	second_info = info_of(second);
	assert_int_not_equal(first_info.fh, 0); /* a handle of 0 is what the kernel sends without one */
	assert_int_not_equal(first_info.fh, second_info.fh);
	assert_ptr_equal(file_of(&fs, &first_info), first);
	assert_ptr_equal(file_of(&fs, &second_info), second);
	file_free(&fs, first);
	assert_ptr_equal(file_of(&fs, &second_info), second);
	file_free(&fs, second);
	slots_done(&fs.opened);
}

static void a_closed_file_gives_its_number_back(void **state)
{
	struct fs fs = {.spec = ""};

	assert_int_equal(slots_init(&fs.opened), 0);
	for (unsigned n = 0; n < 10; n++) {
		struct file *f = file_new(&fs);
		uint64_t number = f->opened.number;

		assert_int_equal(number, 1);
		file_free(&fs, f);
		assert_null(slots_get(&fs.opened, number));
	}
	file_free(&fs, NULL);
	slots_done(&fs.opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_file_is_found_by_its_number),
		cmocka_unit_test(a_closed_file_gives_its_number_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
