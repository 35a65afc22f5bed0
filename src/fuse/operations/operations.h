/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The FUSE requests of a mount in numbers: how many, how long from the handler's begin to the answer, how many failed,
 * how many bytes, per operation and per way of the answer. Reads and writes of passthrough opens are not among them:
 * the kernel serves these itself.
 *
 * A table of handlers stands before the mount's own table. It begins an operation on the stack of the handler's thread.
 * A handler that goes on later takes the operation over (struct request does), and counts it before its reply, so that
 * whoever has the reply finds it counted; a handler that has answered when it returns is counted there. So every
 * request is counted once.
 *
 * A request costs about 60 ns more by this (two reads of the clock, two additions), or 110 ns where two CPUs serve the
 * same operation. open(2) and close(2) of a local file are three requests and take some 50 us.
 *
 * struct operations belongs to the mount (fs.operations). Its counters are atomic, without order between them; any
 * thread adds and reads. struct operation belongs to the request, which is on one thread at a time.
 */
#pragma once

#include "fuse/fs/fs.h"
#include "localiofs/control.h"
#include "metrics/histogram.h"

/* clang-format off */
#define OPERATIONS(X) \
	X(LOOKUP,          lookup,          (fuse_req_t req, fuse_ino_t a, const char *b), (req, a, b)) \
	X(GETATTR,         getattr,         (fuse_req_t req, fuse_ino_t a, struct fuse_file_info *b), (req, a, b)) \
	X(SETATTR,         setattr,         (fuse_req_t req, fuse_ino_t a, struct stat *b, int c, struct fuse_file_info *d), (req, a, b, c, d)) \
	X(READLINK,        readlink,        (fuse_req_t req, fuse_ino_t a), (req, a)) \
	X(MKNOD,           mknod,           (fuse_req_t req, fuse_ino_t a, const char *b, mode_t c, dev_t d), (req, a, b, c, d)) \
	X(MKDIR,           mkdir,           (fuse_req_t req, fuse_ino_t a, const char *b, mode_t c), (req, a, b, c)) \
	X(UNLINK,          unlink,          (fuse_req_t req, fuse_ino_t a, const char *b), (req, a, b)) \
	X(RMDIR,           rmdir,           (fuse_req_t req, fuse_ino_t a, const char *b), (req, a, b)) \
	X(SYMLINK,         symlink,         (fuse_req_t req, const char *b, fuse_ino_t a, const char *c), (req, b, a, c)) \
	X(RENAME,          rename,          (fuse_req_t req, fuse_ino_t a, const char *b, fuse_ino_t c, const char *d, unsigned e), (req, a, b, c, d, e)) \
	X(LINK,            link,            (fuse_req_t req, fuse_ino_t a, fuse_ino_t b, const char *c), (req, a, b, c)) \
	X(OPEN,            open,            (fuse_req_t req, fuse_ino_t a, struct fuse_file_info *b), (req, a, b)) \
	X(CREATE,          create,          (fuse_req_t req, fuse_ino_t a, const char *b, mode_t c, struct fuse_file_info *d), (req, a, b, c, d)) \
	X(READ,            read,            (fuse_req_t req, fuse_ino_t a, size_t b, off_t c, struct fuse_file_info *d), (req, a, b, c, d)) \
	X(WRITE,           write,           (fuse_req_t req, fuse_ino_t a, const char *b, size_t c, off_t d, struct fuse_file_info *e), (req, a, b, c, d, e)) \
	X(FLUSH,           flush,           (fuse_req_t req, fuse_ino_t a, struct fuse_file_info *b), (req, a, b)) \
	X(FSYNC,           fsync,           (fuse_req_t req, fuse_ino_t a, int b, struct fuse_file_info *c), (req, a, b, c)) \
	X(RELEASE,         release,         (fuse_req_t req, fuse_ino_t a, struct fuse_file_info *b), (req, a, b)) \
	X(OPENDIR,         opendir,         (fuse_req_t req, fuse_ino_t a, struct fuse_file_info *b), (req, a, b)) \
	X(READDIR,         readdir,         (fuse_req_t req, fuse_ino_t a, size_t b, off_t c, struct fuse_file_info *d), (req, a, b, c, d)) \
	X(READDIRPLUS,     readdirplus,     (fuse_req_t req, fuse_ino_t a, size_t b, off_t c, struct fuse_file_info *d), (req, a, b, c, d)) \
	X(FSYNCDIR,        fsyncdir,        (fuse_req_t req, fuse_ino_t a, int b, struct fuse_file_info *c), (req, a, b, c)) \
	X(RELEASEDIR,      releasedir,      (fuse_req_t req, fuse_ino_t a, struct fuse_file_info *b), (req, a, b)) \
	X(STATFS,          statfs,          (fuse_req_t req, fuse_ino_t a), (req, a)) \
	X(ACCESS,          access,          (fuse_req_t req, fuse_ino_t a, int b), (req, a, b)) \
	X(GETXATTR,        getxattr,        (fuse_req_t req, fuse_ino_t a, const char *b, size_t c), (req, a, b, c)) \
	X(SETXATTR,        setxattr,        (fuse_req_t req, fuse_ino_t a, const char *b, const char *c, size_t d, int e), (req, a, b, c, d, e)) \
	X(LISTXATTR,       listxattr,       (fuse_req_t req, fuse_ino_t a, size_t b), (req, a, b)) \
	X(REMOVEXATTR,     removexattr,     (fuse_req_t req, fuse_ino_t a, const char *b), (req, a, b)) \
	X(GETLK,           getlk,           (fuse_req_t req, fuse_ino_t a, struct fuse_file_info *b, struct flock *c), (req, a, b, c)) \
	X(SETLK,           setlk,           (fuse_req_t req, fuse_ino_t a, struct fuse_file_info *b, struct flock *c, int d), (req, a, b, c, d)) \
	X(FLOCK,           flock,           (fuse_req_t req, fuse_ino_t a, struct fuse_file_info *b, int c), (req, a, b, c)) \
	X(FALLOCATE,       fallocate,       (fuse_req_t req, fuse_ino_t a, int b, off_t c, off_t d, struct fuse_file_info *e), (req, a, b, c, d, e)) \
	X(LSEEK,           lseek,           (fuse_req_t req, fuse_ino_t a, off_t b, int c, struct fuse_file_info *d), (req, a, b, c, d)) \
	X(COPY_FILE_RANGE, copy_file_range, (fuse_req_t req, fuse_ino_t a, off_t b, struct fuse_file_info *c, fuse_ino_t d, off_t e, struct fuse_file_info *f, size_t g, int h), (req, a, b, c, d, e, f, g, h)) \
	X(IOCTL,           ioctl,           (fuse_req_t req, fuse_ino_t a, unsigned b, void *c, struct fuse_file_info *d, unsigned e, const void *f, size_t g, size_t h), (req, a, b, c, d, e, f, g, h))
