/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * names-floor DIRECTORY STORE: mounts a filesystem that keeps its names in memory and passes the data of its files
 * through to files in STORE. There are files and directories, and no other kinds. It asks nobody, checks no rights, and
 * lets the kernel keep all that it was told: localiofs cannot be faster. The program stays in the foreground until the
 * filesystem is unmounted.
 *
 * A node lives as long as a name, an open file or the kernel refers to it. The kernel names a node by its address. One
 * lock guards all nodes; no handler waits while it has the lock, but for the system calls on STORE.
 */
#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 18)
#include <fuse_lowlevel.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOR_LONG 3600.0
#define BUCKETS  (1U << 16)
#define NAME_LEN 255

struct node {
	struct stat st;   /* of a regular file all but size, times and blocks, which the file in STORE has */
	int fd;           /* of a regular file, in STORE; -1 while nobody has opened it */
	int32_t backing;  /* the kernel's number of fd; 0 before the first open */
	uint64_t lookups; /* that the kernel has not forgotten */
	unsigned opens;
	struct name *first;  /* of a directory, in the order of readdir */
	struct node *parent; /* of a directory */
};

struct name {
	struct name *next_in_bucket, *next, *previous; /* the last two in the directory */
	struct node *parent, *node;
	off_t cookie;
	char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct name *buckets[BUCKETS];
static struct node root;
static struct fuse_session *session;
static ino_t last_ino = 1;
static off_t last_cookie = 2;
static int store;

static void store_name(const struct node *n, char ret[32])
{
	(void)snprintf(ret, 32, "%llu", (unsigned long long)n->st.st_ino);
}

static struct node *node_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino; /* NOLINT(performance-no-int-to-ptr) */
}

static struct name **bucket(const struct node *parent, const char *text)
{
	uint64_t hash = (uintptr_t)parent >> 4;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return &buckets[(hash ^ hash >> 32) % BUCKETS];
}

static struct name *find(const struct node *parent, const char *text)
{
	struct name *found = *bucket(parent, text);

	while (found && (found->parent != parent || strcmp(found->text, text) != 0))
		found = found->next_in_bucket;
	return found;
}

static void touch(struct node *n, bool modified)
{
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &n->st.st_ctim);
	if (modified)
		n->st.st_mtim = n->st.st_ctim;
}

static int insert(struct node *parent, const char *text, struct node *node)
{
	struct name **at = bucket(parent, text);
	struct name *name = calloc(1, sizeof(*name) + strlen(text) + 1);

	if (!name)
		return -ENOMEM;
	*name = (struct name){.next_in_bucket = *at,
		.next = parent->first,
		.parent = parent,
		.node = node,
		.cookie = ++last_cookie};
	memcpy(name->text, text, strlen(text) + 1);
	if (parent->first)
		parent->first->previous = name;
	parent->first = name;
	*at = name;
	if (S_ISDIR(node->st.st_mode)) {
		node->parent = parent;
		parent->st.st_nlink++;
	}
	touch(parent, true);
	return 0;
}

static void free_if_unused(struct node *n)
{
	char name[32];

	if (n == &root || n->lookups > 0 || n->opens > 0 || n->st.st_nlink > 0)
		return;
	if (n->fd >= 0)
		(void)close(n->fd);
	if (S_ISREG(n->st.st_mode)) {
		store_name(n, name);
		(void)unlinkat(store, name, 0);
	}
	free(n);
}

/* Ends a name. Returns its node, with its link count as before. */
static struct node *take_out(struct name *name)
{
	struct name **at = bucket(name->parent, name->text);
	struct node *n = name->node;

	while (*at != name)
		at = &(*at)->next_in_bucket;
	*at = name->next_in_bucket;
	if (name->next)
		name->next->previous = name->previous;
	if (name->previous)
		name->previous->next = name->next;
	else
		name->parent->first = name->next;
	touch(name->parent, true);
	touch(n, false);
	if (S_ISDIR(n->st.st_mode))
		name->parent->st.st_nlink--;
	free(name);
	return n;
}

