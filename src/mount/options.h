/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mount options: their values, the parser, and their text. The table in options_table.c drives all of them. A
 * struct mount_options is a plain value of its owner, constant after parsing. Errors are a negative errno and a
 * sentence for people, which names the option, the value and what would have been right.
 */
#pragma once

#include <stdio.h>

#include "localiofs/local_rpc.h"
#include "base/util.h"

/* The data paths that the mount may use when the server is on this host. */
enum local_mode {
	LOCAL_AUTO,
	LOCAL_PASSTHROUGH,
	LOCAL_URING,
	LOCAL_OFF,
	LOCAL_REQUIRED, /* as auto, and mounting fails if the server is on another host */
};

/* The ids that the server gets of a daemon in a user namespace of its own. */
enum id_map_mode {
	ID_MAP_OUTSIDE, /* those of the parent namespace */
	ID_MAP_INSIDE,  /* those of the daemon's own namespace */
};

/* The fate of a request that the server does not answer in time; nfs(5). */
enum recovery {
	RECOVERY_HARD,    /* it waits */
	RECOVERY_SOFT,    /* EIO */
	RECOVERY_SOFTERR, /* ETIMEDOUT */
};

/* The answers to LOOKUP that are trusted for a while; nfs(5). */
enum lookup_cache {
	LOOKUP_CACHE_ALL,
	LOOKUP_CACHE_NONE,
	LOOKUP_CACHE_POSITIVE,
};

/* A netid of nfs(5). */
enum protocol {
	PROTOCOL_ANY,  /* TCP over IPv4 or IPv6, by the server's address */
	PROTOCOL_TCP,  /* over IPv4 */
	PROTOCOL_TCP6, /* over IPv6 */
};

/*
 * The kinds of locks that the user knows to be local; nfs(5). All locks are local: the first of another kind is logged.
 */
enum local_lock {
	LOCAL_LOCK_NONE,
	LOCAL_LOCK_FLOCK,
	LOCAL_LOCK_POSIX,
	LOCAL_LOCK_ALL,
};

/* When listings fetch attributes and handles (READDIRPLUS); nfs(5). */
enum readdirplus {
	READDIRPLUS_AUTO, /* where the kernel expects that programs want attributes */
	READDIRPLUS_NONE,
	READDIRPLUS_FORCE,
};

/* When written data goes to the server; nfs(5). */
enum write_when {
	WRITE_LAZY,
	WRITE_EAGER, /* the same as lazy: data never waits while the server could have it */
	WRITE_WAIT,  /* the writer waits for the server's answer */
};

/* How FUSE requests arrive from the kernel. */
enum fuse_transport {
	FUSE_TRANSPORT_AUTO,  /* over io_uring where that works */
	FUSE_TRANSPORT_URING, /* the same, with a warning in the log where io_uring does not work */
	FUSE_TRANSPORT_DEV,   /* by read(2) and write(2) of /dev/fuse */
};

/* When data of a local file is made stable, besides fsync(2). */
enum commit_when {
	COMMIT_CLOSE, /* at close(2): NFS's promise */
	COMMIT_FSYNC, /* never: the promise of a local filesystem */
};

/*
 * How O_DIRECT works on local files; fs/nfsd/vfs.c and fs/nfs/localio.c have the ways of the kernel's server and
 * client.
 */
enum odirect {
	ODIRECT_THROUGH,  /* it reaches the backing filesystem, which answers misaligned requests with EINVAL */
	ODIRECT_ANY,      /* the daemon reads past the page cache, whatever the alignment */
	ODIRECT_BUFFERED, /* through the server's page cache */
};

#define RETRY_UNSET (~0U)

struct mount_options {
	bool ro, nosuid, nodev, noexec, noatime; /* flags of the kernel's mount */
	bool remount;                            /* change the flags of an existing mount */
	bool noac;                               /* acregmin and acdirmin do not count */
	bool nolock;                             /* the same as LOCAL_LOCK_ALL */
	bool sync;                               /* data is stable when write(2) returns */
	bool nocto;                              /* opening a file does not ask for fresh attributes */
	bool noresvport;                         /* connect from any source port */
	bool noacl;                              /* do not use NFSACL */
	bool nonotices;                          /* believe nothing for longer, whatever the sidecar notices */
	bool underlay; /* overlayfs may lie on the mount, instead of below the server's files */
	bool debug;
	unsigned port, mountport;                        /* 0: ask the port mapper */
	unsigned proto, mountproto;                      /* enum protocol */
	unsigned probeport;                              /* 0: the sidecar says */
	unsigned reprobe;                                /* seconds */
	unsigned rsize, wsize;                           /* bytes; 0: the server's preference */
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
	unsigned recovery;  /* enum recovery */
	unsigned timeo;     /* tenths of a second */
	unsigned retrans;   /* repetitions */
	unsigned nconnect;  /* connections */
	unsigned local;     /* enum local_mode */
	unsigned map;       /* enum id_map_mode */
	unsigned transport; /* enum fuse_transport */
	char registry[REGISTRY_MAX_PATH];
	char metrics[256];   /* empty: nowhere */
	char mounthost[256]; /* empty: the server */
};

/* Sets the defaults; options_parse() follows for every -o. */
void options_init(struct mount_options *o);

/*
 * Takes a list with commas, as mount(8) gives it. A backslash or quotation marks protect a comma. -EINVAL and a
 * sentence if an option is wrong; -ENOMEM. With sloppy unknown options are ignored (mount -s). If o->remount was
 * already set, the options that the kernel shows of a FUSE mount are accepted, since mount(8) gives them back for a
 * remount.
 */
int options_parse(struct mount_options *o, const char *list, bool sloppy, char *sentence, size_t size);

/*
 * Takes one option of the defaults file, NAME or NAME=VALUE without quotation marks, and changes the text. As
 * options_parse(), and -EINVAL also for an option that could have no effect there: mount(8) has obeyed it already, or
 * always gives it or its opposite.
 */
int options_take_default(struct mount_options *o, char *text, bool sloppy, char *sentence, size_t size);

/* True if the list has "remount". */
bool options_ask_remount(const char *list);

/* The list of which options_parse() makes the same options, without "remount"; -ENOBUFS. */
int options_text(const struct mount_options *o, char *buf, size_t size);

/* The options as MS_* of mount(2). */
unsigned long options_mount_flags(const struct mount_options *o);

/*
 * 0 if a remount can make the wanted options of a running mount: only mount flags may change. A wanted value must equal
 * the running one, or the value that was agreed with the server. Otherwise -EINVAL and a sentence that names the first
 * option that cannot change.
 */
int options_check_remount(const struct mount_options *running, const struct mount_options *agreed,
	const struct mount_options *wanted, char *sentence, size_t size);

/*
 * 0 if a running mount can take the wanted options without a new mount: only options that are OPTION_LIVE may change.
 * Otherwise -EINVAL and a sentence that names the first option that cannot change.
 */
int options_check_change(const struct mount_options *running, const struct mount_options *wanted, char *sentence,
	size_t size);

/*
 * Prints each option with the form of its value and its meaning, then the names for localioctl set, those without
 * effect, and the refused ones.
 */
void options_usage(FILE *to);

/* The word of an enum local_mode, "unknown" for another number. */
const char *local_mode_name(unsigned mode);
const char *id_map_name(unsigned mode);