/* clang-format on */

enum operation_kind {
#define X(NAME, name, parameters, arguments) OPERATION_##NAME,
	OPERATIONS(X)
#undef X
	OPERATION_COUNT,
};

/* The last one that was asked for the answer. */
enum operation_path {
	OPERATION_BY_DAEMON,  /* nobody: from memory, by the setter, or a write that goes on behind the writer's back */
	OPERATION_BY_SERVER,  /* the NFS server */
	OPERATION_BY_URING,   /* the backing file, by the daemon's descriptor */
	OPERATION_BY_SIDECAR, /* the sidecar */
	OPERATION_PATHS,
};

struct operation {
	uint64_t began; /* ns; 0: none, or counted */
	uint64_t bytes; /* of data that was read or written */
	uint8_t kind, path;
	int16_t error; /* the errno that the caller gets; 0: none */
	/* For the log and for a trace; not set unless somebody wants them. */
	uint32_t uid, pid;
	uint64_t request, unique, fileid; /* request: 0 if not set; unique: 0 unless libfuse logs, too */
};

struct operation_counts {
	struct histogram_counts latency;
	uint64_t count, errors, bytes;
};

/* -ENOMEM. */
int operations_new(struct operations **ret);

/* Takes NULL; returns NULL. */
struct operations *operations_free(struct operations *o);

/* Puts the counting handlers before those in the table, which is complete. fuse_req_userdata() is the struct fs. */
void operations_wrap(struct operations *o, struct fuse_lowlevel_ops *ops);

/* Takes over the operation whose handler runs on this thread; zeroed where there is none, or it is taken. */
void operation_take(struct operation *ret);

/* Answers the request whose handler runs on this thread with an errno; for handlers that took nothing over. */
void operation_refuse(fuse_req_t req, int error);

/* Counts and logs an operation that was taken over, before its answer. Does nothing the second time. */
void operation_end(struct operations *o, struct operation *of);

/*
 * Tells the number that libfuse and the kernel give to the request whose handler will run next on this thread. For the
 * log only.
 */
void operation_numbered(uint64_t unique);

/* Answers a question of localioctl trace (trace.h). -ENOMEM. */
int operations_trace(struct operations *o, struct control_trace *question);

/* Adds the numbers of one operation and path. */
void operations_read(struct operations *o, enum operation_kind kind, enum operation_path path,
	struct operation_counts *to);

const char *operation_name(enum operation_kind kind);
const char *operation_path_name(enum operation_path path);
