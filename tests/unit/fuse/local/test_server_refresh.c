/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* By which requests a server is made to look at a file, and what its answers mean. */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>

#include "fuse/fs/fs.h"
#include "fuse/known/cache.h"
#include "fuse/local/server_refresh.h"

static struct fs fs;
static struct mount_options options;
static struct inode *file;
static struct nfs_call *asked; /* the call that the server has not answered */
static unsigned done;
static const struct nfs_cred alice = {.uid = 1, .gid = 1};

bool probe_server_remembers(const struct probe *p)
{
	return true;
}

static void submit(struct server *s, struct nfs_call *call)
{
	assert_null(asked);
	asked = call;
}

static void stats(struct server *s, struct server_stats *ret)
{
	*ret = (struct server_stats){.connected = true};
}

static const struct server_ops ops = {.submit = submit, .stats = stats};
static struct server server = {.ops = &ops};

static int setup(void **state)
{
	struct nfs_fh fh = {.len = 4, .data = "file"};
	struct nfs_attr attr = {.mode = S_IFREG | 0644, .nlink = 1};

	memset(&fs, 0, sizeof(fs));
	options_init(&options);
	fs.options = &options;
	fs.server = &server;
	fs.probe = (struct probe *)&fs; /* there is one; its function is above */
	asked = NULL;
	done = 0;
	if (inode_table_new(&fs.inodes) < 0 || cache_new(100, &fs.names) < 0 || cache_new(100, &fs.rights) < 0)
		return -1;
	return inode_table_get(fs.inodes, &fh, &attr, &file);
}

static int teardown(void **state)
{
	(void)inode_unref(fs.inodes, file);
	fs.inodes = inode_table_free(fs.inodes);
	fs.names = cache_free(fs.names);
	fs.rights = cache_free(fs.rights);
	return asked ? -1 : 0;
}

static void on_done(struct server_refresh *r)
{
	done++;
}

static void answer(int error, uint32_t entries)
{
	struct nfs_call *call = STEAL_PTR(asked);

	assert_non_null(call);
	call->error = error;
	memset(&call->res, 0, sizeof(call->res));
	if (call->proc == NFS_GETACL)
		call->res.acl.access_count = entries;
	call->done(call);
}

static struct server_refresh refresh;

static void start(enum nfs_proc proc)
{
	refresh = (struct server_refresh){.done = on_done};
	server_refresh_changed(file);
	assert_true(server_refresh_needed(&fs, file));
	server_refresh_start(&refresh, &fs, file, &alice);
	assert_non_null(asked);
	assert_int_equal(asked->proc, proc);
	assert_true(nfs_fh_equal(&asked->fh, &file->fh));
}

static void a_server_without_acls_looks_at_getacl(void **state)
{
	for (unsigned n = 1; n <= 2; n++) {
		start(NFS_GETACL);
		answer(0, 0);
		assert_false(server_refresh_needed(&fs, file));
		assert_int_equal(done, n);
		assert_int_equal(fs.counters.refreshes, n);
	}
	assert_int_equal(fs.counters.refreshes_failed, 0);
}

static void a_server_with_acls_looks_at_commit(void **state)
{
	start(NFS_GETACL);
	answer(0, 3);
	assert_true(server_refresh_needed(&fs, file));
	assert_int_equal(done, 0);
	assert_int_equal(asked->proc, NFS_COMMIT);
	answer(0, 0);
	assert_false(server_refresh_needed(&fs, file));
	start(NFS_COMMIT);
	answer(0, 0);
	assert_int_equal(fs.counters.refreshes, 2);
}

static void a_server_without_nfsacl_looks_at_commit(void **state)
{
	start(NFS_GETACL);
	answer(-EOPNOTSUPP, 0);
	assert_int_equal(asked->proc, NFS_COMMIT);
	answer(0, 0);
	assert_false(server_refresh_needed(&fs, file));
}

static void a_known_server_with_acls_gets_no_getacl(void **state)
{
	fs.has_acls = true;
	start(NFS_COMMIT);
	answer(0, 0);
}

static void an_error_is_no_look_and_says_nothing_of_acls(void **state)
{
	start(NFS_GETACL);
	answer(-ETIMEDOUT, 0);
	assert_true(server_refresh_needed(&fs, file));
	assert_int_equal(fs.counters.refreshes_failed, 1);
	start(NFS_GETACL);
	answer(0, 0);
}

static void a_write_error_of_commit_is_told(void **state)
{
	struct errors_heard heard = write_log_open(&file->writes);

	fs.has_acls = true;
	start(NFS_COMMIT);
	answer(-ENOSPC, 0);
	assert_int_equal(write_log_tell(&file->writes, &heard, false), -ENOSPC);
	fs.has_acls = false;
	start(NFS_GETACL);
	answer(-EIO, 0);
	assert_int_equal(write_log_tell(&file->writes, &heard, false), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_server_without_acls_looks_at_getacl),
		TEST(a_server_with_acls_looks_at_commit),
		TEST(a_server_without_nfsacl_looks_at_commit),
		TEST(a_known_server_with_acls_gets_no_getacl),
		TEST(an_error_is_no_look_and_says_nothing_of_acls),
		TEST(a_write_error_of_commit_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
