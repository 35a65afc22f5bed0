/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Questions and changes that wait for the sidecar, by a clock that the test sets. The sidecar never answers by itself.
 * While one thread looks at them, another may begin one: that begins later than the first thread's reading of the
 * clock.
 */
#include "cmocka_setup.h"

#include <string.h>

#include "base/clock.h"
#include "fuse/shortcut/change.h"
#include "fuse/shortcut/shortcut.h"

#define BEGIN 100000 /* milliseconds */

static struct fs fs;
static struct mount_options options;
static struct shortcut *shortcut;
static struct server *server;
static uint64_t clock_ms;
static struct broker_call *asked; /* what the sidecar has got last, and not answered */
static unsigned answers, by_server;
static int last_error;

uint64_t now_ms(void)
{
	return clock_ms;
}

uint64_t now_ns(void)
{
	return clock_ms * 1000000;
}

bool probe_server_remembers(const struct probe *p)
{
	return false;
}

bool probe_is_trusted(const struct probe *p)
{
	return false;
}

void probe_wake(struct probe *p)
{
}

uint64_t probe_generation(struct probe *p)
{
	return 1;
}

void probe_send(struct probe *p, struct broker_call *call, uint32_t type, const void *body, size_t length)
{
	asked = call;
}

void probe_send_change(struct probe *p, uint64_t generation, struct broker_call *call, uint32_t type, const void *body,
	size_t length)
{
	asked = call;
	call->changes = true;
	call->stage = BROKER_CALL_SENT;
}

static void submit(struct server *s, struct nfs_call *call)
{
	by_server++;
	call->error = 0;
	call->done(call);
}

static void free_server(struct server *s)
{
}

static const struct server_ops ops = {.submit = submit, .create = submit, .append = submit, .free = free_server};
static struct server nfs = {.ops = &ops};

static int setup(void **state)
{
	memset(&fs, 0, sizeof(fs));
	options_init(&options);
	fs.options = &options;
	fs.probe = (struct probe *)&fs; /* there is one; its functions are above */
	answers = by_server = 0;
	asked = NULL;
	clock_ms = BEGIN;
	if (inode_table_new(&fs.inodes) < 0 || shortcut_new(&fs, &nfs, &shortcut) < 0)
		return -1;
	server = shortcut_server(shortcut);
	return 0;
}

static int teardown(void **state)
{
	server = server_free(server);
	fs.inodes = inode_table_free(fs.inodes);
	return 0;
}

static void on_answer(struct broker_call *call, int error, const void *body)
{
	answers++;
	last_error = error;
}

static void on_done(struct nfs_call *call)
{
	answers++;
}

/* The probe's thread looks at what waits; it has read the clock at this time. */
static void look_at(uint64_t ms)
{
	clock_ms = ms;
	(void)shortcut_housekeep(shortcut);
}

/* The connection has ended. */
static void lose_connection(void)
{
	struct broker_call *call = STEAL_PTR(asked);

	call->done(call, -ENOTCONN, NULL);
}

/* The handler waits so long for the sidecar, which does not answer before the connection ends. */
static void expect_an_answer_after(unsigned patience_ms)
{
	look_at(BEGIN + patience_ms - 1);
	assert_int_equal(answers, 0);
	look_at(BEGIN + patience_ms);
	assert_int_equal(answers, 1);
	assert_int_equal(last_error, -ETIMEDOUT);
	lose_connection();
	assert_int_equal(answers, 1);
}

static void an_open_waits_for_its_whole_time(void **state)
{
	const struct broker_open body = {.flags = BROKER_OPEN_ATTR};
	struct broker_call call = {.done = on_answer};

	shortcut_open(shortcut, &call, &body);
	expect_an_answer_after(SHORTCUT_OPEN_PATIENCE_MS);
}

static void a_look_at_a_directory_waits_as_a_call(void **state)
{
	const struct broker_open body = {.flags = BROKER_OPEN_ATTR};
	struct broker_call call = {.done = on_answer};

	shortcut_look(shortcut, &call, &body);
	expect_an_answer_after(SHORTCUT_PATIENCE_MS);
	shortcut_look(shortcut, &call, &body); /* the sidecar has answered nothing since */
	assert_int_equal(answers, 2);
	shortcut_open(shortcut, &call, &body);
	assert_int_equal(answers, 2);
	lose_connection();
}

static void an_open_that_begins_during_the_look_waits_on(void **state)
{
	const struct broker_open body = {.flags = BROKER_OPEN_ATTR};
	struct broker_call call = {.done = on_answer};

	shortcut_open(shortcut, &call, &body);
	look_at(BEGIN - 1);
	assert_int_equal(answers, 0);
	lose_connection();
	assert_int_equal(answers, 1);
}

static void attributes_that_are_asked_for_during_the_look_wait_on(void **state)
{
	struct nfs_call call = {.proc = NFS_GETATTR, .done = on_done};

	server_submit(server, &call);
	look_at(BEGIN - 1);
	assert_int_equal(by_server, 0);
	look_at(BEGIN + SHORTCUT_PATIENCE_MS);
	assert_int_equal(by_server, 1);
	lose_connection();
	assert_int_equal(answers, 1);
}

static void a_change_that_begins_during_the_look_stalls_nothing(void **state)
{
	struct nfs_call call = {.proc = NFS_SETATTR, .args.sattr.set_mode = true, .done = on_done};
	struct memory memory;
	struct changes changes;

	memory_init(&memory, &fs, &nfs);
	changes_init(&changes, &fs, &memory);
	assert_true(changes_take(&changes, &call, 1));
	clock_ms = BEGIN - 1;
	assert_true(changes_housekeep(&changes));
	assert_false(changes.stalled);
	clock_ms = BEGIN + SHORTCUT_PATIENCE_MS;
	assert_true(changes_housekeep(&changes));
	assert_true(changes.stalled);
	lose_connection();
	assert_int_equal(answers, 1);
	changes_done(&changes);
	memory_done(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_open_waits_for_its_whole_time, setup, teardown),
		cmocka_unit_test_setup_teardown(a_look_at_a_directory_waits_as_a_call, setup, teardown),
		cmocka_unit_test_setup_teardown(an_open_that_begins_during_the_look_waits_on, setup, teardown),
		cmocka_unit_test_setup_teardown(attributes_that_are_asked_for_during_the_look_wait_on, setup, teardown),
		cmocka_unit_test_setup_teardown(a_change_that_begins_during_the_look_stalls_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
