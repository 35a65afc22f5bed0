/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ids that clients may claim: processes with credentials and user namespaces of their own connect to the test. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/whole_io.h"
#include "sidecar/registry/claims.h"

#define MAX_WAIT 1000 /* times 10 ms */

struct fixture {
	int listener;
	struct sockaddr_un address;
	int go[2]; /* a byte lets the child go on after the maps are written */
};

struct client {
	pid_t pid;
	int socket; /* the sidecar's end */
};

typedef void (*prepare_fn)(const struct fixture *f);

static int set_up(void **state)
{
	const struct timeval patience = {.tv_sec = 20};
	static struct fixture f;

	if (geteuid() != 0) {
		*state = NULL;
		return 0;
	}
	f = (struct fixture){.address = {.sun_family = AF_UNIX}};
	f.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	(void)snprintf(f.address.sun_path + 1, sizeof(f.address.sun_path) - 1, "localiofs-claims-%d", (int)getpid());
	*state = &f;
	(void)setsockopt(f.listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)); /* of accept(2) */
	return bind(f.listener, (struct sockaddr *)&f.address, sizeof(f.address)) < 0 || listen(f.listener, 1) < 0 ||
	       pipe(f.go) < 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f) {
		(void)close(f->listener);
		(void)close(f->go[0]);
		(void)close(f->go[1]);
	}
	return 0;
}

/*
 * Starts a process that connects, and then runs the program, or waits for ever. flags: CLONE_NEWUSER, or 0.
 * ThreadSanitizer gives a child of fork(3) a second thread, with which no process can enter a user namespace; and the C
 * library would change the credential of threads that the child does not have. So these are system calls.
 */
static struct client start_in(const struct fixture *f, unsigned long flags, prepare_fn prepare, const char *program)
{
	struct client c = {.pid = (pid_t)syscall(SYS_clone, SIGCHLD | flags, NULL, NULL, NULL, NULL)};

	if (c.pid == 0) {
		int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		prepare(f);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* setresuid(2) would take it back */
		if (connect(s, (const struct sockaddr *)&f->address, sizeof(f->address)) < 0)
			_exit(1);
		if (program)
			(void)execl(program, "sleep", "100", NULL);
		for (;;)
			(void)pause();
	}
	c.socket = -1;
	return c;
}

static struct client start(const struct fixture *f, prepare_fn prepare, const char *program)
{
	return start_in(f, 0, prepare, program);
}

static bool become(uid_t uid, gid_t gid, size_t ngroups, const gid_t *groups)
{
	return syscall(SYS_setgroups, ngroups, groups) == 0 && syscall(SYS_setresgid, gid, gid, gid) == 0 &&
	       syscall(SYS_setresuid, uid, uid, uid) == 0;
}

static struct claims look(const struct fixture *f, struct client *c)
{
	struct claims claims;

	c->socket = accept(f->listener, NULL, NULL);
	assert_true(c->socket >= 0);
	assert_int_equal(claims_of_peer(&claims, c->socket), 0);
	return claims;
}

static void end(struct client *c)
{
	(void)kill(c->pid, SIGKILL);
	(void)waitpid(c->pid, NULL, 0);
	(void)close(c->socket);
}

static void wait_for_sleep(const struct client *c)
{
	char path[64], comm[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)c->pid);
	for (int tries = 0; tries < MAX_WAIT && strcmp(comm, "sleep\n") != 0; tries++) {
		(void)read_small_file(path, comm, sizeof(comm));
		(void)usleep(10000);
	}
	assert_string_equal(comm, "sleep\n");
}

static bool allows(const struct claims *c, uint32_t uid, uint32_t gid, uint32_t group)
{
	struct broker_cred cred = {.uid = uid, .gid = gid, .ngroups = 1};

	cred.groups[0] = group;
	return claims_allow(c, &cred);
}

static void become_user(const struct fixture *f)
{
	const gid_t groups[] = {2001, 3};

	if (!become(1001, 2001, 2, groups))
		_exit(1);
}

static void stay_root(const struct fixture *f)
{
}

static void drop_capabilities(const struct fixture *f)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	if (!become(0, 0, 0, NULL) || syscall(SYS_capset, &header, none) < 0)
		_exit(1);
}

/* Root of a user namespace, after the test has written its maps. */
static void become_inner_root(const struct fixture *f)
{
	char byte;

	if (read(f->go[0], &byte, 1) != 1 || !become(0, 0, 0, NULL))
		_exit(1);
}

