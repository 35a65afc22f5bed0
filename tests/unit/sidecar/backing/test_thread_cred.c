/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The credentials of a thread, as the kernel has them: /proc/thread-self/status. Needs root. */
#include <linux/capability.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "base/util.h"
#include "sidecar/backing/thread_cred.h"

#define BIT(cap)  (1ULL << (cap))
#define REGISTRAR (BIT(CAP_SYS_ADMIN) | BIT(CAP_SETUID) | BIT(CAP_SETGID))
#define DAC       (BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_DAC_OVERRIDE))

struct seen {
	unsigned fsuid, fsgid;
	char groups[64];
	uint64_t effective;
};

static void look(struct seen *ret)
{
	FILE *f = fopen("/proc/thread-self/status", "re");
	char line[256];

	*ret = (struct seen){.fsuid = UINT32_MAX};
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		unsigned long long caps;

		(void)sscanf(line, "Uid: %*u %*u %*u %u", &ret->fsuid);
		(void)sscanf(line, "Gid: %*u %*u %*u %u", &ret->fsgid);
		(void)sscanf(line, "Groups: %63[^\n]", ret->groups);
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			ret->effective = caps;
	}
	if (f != NULL)
		(void)fclose(f);
}

static const struct broker_cred root, alice = {.uid = 1001, .gid = 2001, .ngroups = 2, .groups = {2002, 2003}},
				      bob = {.uid = 1002, .gid = 2002}, alice_alone = {.uid = 1001, .gid = 2001};

static void check_identity(const struct seen *s, const struct broker_cred *c)
{
	assert_int_equal(s->fsuid, c->uid);
	assert_int_equal(s->fsgid, c->gid);
	assert_string_equal(s->groups, c->ngroups > 0 ? "2002 2003 " : "");
}

static void check_restored(void)
{
	struct seen s;

	thread_cred_restore();
	look(&s);
	assert_int_equal(s.fsuid, 0);
	assert_true((s.effective & (REGISTRAR | DAC)) == (REGISTRAR | DAC));
}

/* Each credential after each other, as an ordinary caller and as a registrar, more than once. */
static void try_all(void)
{
	static const struct broker_cred *const creds[] = {&root, &alice, &bob, &root, &alice_alone, &alice, &alice,
		&bob, &root, &root};
	struct seen s;

	for (size_t i = 0; i < 4 * ARRAY_SIZE(creds); i++) {
		const struct broker_cred *c = creds[i % ARRAY_SIZE(creds)];

		assert_int_equal(thread_cred_become(c), 0);
		look(&s);
		check_identity(&s, c);
		assert_true((s.effective & DAC) == (c->uid == 0 ? DAC : 0));
		check_restored();
		assert_int_equal(thread_cred_become_registrar(c), 0);
		look(&s);
		check_identity(&s, c);
		assert_true(s.effective == REGISTRAR);
		check_restored();
	}
}

static void *try_in_thread(void *unused)
{
	try_all();
	return unused;
}

/* With capabilities that the kernel does not drop when fsuid changes: CAP_SYS_RESOURCE among them. */
static void test_with_all_capabilities(void **state)
{
	(void)state;
	try_all();
}

static void test_with_the_kept_capabilities(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(thread_cred_confine(false), 0);
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0); /* the leak sanitizer looks at the process */
	assert_int_equal(pthread_create(&thread, NULL, try_in_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_refuses_what_is_no_credential(void **state)
{
	const struct broker_cred many = {.ngroups = BROKER_MAX_GROUPS + 1}, nobody = {.uid = UINT32_MAX, .gid = 1};

	(void)state;
	assert_true(thread_cred_become(&many) < 0);
	check_restored();
	assert_true(thread_cred_become(&nobody) < 0);
	check_restored();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_with_all_capabilities),
		cmocka_unit_test(test_refuses_what_is_no_credential),
		cmocka_unit_test(test_with_the_kept_capabilities),
	};
	char missing[512];

	if (thread_cred_check(missing, sizeof(missing)) < 0) {
		(void)printf("1..0 # skip: needs %s\n", missing);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
