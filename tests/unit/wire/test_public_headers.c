/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include "localiofs/reason.h"

static void every_reason_has_a_code_of_its_own(void **state)
{
#define X(name, number, code, text) assert_string_equal(reason_code(REASON_##name), code);
	REASON_TABLE(X)
#undef X
	assert_string_equal(reason_code(12345), "unknown");
	assert_string_equal(reason_code(REASON_OFF), "off");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_a_code_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
