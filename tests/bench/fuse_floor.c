/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fuse-floor DIRECTORY SIZE: mounts a filesystem that answers each request without any work, as fast as FUSE can.
 * localiofs cannot be faster. small/ is a directory, and each other name is a file of SIZE zeros. The kernel caches
 * attributes, names and pages. The program stays in the foreground until the filesystem is unmounted.
 */
#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 18)
#include <fuse_lowlevel.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_INO  2
#define SMALL_INO 3
#define FOR_LONG  3600.0
#define DATA_MAX  (1U << 20)

static off_t size;

static void fill(fuse_ino_t ino, struct stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->st_ino = ino;
	ret->st_mode = ino == FILE_INO ? S_IFREG | 0666 : S_IFDIR | 0777;
	ret->st_nlink = 1;
	ret->st_size = ino == FILE_INO ? size : 0;
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	conn->max_write = DATA_MAX;
	conn->max_read = DATA_MAX;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_ino_t ino = strcmp(name, "small") == 0 ? SMALL_INO : FILE_INO;
	struct fuse_entry_param e = {.ino = ino, .attr_timeout = FOR_LONG, .entry_timeout = FOR_LONG};

	fill(ino, &e.attr);
	(void)fuse_reply_entry(req, &e);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	fill(ino, &st);
	(void)fuse_reply_attr(req, &st, FOR_LONG);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	op_getattr(req, ino, fi);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fi->keep_cache = 1;
	fi->noflush = 1;
	(void)fuse_reply_open(req, fi);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)fuse_reply_err(req, 0);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t wanted, off_t offset, struct fuse_file_info *fi)
{
	static const char zeros[DATA_MAX];
	size_t left = offset < size ? (size_t)(size - offset) : 0, n = wanted < left ? wanted : left;

	(void)fuse_reply_buf(req, zeros, n < DATA_MAX ? n : DATA_MAX);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t n, off_t offset, struct fuse_file_info *fi)
{
	(void)fuse_reply_write(req, n);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)fuse_reply_err(req, 0);
}

int main(int argc, char **argv)
{
	static const struct fuse_lowlevel_ops ops = {.init = op_init,
		.lookup = op_lookup,
		.getattr = op_getattr,
		.setattr = op_setattr,
		.open = op_open,
		.release = op_release,
		.read = op_read,
		.write = op_write,
		.fsync = op_fsync};
	char *mount_argv[] = {argv[0], (char *)"-o", (char *)"allow_other,max_read=1048576,fsname=floor", NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, mount_argv);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	struct fuse_session *session;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int r = 1;

	if (argc != 3 || !config) {
		(void)fprintf(stderr, "usage: fuse-floor DIRECTORY SIZE\n");
		return 2;
	}
	size = (off_t)strtoll(argv[2], NULL, 10);
	session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (session && fuse_set_signal_handlers(session) == 0 && fuse_session_mount(session, argv[1]) == 0) {
		fuse_loop_cfg_set_max_threads(config, (unsigned)(cpus > 2 ? cpus : 2)); /* as many as in localiofs */
		r = fuse_session_loop_mt(session, config) < 0;
		fuse_session_unmount(session);
	}
	if (session)
		fuse_session_destroy(session);
	fuse_loop_cfg_destroy(config);
	return r;
}