/* Ends a name, and the node with its last name. */
static void erase(struct name *name)
{
	struct node *n = take_out(name);

	n->st.st_nlink = S_ISDIR(n->st.st_mode) ? 0 : n->st.st_nlink - 1;
	free_if_unused(n);
}

/* There are more files than descriptors. */
static void close_unless_open(struct node *n)
{
	if (n->opens == 0 && n->fd >= 0) {
		(void)close(n->fd);
		n->fd = -1;
	}
}

static struct node *make(fuse_req_t req, mode_t mode)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->fd = -1;
	n->st.st_ino = ++last_ino;
	n->st.st_mode = mode;
	n->st.st_nlink = S_ISDIR(mode) ? 2 : 1;
	n->st.st_uid = fuse_req_ctx(req)->uid;
	n->st.st_gid = fuse_req_ctx(req)->gid;
	n->st.st_blksize = 4096;
	touch(n, true);
	n->st.st_atim = n->st.st_mtim;
	return n;
}

static struct stat attributes(const struct node *n)
{
	struct stat st = n->st, data;
	char name[32];

	store_name(n, name);
	if (S_ISREG(st.st_mode) && (n->fd >= 0 ? fstat(n->fd, &data) : fstatat(store, name, &data, 0)) == 0) {
		st.st_size = data.st_size;
		st.st_blocks = data.st_blocks;
		st.st_atim = data.st_atim;
		st.st_mtim = data.st_mtim;
	}
	return st;
}

static struct fuse_entry_param entry(struct node *n)
{
	n->lookups++;
	return (struct fuse_entry_param){
		.ino = n == &root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)n,
		.attr = attributes(n),
		.attr_timeout = FOR_LONG,
		.entry_timeout = FOR_LONG,
	};
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	conn->max_backing_stack_depth = 1;
	(void)fuse_set_feature_flag(conn, FUSE_CAP_PASSTHROUGH);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *text)
{
	struct fuse_entry_param e = {.entry_timeout = FOR_LONG};
	struct name *name;

	(void)pthread_mutex_lock(&lock);
	name = find(node_of(parent), text);
	if (name)
		e = entry(name->node);
	(void)pthread_mutex_unlock(&lock);
	(void)fuse_reply_entry(req, &e);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	struct node *n = node_of(ino);

	(void)pthread_mutex_lock(&lock);
	n->lookups -= count < n->lookups ? count : n->lookups;
	free_if_unused(n);
	(void)pthread_mutex_unlock(&lock);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	(void)pthread_mutex_lock(&lock);
	st = attributes(node_of(ino));
	(void)pthread_mutex_unlock(&lock);
	(void)fuse_reply_attr(req, &st, FOR_LONG);
}

/* The descriptor of the node's file in STORE, which is made when it is not there. */
static int data_fd(struct node *n)
{
	char name[32];

	store_name(n, name);
	if (n->fd < 0)
		n->fd = openat(store, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return n->fd < 0 ? -errno : n->fd;
}

static int set_times(struct node *n, const struct stat *attr, int to_set)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
	int fd;

	if (to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW))
		times[0] = attr->st_atim;
	if (to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW))
		times[1] = attr->st_mtim;
	if (to_set & FUSE_SET_ATTR_ATIME_NOW)
		times[0].tv_nsec = UTIME_NOW;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		times[1].tv_nsec = UTIME_NOW;
	if (!S_ISREG(n->st.st_mode)) {
		if (to_set & FUSE_SET_ATTR_MTIME)
			n->st.st_mtim = attr->st_mtim;
		return 0;
	}
	fd = data_fd(n);
	return fd < 0 ? fd : futimens(fd, times) < 0 ? -errno : 0;
}