static void write_maps(pid_t pid, const char *map)
{
	static const char *const kinds[] = {"uid_map", "gid_map"};

	for (int n = 0; n < 2; n++) {
		char path[64];
		int fd;

		(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, kinds[n]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		assert_int_equal(write_all(fd, map, strlen(map)), 0);
		(void)close(fd);
	}
}

#define NEEDS_ROOT(f)   \
	if (!(f)) {     \
		skip(); \
		return; \
	}

static void a_user_may_claim_its_own_ids(void **state)
{
	struct fixture *f = *state;
	struct client c;
	struct claims claims;

	NEEDS_ROOT(f);
	c = start(f, become_user, NULL);
	claims = look(f, &c);
	assert_true(allows(&claims, 1001, 2001, 3));
	assert_true(allows(&claims, 1001, 3, 2001));
	assert_false(allows(&claims, 1001, 2001, 4));
	assert_false(allows(&claims, 1001, 4, 3));
	assert_false(allows(&claims, 1002, 2001, 3));
	assert_false(allows(&claims, 0, 2001, 3));
	end(&c);
}

static void root_may_claim_all_ids(void **state)
{
	struct fixture *f = *state;
	struct client c;
	struct claims claims;

	NEEDS_ROOT(f);
	c = start(f, stay_root, NULL);
	claims = look(f, &c);
	assert_true(allows(&claims, 1001, 2001, 3));
	assert_true(allows(&claims, 0, 0, 4294967294));
	end(&c);
}

static void root_without_capabilities_may_claim_its_own_ids(void **state)
{
	struct fixture *f = *state;
	struct client c;
	struct claims claims;

	NEEDS_ROOT(f);
	c = start(f, drop_capabilities, NULL);
	claims = look(f, &c);
	assert_true(allows(&claims, 0, 0, 0));
	assert_false(allows(&claims, 1001, 0, 0));
	end(&c);
}

static void root_of_a_namespace_may_claim_its_mapped_ids(void **state)
{
	struct fixture *f = *state;
	struct client c;
	struct claims claims;

	NEEDS_ROOT(f);
	/* The program makes the process's files in /proc its own again: the kernel took them at setresuid(2). */
	c = start_in(f, CLONE_NEWUSER, become_inner_root, "/bin/sleep");
	write_maps(c.pid, "0 100000 10\n");
	assert_int_equal(write(f->go[1], ".", 1), 1);
	wait_for_sleep(&c);
	claims = look(f, &c);
	assert_true(allows(&claims, 100000, 100000, 100009));
	assert_false(allows(&claims, 100010, 100000, 100000));
	assert_false(allows(&claims, 0, 100000, 100000));
	assert_false(allows(&claims, 100000, 100000, 0));
	end(&c);
}

/* Runs a copy of sleep(1), which this command prepares, after connect(2): the socket stays open. */
static struct claims look_at_program(const struct fixture *f, const char *prepare)
{
	char folder[] = "/var/tmp/test_claims.XXXXXX", program[64], command[256];
	struct client c;
	struct claims claims;

	assert_non_null(mkdtemp(folder));
	(void)chmod(folder, 0755);
	(void)snprintf(program, sizeof(program), "%s/sleep", folder);
	(void)snprintf(command, sizeof(command), "cp /bin/sleep %s && %s %s", program, prepare, program);
	assert_int_equal(system(command), 0);
	c = start(f, become_user, program);
	c.socket = accept(f->listener, NULL, NULL);
	wait_for_sleep(&c);
	assert_int_equal(claims_of_peer(&claims, c.socket), 0);
	end(&c);
	(void)unlink(program);
	(void)rmdir(folder);
	return claims;
}

static void a_program_that_gains_privileges_gains_no_claims(void **state)
{
	static const char *const programs[] = {"chmod 4755", "setcap cap_sys_admin,cap_setuid,cap_setgid=ep"};
	struct fixture *f = *state;

	NEEDS_ROOT(f);
	for (int n = 0; n < 2; n++) {
		struct claims claims = look_at_program(f, programs[n]);

		assert_true(allows(&claims, 1001, 2001, 3));
		assert_false(allows(&claims, 0, 2001, 3));
		assert_false(allows(&claims, 1002, 2001, 3));
	}
}

/* sudo(8), for example, takes the groups of another user before it asks for a password. */
static void groups_taken_after_connect_are_not_claimed(void **state)
{
	const gid_t others[] = {2002};
	struct fixture *f = *state;
	struct claims claims;
	struct client c;
	int s, pair[2];
	char byte;

	NEEDS_ROOT(f);
	assert_int_equal(pipe(pair), 0);
	c = (struct client){.pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)};
	if (c.pid == 0) {
		s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, 2001, 2001, 2001) < 0 ||
			syscall(SYS_setresuid, 1001, 1001, 0) < 0 ||
			connect(s, (const struct sockaddr *)&f->address, sizeof(f->address)) < 0 ||
			syscall(SYS_setresuid, 1001, 0, 0) < 0 || syscall(SYS_setgroups, 1, others) < 0 ||
			syscall(SYS_setresuid, 1001, 1001, 1001) < 0 || write(pair[1], ".", 1) != 1)
			_exit(1);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* setresuid(2) would take it back */
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(pair[0], &byte, 1), 1);
	claims = look(f, &c);
	assert_true(allows(&claims, 1001, 2001, 2001));
	assert_false(allows(&claims, 1001, 2001, 2002));
	end(&c);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void a_process_that_has_ended_claims_nothing(void **state)
{
	struct fixture *f = *state;
	struct claims claims;
	struct client c;

	NEEDS_ROOT(f);
	c = start(f, stay_root, NULL);
	c.socket = accept(f->listener, NULL, NULL);
	(void)kill(c.pid, SIGKILL);
	(void)waitpid(c.pid, NULL, 0);
	assert_true(claims_of_peer(&claims, c.socket) < 0);
	(void)close(c.socket);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_user_may_claim_its_own_ids, set_up, tear_down),
		cmocka_unit_test_setup_teardown(root_may_claim_all_ids, set_up, tear_down),
		cmocka_unit_test_setup_teardown(root_without_capabilities_may_claim_its_own_ids, set_up, tear_down),
		cmocka_unit_test_setup_teardown(root_of_a_namespace_may_claim_its_mapped_ids, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_program_that_gains_privileges_gains_no_claims, set_up, tear_down),
		cmocka_unit_test_setup_teardown(groups_taken_after_connect_are_not_claimed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_process_that_has_ended_claims_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
