/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When a change of the sidecar is answered that takes a name away: which questions the NFS server gets, and when the
 * directory is touched. The server finds a file by the name until the directory was touched often enough.
 */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>

#include "fuse/known/known.h"
#include "fuse/shortcut/change.h"

#define WHOLE   7 /* seconds: the directory's mtime after the change */
#define FOREIGN 8 /* after another client's change, too */

static struct fs fs;
static struct mount_options options;
static struct memory memory;
static struct changes changes;
static struct inode *dir;
static const struct nfs_fh child = {.len = 5, .data = "child"}, other = {.len = 5, .data = "other"};
static const struct nfs_cred user = {.uid = 1001, .gid = 2001};
static unsigned looks, lookups, touches, done;
static unsigned stubborn; /* so many touches the server needs before it finds the new state */
static int64_t told;      /* the mtime that the server tells with a look */
static uint64_t session;
static bool unwanted, replaced; /* RENAME: the new name leads to the file that it has replaced */
static int last_error;

bool probe_server_remembers(const struct probe *p)
{
	return true;
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
	return session;
}

/* The child is known, so the sidecar is not asked. */
void probe_send(struct probe *p, struct broker_call *call, uint32_t type, const void *body, size_t length)
{
	fail();
}

void probe_send_change(struct probe *p, uint64_t generation, struct broker_call *call, uint32_t type, const void *body,
	size_t length)
{
	const struct broker_setattr *q = body;
	struct broker_changed reply = {.has_attr = 1, .attr = {.mtime_sec = told + 1, .ctime_sec = told + 1}};
	int fd = -1;

	assert_int_equal(type, BROKER_SETATTR);
	assert_int_equal(q->set, BROKER_SET_ATIME_NOW | BROKER_SET_MTIME_NOW);
	assert_int_equal(q->cred.uid, user.uid);
	touches++;
	told++;
	call->fd = &fd;
	call->done(call, 0, &reply);
}

static void look_up(struct nfs_call *call)
{
	bool old = touches < stubborn;
	bool second = strcmp(call->name, "new") == 0;

	lookups++;
	call->error = unwanted && call->given_up(call) ? -EINTR : old != second || replaced ? 0 : -ENOENT;
	call->new_fh = replaced && old ? other : child;
}

static void submit(struct server *s, struct nfs_call *call)
{
	assert_true(nfs_fh_equal(&call->fh, &dir->fh));
	call->error = 0;
	if (call->proc == NFS_LOOKUP) {
		look_up(call);
	} else {
		assert_int_equal(call->proc, NFS_GETACL);
		looks++;
		call->res.acl.access_count = 0;
		call->has_attr = true;
		call->attr = (struct nfs_attr){.mode = S_IFDIR, .mtime = {.tv_sec = told}};
	}
	call->done(call);
}

static void stats(struct server *s, struct server_stats *ret)
{
	*ret = (struct server_stats){.connected = true};
}

static const struct server_ops ops = {.submit = submit, .create = submit, .append = submit, .stats = stats};
static struct server server = {.ops = &ops};

static int setup(void **state)
{
	struct nfs_attr attr = {.mode = S_IFDIR | 0755, .fileid = 1, .nlink = 2};
	struct nfs_fh fh = {.len = 3, .data = "dir"};

	memset(&fs, 0, sizeof(fs));
	options_init(&options);
	fs.options = &options;
	fs.probe = (struct probe *)&fs; /* there is one; its functions are above */
	looks = lookups = touches = done = stubborn = 0;
	unwanted = replaced = false;
	session = 1;
	told = WHOLE;
	fs.leased_from = attr_clock_tick();
	fs.leased = 1;
	memory_init(&memory, &fs, &server);
	changes_init(&changes, &fs, &memory);
	return inode_table_new(&fs.inodes) < 0 ? -1 : inode_table_get(fs.inodes, &fh, &attr, &dir);
}

static int teardown(void **state)
{
	changes_done(&changes);
	memory_done(&memory);
	(void)inode_unref(fs.inodes, dir);
	fs.inodes = inode_table_free(fs.inodes);
	return 0;
}

static void on_done(struct nfs_call *call)
{
	done++;
	last_error = call->error;
}

static bool is_unwanted(struct nfs_call *call)
{
	return unwanted;
}

/* Notices of the directory's changes come from now on. */
static void watch(void)
{
	struct nfs_attr attr = {.mode = S_IFDIR | 0755, .fileid = 1, .nlink = 2};

	(void)known_attributes_watched(&fs, dir, &attr, attr_clock(), true);
}