static int change(struct node *n, const struct stat *attr, int to_set)
{
	int fd, r = 0;

	if (to_set & FUSE_SET_ATTR_MODE)
		n->st.st_mode = (n->st.st_mode & S_IFMT) | (attr->st_mode & ~(mode_t)S_IFMT);
	if (to_set & FUSE_SET_ATTR_UID)
		n->st.st_uid = attr->st_uid;
	if (to_set & FUSE_SET_ATTR_GID)
		n->st.st_gid = attr->st_gid;
	if (to_set & FUSE_SET_ATTR_SIZE) {
		fd = data_fd(n);
		r = fd < 0 ? fd : ftruncate(fd, attr->st_size) < 0 ? -errno : 0;
	}
	if (r == 0 && to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |
				       FUSE_SET_ATTR_MTIME_NOW))
		r = set_times(n, attr, to_set);
	touch(n, false);
	return r;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	struct stat st;
	int r;

	(void)pthread_mutex_lock(&lock);
	r = change(node_of(ino), attr, to_set);
	st = attributes(node_of(ino));
	close_unless_open(node_of(ino));
	(void)pthread_mutex_unlock(&lock);
	(void)(r < 0 ? fuse_reply_err(req, -r) : fuse_reply_attr(req, &st, FOR_LONG));
}

/* The caller has the lock. Sets *ret to the entry of a new node. */
static int add(fuse_req_t req, fuse_ino_t parent, const char *text, mode_t mode, struct fuse_entry_param *ret)
{
	struct node *n;
	int r;

	if (strlen(text) > NAME_LEN)
		return -ENAMETOOLONG;
	if (find(node_of(parent), text))
		return -EEXIST;
	n = make(req, mode);
	if (!n)
		return -ENOMEM;
	r = S_ISREG(mode) ? data_fd(n) : 0;
	if (r >= 0)
		r = insert(node_of(parent), text, n);
	if (r < 0) {
		n->st.st_nlink = 0;
		free_if_unused(n);
		return r;
	}
	*ret = entry(n);
	return 0;
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *text, mode_t mode)
{
	struct fuse_entry_param e;
	int r;

	(void)pthread_mutex_lock(&lock);
	r = add(req, parent, text, S_IFDIR | mode, &e);
	(void)pthread_mutex_unlock(&lock);
	(void)(r < 0 ? fuse_reply_err(req, -r) : fuse_reply_entry(req, &e));
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *text)
{
	struct node *n = node_of(ino);
	struct fuse_entry_param e;
	int r;

	(void)pthread_mutex_lock(&lock);
	r = find(node_of(parent), text) ? -EEXIST : insert(node_of(parent), text, n);
	if (r == 0) {
		n->st.st_nlink++;
		touch(n, false);
		e = entry(n);
	}
	(void)pthread_mutex_unlock(&lock);
	(void)(r < 0 ? fuse_reply_err(req, -r) : fuse_reply_entry(req, &e));
}

static void drop(fuse_req_t req, fuse_ino_t parent, const char *text, bool directory)
{
	struct name *name;
	int r = 0;

	(void)pthread_mutex_lock(&lock);
	name = find(node_of(parent), text);
	if (!name)
		r = ENOENT;
	else if (S_ISDIR(name->node->st.st_mode) != directory)
		r = directory ? ENOTDIR : EISDIR;
	else if (directory && name->node->first)
		r = ENOTEMPTY;
	else
		erase(name);
	(void)pthread_mutex_unlock(&lock);
	(void)fuse_reply_err(req, r);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *text)
{
	drop(req, parent, text, false);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *text)
{
	drop(req, parent, text, true);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *text, fuse_ino_t new_parent, const char *new_text,
	unsigned flags)
{
	struct name *from, *over;
	int r = ENOENT;

	(void)pthread_mutex_lock(&lock);
	from = find(node_of(parent), text);
	over = find(node_of(new_parent), new_text);
	if (from && flags != 0) {
		r = EINVAL;
	} else if (from && over && over->node->first) {
		r = ENOTEMPTY;
	} else if (from && (!over || over->node != from->node)) {
		if (over)
			erase(over);
		r = -insert(node_of(new_parent), new_text, take_out(from));
	} else if (from) {
		r = 0;
	}
	(void)pthread_mutex_unlock(&lock);
	(void)fuse_reply_err(req, r);
}

