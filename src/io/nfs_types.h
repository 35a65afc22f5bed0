/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The values that NFS requests and their answers consist of, as all NFS versions have them. Plain values; no state.
 * The types follow NFSv3 (RFC 1813) and NFSACL (fs/nfs_common/nfsacl.c), numbers are in the host's byte order.
 */
#pragma once

#include "base/util.h"
#include "localiofs/nfs_access.h"

#define NFS_FH_MAX     64
#define NFS_GROUPS_MAX 16
#define NFS_NAME_MAX   255

struct nfs_fh {
	uint32_t len; /* bytes; 0: no handle */
	uint8_t data[NFS_FH_MAX];
};

/* AUTH_UNIX, RFC 5531 appendix A. */
struct nfs_cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t ngroups;
	uint32_t groups[NFS_GROUPS_MAX];
};

/* fattr3, RFC 1813 2.6; mode includes the type bits of st_mode. */
struct nfs_attr {
	uint32_t mode;
	uint32_t nlink;
	uint32_t uid;
	uint32_t gid;
	uint64_t size; /* bytes */
	uint64_t used; /* bytes on disk */
	uint64_t fsid;
	uint64_t fileid;
	uint32_t rdev_major;
	uint32_t rdev_minor;
	struct timespec atime, mtime, ctime;
};

/* wcc_data, RFC 1813 2.6: a directory right before and right after an operation in it. */
struct nfs_wcc {
	bool has_before, has_after;
	bool no_acl; /* the sidecar alone tells: the directory has no ACL after the change */
	uint64_t size_before;
	struct timespec mtime_before, ctime_before;
	struct nfs_attr after;
};

/* clang-format off */
/*
 * The procedures: of RFC 1813, then those of NFSACL, program 100227 version 3, then NFSv4's, on the same connection. Of
 * NFSv4 only looks are sent (struct nfs_look).
 */
#define NFS_PROCS(X) \
	X(NULL) X(GETATTR) X(SETATTR) X(LOOKUP) X(ACCESS) X(READLINK) X(READ) X(WRITE) X(CREATE) X(MKDIR) X(SYMLINK) X(MKNOD) \
	X(REMOVE) X(RMDIR) X(RENAME) X(LINK) X(READDIR) X(READDIRPLUS) X(FSSTAT) X(FSINFO) X(PATHCONF) X(COMMIT) \
	X(GETACL) X(SETACL) X(COMPOUND)
/* clang-format on */

enum nfs_proc {
#define X(name) NFS_##name,
	NFS_PROCS(X)
#undef X
	NFS_PROC_COUNT,
};

/* stable_how, RFC 1813 3.3.7. */
enum nfs_stable {
	NFS_UNSTABLE = 0,
	NFS_DATA_SYNC = 1,
	NFS_FILE_SYNC = 2,
};

/* sattr3, RFC 1813 2.6: the attributes to set. A time is the server's clock or the given value. */
struct nfs_sattr {
	bool set_mode, set_uid, set_gid, set_size;
	bool set_atime, set_mtime, atime_now, mtime_now;
	uint32_t mode; /* permission bits; for MKNOD the type bits, too */
	uint32_t uid;
	uint32_t gid;
	uint64_t size;
	struct timespec atime, mtime;
};

/* An entry of a directory. */
struct nfs_entry {
	const char *name;
	uint64_t fileid;
	uint64_t cookie; /* names the entry after this one */
	bool has_attr;
	bool no_acl; /* the sidecar has found no access ACL */
	struct nfs_attr attr;
	struct nfs_fh fh; /* len 0: the server sent none */
};

/* A verifier of WRITE, COMMIT, CREATE or a directory's cookies. */
struct nfs_verf {
	uint8_t data[8];
};

/* The parts that GETACL asks for and SETACL sets; NFS_ACL etc. in include/uapi/linux/nfsacl.h. */
enum nfs_acl_mask {
	NFS_ACL_ACCESS = 0x01,
	NFS_ACL_ACCESS_COUNT = 0x02,
	NFS_ACL_DEFAULT = 0x04,
	NFS_ACL_DEFAULT_COUNT = 0x08,
};

#define NFS_ACL_MAX      1024    /* entries of one ACL that a server may answer (NFS_ACL_MAX_ENTRIES) */
#define NFS_ACL_SETTABLE 300     /* entries of both ACLs that one SETACL has room for in libnfs */
#define NFS_ACE_DEFAULT  0x1000U /* in the tag of each entry of a default ACL */

/* An entry of an ACL as it is on the wire; fuse/kernel/posix_acl.h knows the meaning of the tags. */
struct nfs_ace {
	uint32_t tag, id, perm;
};

/*
 * An access ACL and a default ACL. A file without a default ACL has a default_count of 0. A file without an access
 * ACL has four entries: three from its mode, and a mask that equals the group's. But four entries alone do not mean
 * that the file has no ACL: the mask may differ from the group's.
 */
struct nfs_acls {
	uint32_t mask; /* enum nfs_acl_mask: the parts that are given */
	uint32_t access_count, default_count;
	const struct nfs_ace *access, *dflt; /* GETACL: NULL where only the count was asked for */
};

#define NFS_LOOKS_MAX 16 /* of one COMPOUND */

/*
 * A look at an object, many of which travel in one COMPOUND, and its answer. Ganesha fetches all attributes anew when
 * one asks for the ACL, and has none in memory (FSAL_MDCACHE mdcache_test_attrs_trust()).
 */
struct nfs_look {
	const struct nfs_fh *fh;
	int error;    /* 0; -ESTALE: no such file; -EAGAIN: not answered */
	bool has_acl; /* and so the server may have answered from its memory; the rest is not told */
	bool has_mtime;
	struct timespec mtime;
};

/* The name of a procedure as RFC 1813, or the protocol of NFSACL, spells it. */
const char *nfs_proc_name(enum nfs_proc proc);

static inline bool nfs_fh_equal(const struct nfs_fh *a, const struct nfs_fh *b)
{
	return a->len == b->len && __builtin_memcmp(a->data, b->data, a->len) == 0;
}

static inline bool nfs_cred_equal(const struct nfs_cred *a, const struct nfs_cred *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->ngroups == b->ngroups &&
	       __builtin_memcmp(a->groups, b->groups, a->ngroups * sizeof(a->groups[0])) == 0;
}
