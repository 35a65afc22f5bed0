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

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		prepare(f);
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
	c = start_in(f, CLONE_NEWUSER, become_inner_root, NULL);
	write_maps(c.pid, "0 100000 10\n");
	assert_int_equal(write(f->go[1], ".", 1), 1);
	claims = look(f, &c);
	assert_true(allows(&claims, 100000, 100000, 100009));
	assert_false(allows(&claims, 100010, 100000, 100000));
	assert_false(allows(&claims, 0, 100000, 100000));
	assert_false(allows(&claims, 100000, 100000, 0));
	end(&c);
}

/* A program with the set-user-id bit: the socket stays open, and the process has all capabilities. */
static void a_program_that_gains_privileges_gains_no_claims(void **state)
{
	struct fixture *f = *state;
	char folder[] = "/var/tmp/test_claims.XXXXXX", program[64], command[160], comm[64] = "";
	struct client c;
	struct claims claims;

	NEEDS_ROOT(f);
	assert_non_null(mkdtemp(folder));
	(void)chmod(folder, 0755);
	(void)snprintf(program, sizeof(program), "%s/sleep", folder);
	(void)snprintf(command, sizeof(command), "cp /bin/sleep %s && chmod 4755 %s", program, program);
	assert_int_equal(system(command), 0);
	c = start(f, become_user, program);
	c.socket = accept(f->listener, NULL, NULL);
	for (int tries = 0; tries < MAX_WAIT && strcmp(comm, "sleep\n") != 0; tries++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)c.pid);
		(void)read_small_file(path, comm, sizeof(comm));
		(void)usleep(10000);
	}
	assert_string_equal(comm, "sleep\n");
	assert_int_equal(claims_of_peer(&claims, c.socket), 0);
	assert_true(allows(&claims, 1001, 2001, 3));
	assert_false(allows(&claims, 0, 2001, 3));
	assert_false(allows(&claims, 1002, 2001, 3));
	end(&c);
	(void)unlink(program);
	(void)rmdir(folder);
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
		cmocka_unit_test_setup_teardown(a_process_that_has_ended_claims_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
