/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Questions and changes that wait for the sidecar, by a clock that the test sets. The sidecar never answers by itself.
 * While one thread looks at them, another may begin one: that begins later than the first thread's reading of the
 * clock.
 */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fuse/shortcut/change.h"
#include "fuse/shortcut/shortcut.h"
#include "wire/broker_messages.h"

#define BEGIN 100000 /* milliseconds */

static struct fs fs;
static struct mount_options options;
static struct shortcut *shortcut;
static struct server *server;
static uint64_t clock_ms;
static struct broker_call *asked; /* what the sidecar has got last, and not answered */
static uint32_t asked_type;
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

uint64_t work_begins(void)
{
	return now_ns();
}

void work_ends(void)
{
}

uint64_t work_ms(void)
{
	return clock_ms;
}

bool probe_server_remembers(const struct probe *p)
{
	return false;
}

bool probe_sees_same_mounts(const struct probe *p)
{
	return true;
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
	asked_type = type;
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

/* ---- listings ---- */

static struct nfs_call listing;
static struct {
	struct broker_listed listed;
	uint8_t entries[1000];
} reply;
static size_t used;

/* Names that both have answered with the same handle. */
static void prove(void)
{
	for (int n = 0; n < SHORTCUT_PROOFS; n++) {
		const struct broker_found found = {.fh = {.length = 1, .data = {7}}};
		struct nfs_call answered = {.proc = NFS_LOOKUP, .name = "name", .new_fh = {.len = 1, .data = {7}}};
		struct broker_call *call;

		shortcut_learn(shortcut, &answered);
		call = STEAL_PTR(asked);
		call->done(call, 0, &found);
	}
}

static void add(const char *name, uint32_t fh_length, uint32_t mode)
{
	static const uint8_t handle[BROKER_MAX_FH] = {9};
	const struct broker_entry_ref e = {.entry = {.cookie = 5,
						   .fileid = 6,
						   .attr.mode = mode,
						   .fh_length = fh_length,
						   .name_length = (uint32_t)strlen(name)},
		.fh = handle,
		.name = name};

	assert_true(broker_entry_put(reply.entries, sizeof(reply.entries), &used, &e));
	reply.listed.count++;
}

static void on_listed(struct nfs_call *call)
{
	answers++;
	if (!call->by_sidecar)
		return;
	assert_true(call->res.dir.eof);
	for (size_t n = 0; n < call->res.dir.count; n++) {
		const struct nfs_entry *e = &call->res.dir.entries[n];

		assert_int_equal(e->cookie, 5);
		assert_int_equal(e->fileid, 6);
		assert_int_equal(e->has_attr, e->attr.mode != 0);
		assert_true(e->fh.len == 0 || e->fh.data[0] == 9);
	}
}

/* Asks for a listing, which the sidecar answers by the reply, cut by so many bytes. True if that is the answer. */
static bool is_listed(size_t cut)
{
	struct broker_call *call;
	unsigned before = answers;

	listing = (struct nfs_call){.proc = NFS_READDIRPLUS, .done = on_listed};
	server_submit(server, &listing);
	assert_int_equal(asked_type, BROKER_LIST);
	call = STEAL_PTR(asked);
	call->length = (uint32_t)(sizeof(reply.listed) + used - cut);
	call->done(call, 0, &reply);
	assert_int_equal(answers, before + 1);
	return listing.by_sidecar && listing.error == 0 && listing.res.dir.count == reply.listed.count;
}

static int setup_listing(void **state)
{
	int r = setup(state);

	memset(&reply, 0, sizeof(reply));
	used = 0;
	if (r == 0)
		prove();
	return r;
}

static void a_listing_is_the_sidecars(void **state)
{
	reply.listed.watched = 1;
	add(".", 0, S_IFDIR);
	add("file", 64, S_IFREG);
	add("bare", 0, 0);
	assert_true(is_listed(0));
	assert_true(listing.watched);
	assert_true(listing.dir.has_after);
	assert_int_equal(by_server, 0);
}

static void a_listing_that_the_sidecar_refuses_is_the_servers(void **state)
{
	reply.listed = (struct broker_listed){.error = -E2BIG, .reason = REASON_SERVER_DECIDES};
	assert_false(is_listed(0));
	assert_int_equal(by_server, 1);
}

static void the_rest_of_a_listing_is_the_servers(void **state)
{
	listing = (struct nfs_call){.proc = NFS_READDIR, .args.dir.cookie = 5, .done = on_listed};
	server_submit(server, &listing);
	assert_null(asked);
	assert_int_equal(by_server, 1);
}

static void a_listing_before_the_proof_is_the_servers(void **state)
{
	listing = (struct nfs_call){.proc = NFS_READDIR, .done = on_listed};
	server_submit(server, &listing);
	assert_null(asked);
	assert_int_equal(by_server, 1);
}

static void a_wrong_listing_is_the_servers(void **state)
{
	add("file", 64, S_IFREG);
	add("file2", 64, S_IFREG);
	assert_true(is_listed(0));
	assert_false(is_listed(8));
	assert_false(is_listed(used));
	reply.listed.count = 1;
	assert_false(is_listed(0));
	reply.listed.count = 3;
	assert_false(is_listed(0));
	reply.listed.count = UINT32_MAX;
	assert_false(is_listed(0));
	reply.listed.count = 2;
	assert_true(is_listed(0));
	assert_int_equal(by_server, 5);
}

static void a_listing_with_a_wrong_handle_is_the_servers(void **state)
{
	add("file", 65, S_IFREG); /* longer than NFSv3's */
	assert_false(is_listed(0));
	used = reply.listed.count = 0;
	add("file", 64, 0); /* without attributes */
	assert_false(is_listed(0));
	assert_int_equal(by_server, 2);
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
		cmocka_unit_test_setup_teardown(a_listing_is_the_sidecars, setup_listing, teardown),
		cmocka_unit_test_setup_teardown(a_listing_that_the_sidecar_refuses_is_the_servers, setup_listing,
			teardown),
		cmocka_unit_test_setup_teardown(the_rest_of_a_listing_is_the_servers, setup_listing, teardown),
		cmocka_unit_test_setup_teardown(a_listing_before_the_proof_is_the_servers, setup, teardown),
		cmocka_unit_test_setup_teardown(a_wrong_listing_is_the_servers, setup_listing, teardown),
		cmocka_unit_test_setup_teardown(a_listing_with_a_wrong_handle_is_the_servers, setup_listing, teardown),
		cmocka_unit_test_setup_teardown(a_change_that_begins_during_the_look_stalls_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