/* The caller has the lock. Makes the open file a passthrough file. */
static int open_node(fuse_req_t req, struct node *n, struct fuse_file_info *fi)
{
	int fd = data_fd(n);

	if (fd < 0)
		return fd;
	if (n->backing == 0)
		n->backing = fuse_passthrough_open(req, fd);
	if (n->backing <= 0) {
		n->backing = 0;
		return -EIO;
	}
	if (fi->flags & O_TRUNC && ftruncate(fd, 0) < 0)
		return -errno;
	fi->backing_id = n->backing;
	fi->noflush = 1;
	n->opens++;
	return 0;
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *text, mode_t mode, struct fuse_file_info *fi)
{
	struct fuse_entry_param e = {0};
	int r;

	(void)pthread_mutex_lock(&lock);
	r = add(req, parent, text, S_IFREG | mode, &e);
	if (r == -EEXIST && !(fi->flags & O_EXCL)) {
		e = entry(find(node_of(parent), text)->node);
		r = 0;
	}
	if (r == 0) {
		r = open_node(req, node_of(e.ino), fi);
		if (r < 0)
			node_of(e.ino)->lookups--;
	}
	(void)pthread_mutex_unlock(&lock);
	(void)(r < 0 ? fuse_reply_err(req, -r) : fuse_reply_create(req, &e, fi));
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	int r;

	(void)pthread_mutex_lock(&lock);
	r = open_node(req, node_of(ino), fi);
	(void)pthread_mutex_unlock(&lock);
	(void)(r < 0 ? fuse_reply_err(req, -r) : fuse_reply_open(req, fi));
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);

	(void)pthread_mutex_lock(&lock);
	n->opens--;
	if (n->opens == 0 && n->st.st_nlink == 0 && n->backing > 0) {
		(void)fuse_passthrough_close(req, n->backing);
		n->backing = 0;
	}
	close_unless_open(n);
	free_if_unused(n);
	(void)pthread_mutex_unlock(&lock);
	(void)fuse_reply_err(req, 0);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)fuse_reply_err(req, fsync(node_of(ino)->fd) < 0 ? errno : 0);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fi->cache_readdir = 1;
	fi->keep_cache = 1;
	(void)fuse_reply_open(req, fi);
}

/* Names are listed from the newest to the oldest; a cookie is that of the last name that was listed. */
static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	char *buffer = malloc(size);
	size_t used = 0, n = 1;
	const struct name *name;

	if (!buffer) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	(void)pthread_mutex_lock(&lock);
	for (name = node_of(ino)->first; name && offset > 0 && name->cookie >= offset; name = name->next)
		continue;
	for (; name && n > 0; name = name->next) {
		struct fuse_entry_param e = entry(name->node);

		n = fuse_add_direntry_plus(req, buffer + used, size - used, name->text, &e, name->cookie);
		if (n > size - used) {
			name->node->lookups--;
			break;
		}
		used += n;
	}
	(void)pthread_mutex_unlock(&lock);
	(void)fuse_reply_buf(req, buffer, used);
	free(buffer);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *text, size_t size)
{
	(void)fuse_reply_err(req, ENOSYS);
}

static const struct fuse_lowlevel_ops ops = {.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.mkdir = op_mkdir,
	.link = op_link,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.create = op_create,
	.open = op_open,
	.release = op_release,
	.fsync = op_fsync,
	.opendir = op_opendir,
	.readdirplus = op_readdirplus,
	.getxattr = op_getxattr};

int main(int argc, char **argv)
{
	char *mount_argv[] = {argv[0], (char *)"-o", (char *)"allow_other,default_permissions,fsname=names-floor",
		NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, mount_argv);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int r = 1;

	if (argc != 3 || !config) {
		(void)fprintf(stderr, "usage: names-floor DIRECTORY STORE\n");
		return 2;
	}
	store = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store < 0) {
		perror(argv[2]);
		return 1;
	}
	root.fd = -1;
	root.st = (struct stat){.st_ino = 1, .st_mode = S_IFDIR | 0777, .st_nlink = 2};
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
