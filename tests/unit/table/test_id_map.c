/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Maps of ids, as the kernel prints them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "table/id_map.h"

static void a_map_may_have_340_lines_and_no_more(void **state)
{
	static char text[400 * 32];
	struct id_map m;
	size_t used = 0;

	for (unsigned n = 0; n < ID_EXTENTS; n++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%u %u 1\n", n, 1000 + n);
	assert_int_equal(id_map_parse(&m, text), 0);
	assert_int_equal(m.count, ID_EXTENTS);
	(void)snprintf(text + used, sizeof(text) - used, "%u %u 1\n", 400, 2000);
	assert_int_equal(id_map_parse(&m, text), -EINVAL);
	assert_int_equal(id_map_parse(&m, ""), -EINVAL);
	assert_int_equal(id_map_parse(&m, "0 0\n"), -EINVAL);
	assert_int_equal(id_map_parse(&m, "a b c\n"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_may_have_340_lines_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