/* The same, from its beginning on: this mount has made the directory. */
static void watch_new(void)
{
	const struct nfs_call mkdir = {.proc = NFS_MKDIR,
		.empty = true,
		.attr = {.mode = S_IFDIR | 0755, .fileid = 1, .nlink = 2}};

	watch();
	known_new_directory(&fs, dir, &mkdir, attr_clock());
}

/* The sidecar has made the change; is the answer there? */
static void make(enum nfs_proc proc)
{
	struct memory_directory d = {.mtime = {.tv_sec = WHOLE}, .ctime = {.tv_sec = WHOLE}};
	const struct timespec mtimes[2] = {d.mtime, d.mtime};
	struct nfs_call call = {.proc = proc,
		.fh = dir->fh,
		.fh2 = dir->fh,
		.name = "name",
		.name2 = "new",
		.cred = user,
		.given_up = is_unwanted,
		.done = on_done};

	memory_directory_changed(&memory, &dir->fh, &d);
	assert_true(sight_begin(&changes, &call, &child, mtimes));
	assert_int_equal(done, 1);
	assert_int_equal(last_error, 0);
	assert_int_equal(fs.counters.refreshes_touched, touches);
}

static void alone_in_a_directory_nothing_is_asked_but_the_look(void **state)
{
	watch_new();
	make(NFS_REMOVE);
	assert_int_equal(looks, 1);
	assert_int_equal(lookups, 0);
}

static void without_notices_the_name_is_asked_for(void **state)
{
	make(NFS_REMOVE);
	assert_int_equal(looks, 1);
	assert_int_equal(lookups, 1);
	assert_int_equal(touches, 0);
}

static void after_a_few_moments_of_notices_the_name_is_asked_for(void **state)
{
	watch();
	make(NFS_REMOVE);
	assert_int_equal(lookups, 1);
}

static void after_a_foreign_change_the_name_is_asked_for(void **state)
{
	const struct known_notice n = {.name = NULL};

	watch_new();
	(void)known_notice_name(&fs, dir, &n, true);
	watch_new();
	make(NFS_RMDIR);
	assert_int_equal(lookups, 1);
}

static void with_another_mtime_the_name_is_asked_for(void **state)
{
	watch_new();
	told = FOREIGN;
	make(NFS_REMOVE);
	assert_int_equal(lookups, 1);
	assert_int_equal(touches, 0);
}

static void a_name_that_the_server_believes_is_touched_away(void **state)
{
	watch();
	told = FOREIGN;
	stubborn = 2;
	make(NFS_REMOVE);
	assert_int_equal(touches, 2);
	assert_int_equal(lookups, 3);
	assert_int_equal(looks, 3);
}

static void touching_has_an_end(void **state)
{
	stubborn = 1000;
	make(NFS_REMOVE);
	assert_in_range(touches, MEMORY_TOUCHES, 1000 - 1);
}

static void without_a_session_nothing_is_touched(void **state)
{
	stubborn = 1;
	session = 0;
	make(NFS_REMOVE);
	assert_int_equal(lookups, 1);
	assert_int_equal(touches, 0);
}

static void a_rename_is_seen_at_both_names(void **state)
{
	make(NFS_RENAME);
	assert_int_equal(lookups, 2);
	assert_int_equal(touches, 0);
}

static void a_replaced_file_is_touched_away(void **state)
{
	replaced = true;
	stubborn = 1;
	make(NFS_RENAME);
	/* The old name leads to another file, so only the new one is wrong. */
	assert_int_equal(touches, 1);
	assert_int_equal(lookups, 3);
}

static void a_killed_caller_waits_for_nothing(void **state)
{
	unwanted = true;
	stubborn = 1;
	make(NFS_REMOVE);
	assert_int_equal(lookups, 1);
	assert_int_equal(touches, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(alone_in_a_directory_nothing_is_asked_but_the_look),
		TEST(without_notices_the_name_is_asked_for),
		TEST(after_a_few_moments_of_notices_the_name_is_asked_for),
		TEST(after_a_foreign_change_the_name_is_asked_for),
		TEST(with_another_mtime_the_name_is_asked_for),
		TEST(a_name_that_the_server_believes_is_touched_away),
		TEST(touching_has_an_end),
		TEST(without_a_session_nothing_is_touched),
		TEST(a_rename_is_seen_at_both_names),
		TEST(a_replaced_file_is_touched_away),
		TEST(a_killed_caller_waits_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
