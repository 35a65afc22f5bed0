/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests of knowledge begin with: a file system without a server, a directory and a file. */
#pragma once

#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>

#include "fuse/fs/fs.h"
#include "fuse/known/cache.h"
#include "fuse/known/known.h"

static struct fs fs;
static struct mount_options options;
static struct inode *dir, *file;

static struct nfs_attr attributes(mode_t mode, uint64_t fileid, long version)
{
	return (struct nfs_attr){.mode = mode,
		.fileid = fileid,
		.nlink = 1,
		.size = 10,
		.ctime = {.tv_sec = 5, .tv_nsec = version}};
}

static struct inode *make_inode(uint8_t n, mode_t mode)
{
	struct nfs_fh fh = {.len = 4, .data = {n}};
	struct nfs_attr attr = attributes(mode, n, 1);
	struct inode *i;

	assert_int_equal(inode_table_get(fs.inodes, &fh, &attr, &i), 0);
	return i;
}

/* Makes all anew. leased: with a lease, in which notices of the directory's changes may come. */
static int make_all(mode_t permissions, bool leased)
{
	memset(&fs, 0, sizeof(fs));
	options_init(&options);
	fs.options = &options;
	if (inode_table_new(&fs.inodes) < 0 || cache_new(100, &fs.names) < 0 || cache_new(100, &fs.rights) < 0 ||
		cache_new(100, &fs.own_names) < 0)
		return -1;
	dir = make_inode(1, S_IFDIR | permissions);
	file = make_inode(2, S_IFREG);
	if (leased) {
		fs.leased_from = attr_clock_tick();
		fs.leased = 1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)inode_unref(fs.inodes, dir);
	(void)inode_unref(fs.inodes, file);
	fs.inodes = inode_table_free(fs.inodes);
	fs.names = cache_free(fs.names);
	fs.rights = cache_free(fs.rights);
	fs.own_names = cache_free(fs.own_names);
	return 0;
}

/* What is known of the name: 0 if it is the file's, -ENOENT, or -EAGAIN. */
static inline int look_up(const char *name, const struct nfs_cred *cred)
{
	struct nfs_attr attr;
	struct inode *i = NULL;
	double seconds;
	int r = known_lookup(&fs, dir, name, cred, &i, &attr, &seconds);

	if (r == 0) {
		assert_ptr_equal(i, file);
		assert_int_equal(attr.fileid, 2);
		assert_true(seconds > 0);
	}
	(void)inode_unref(fs.inodes, i);
	return r;
}

/* Each test file has a setup() of its own. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
