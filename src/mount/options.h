/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mount options. One table (options.c) is parser, usage text and list of the manual page.
 * Constant after parsing.
 */
#pragma once

#include <stdio.h>

#include "localiofs/local_rpc.h"
#include "base/util.h"

enum local_mode {
	LOCAL_AUTO,
	LOCAL_PASSTHROUGH,
	LOCAL_URING,
	LOCAL_OFF,
};

/* What becomes of a request that the server does not answer in time; nfs(5). */
enum recovery {
	RECOVERY_HARD,    /* it waits */
	RECOVERY_SOFT,    /* EIO */
	RECOVERY_SOFTERR, /* ETIMEDOUT */
};

/* Which answers to LOOKUP may be believed for a while; nfs(5). */
enum lookup_cache {
	LOOKUP_CACHE_ALL,
	LOOKUP_CACHE_NONE,
	LOOKUP_CACHE_POSITIVE,
};

/* What a netid stands for; nfs(5). */
enum protocol {
	PROTOCOL_ANY,  /* IPv4 or IPv6, as the name has it */
	PROTOCOL_TCP,  /* IPv4 */
	PROTOCOL_TCP6, /* IPv6 */
};

/* Whose locks are known to be local; nfs(5). All are: of the others it is said once. */
enum local_lock {
	LOCAL_LOCK_NONE,
	LOCAL_LOCK_FLOCK,
	LOCAL_LOCK_POSIX,
	LOCAL_LOCK_ALL,
};

/* Whether listings bring attributes and handles; nfs(5). */
enum readdirplus {
	READDIRPLUS_AUTO, /* where the kernel expects them to be wanted */
	READDIRPLUS_NONE,
	READDIRPLUS_FORCE,
};

/* When written data goes to the server; nfs(5). */
enum write_when {
	WRITE_LAZY,
	WRITE_EAGER, /* the same here: nothing lies still while the server could have it */
	WRITE_WAIT,  /* the writer waits for the server's answer */
};

/* How FUSE requests come from the kernel. */
enum fuse_transport {
	FUSE_TRANSPORT_AUTO,  /* over io_uring where that works */
	FUSE_TRANSPORT_URING, /* the same, and it is said when it does not */
	FUSE_TRANSPORT_DEV,   /* by read(2) and write(2) of /dev/fuse */
};

/* When what was written to a local file is made stable, besides fsync(2). */
enum commit_when {
	COMMIT_CLOSE, /* NFS's promise */
	COMMIT_FSYNC, /* a local filesystem's: not before */
};

/* What becomes of O_DIRECT on local files; fs/nfsd/vfs.c and fs/nfs/localio.c have servers' and clients' ways. */
enum odirect {
	ODIRECT_THROUGH,  /* it reaches the backing filesystem, whose own EINVAL a misaligned request gets */
	ODIRECT_ANY,      /* the daemon reads past the page cache, whatever the alignment */
	ODIRECT_BUFFERED, /* through the server's page cache */
};

#define RETRY_UNSET (~0U)

struct mount_options {
	bool ro, nosuid, nodev, noexec, noatime; /* flags of the kernel's mount */
	bool remount;                            /* change the flags of a mount that is there */
	bool noac;                               /* acregmin and acdirmin do not count */
	bool nolock;                             /* the same as LOCAL_LOCK_ALL */
	bool sync;                               /* of write(2): what was written is stable when it returns */
	bool nocto;                              /* opening a file asks for no fresh attributes */
	bool noresvport;
	bool noacl;    /* leave NFSACL alone */
	bool underlay; /* overlayfs may lie on the mount, instead of below the server's files */
	bool debug;
	unsigned port, mountport;                        /* 0: ask the port mapper */
	unsigned proto, mountproto;                      /* enum protocol */
	unsigned probeport;                              /* 0: the one that the sidecar tells */
	unsigned reprobe;                                /* seconds */
	unsigned rsize, wsize;                           /* bytes; 0: what the server prefers */
	unsigned acregmin, acregmax, acdirmin, acdirmax; /* seconds; in this order for actimeo */
	unsigned lookupcache;                            /* enum lookup_cache */
	unsigned local_lock;                             /* enum local_lock */
	unsigned readdirplus;                            /* enum readdirplus */
	unsigned write;                                  /* enum write_when */
	unsigned commit;                                 /* enum commit_when */
	unsigned odirect;                                /* enum odirect */
	unsigned timeout; /* seconds that mounting may take in the foreground; 0: as retry says */
	unsigned retry;   /* minutes, or RETRY_UNSET */
	bool bg;
	unsigned recovery; /* enum recovery */
	unsigned timeo;    /* tenths of a second */
	unsigned retrans;
	unsigned nconnect;  /* connections */
	unsigned local;     /* enum local_mode */
	unsigned transport; /* enum fuse_transport */
	char registry[REGISTRY_MAX_PATH];
	char mounthost[256]; /* empty: the server */
};

/* The defaults; then options_parse() for every -o. */
void options_init(struct mount_options *o);

/*
 * Takes a comma list as mount(8) gives it. A backslash or quotation marks protect a comma. On failure
 * -EINVAL and a sentence that names the option, the value and what would be right. sloppy: unknown
 * options are ignored (mount -s). When o->remount was set before, what the kernel shows of a FUSE
 * mount is accepted, since mount(8) hands it back then.
 */
int options_parse(struct mount_options *o, const char *list, bool sloppy, char *sentence, size_t size);

/* Whether the list has "remount". */
bool options_ask_remount(const char *list);

/* The list that options_parse() makes these options of, but for "remount"; -ENOBUFS. */
int options_text(const struct mount_options *o, char *buf, size_t size);

/* MS_* of mount(2). */
unsigned long options_mount_flags(const struct mount_options *o);

/*
 * Whether a running mount can be remounted to what is wanted: only mount flags may differ. What was
 * agreed with the server is as good as what the mount was given. -EINVAL and a sentence that names
 * the first option which cannot change.
 */
int options_check_remount(const struct mount_options *running, const struct mount_options *agreed,
	const struct mount_options *wanted, char *sentence, size_t size);

/* Every option with its value's form and what it means; those without effect; those refused, and values that are. */
void options_usage(FILE *to);

const char *local_mode_name(unsigned mode);
