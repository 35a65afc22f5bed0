/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include "base/list.h"
#include "base/util.h"

struct item {
	struct list node;
	int n;
};

static void a_list_keeps_its_order(void **state)
{
	struct list a, b;
	struct item items[4];
	int expected = 0;

	list_init(&a);
	list_init(&b);
	for (int i = 0; i < 4; i++) {
		items[i].n = i;
		list_append(i < 2 ? &a : &b, &items[i].node);
	}
	list_splice(&a, &b);
	assert_true(list_empty(&b));
	LIST_FOREACH (pos, &a) {
		assert_int_equal(CONTAINER_OF(pos, struct item, node)->n, expected);
		expected++;
		list_remove(pos);
	}
	assert_int_equal(expected, 4);
	assert_true(list_empty(&a));
	list_remove(&items[0].node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_keeps_its_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
