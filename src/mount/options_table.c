/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/options_table.h"

#include <sys/mount.h>

#include "localiofs/local_rpc.h"

static const char *const local_modes[] = {"auto", "passthrough", "uring", "off", "required", NULL};
static const char *const id_map_modes[] = {"outside", "inside", NULL};
static const char *const protocols[] = {"", "tcp", "tcp6", NULL}; /* enum protocol */
static const char *const flavours[] = {"sys", NULL};
static const char *const transport_security[] = {"none", NULL};
static const char *const local_locks[] = {"none", "flock", "posix", "all", NULL};
static const char *const readdirplus_modes[] = {"auto", "none", "force", NULL};
static const char *const write_modes[] = {"lazy", "eager", "wait", NULL};
static const char *const fuse_transports[] = {"auto", "uring", "dev", NULL};
static const char *const commit_times[] = {"close", "fsync", NULL};
static const char *const odirect_modes[] = {"through", "any", "buffered", NULL};
static const char *const lookup_caches[] = {"all", "none", "pos|positive", NULL};

#define AT(field)   offsetof(struct mount_options, field)
#define SIZE(field) sizeof(((struct mount_options *)NULL)->field)

/* clang-format off */
#define ENTRY(name_, kind_, ...) {.name = (name_), .kind = OPTION_##kind_, __VA_ARGS__}
#define FLAG(name, field, value_, help_) \
	ENTRY(name, FLAG, .offset = AT(field), .value = (value_), .help = (help_))
#define KERNEL(name, field, value_, mount_flag_, help_) /* a flag of the kernel's mount */ \
	ENTRY(name, FLAG, .offset = AT(field), .value = (value_), .mount_flag = (mount_flag_), .help = (help_))
#define SET(name, field, value_, help_) \
	ENTRY(name, SET, .offset = AT(field), .value = (value_), .help = (help_))
#define NUMBER(name, field, initial_, min_, max_, form_, help_) \
	ENTRY(name, NUMBER, .offset = AT(field), .initial = (initial_), .min = (min_), .max = (max_), .form = (form_), \
		.help = (help_))
#define UP_TO(name, field, initial_, min_, max_, form_, help_) /* a number above the largest means the largest */ \
	ENTRY(name, NUMBER, .offset = AT(field), .initial = (initial_), .min = (min_), .max = (max_), \
		.flags = OPTION_CLAMPED, .form = (form_), .help = (help_))
#define NUMBERS(name, field, span_, min_, max_, form_, help_) /* so many live fields from this one on */ \
	ENTRY(name, NUMBER, .offset = AT(field), .span = (span_), .min = (min_), .max = (max_), \
		.flags = OPTION_LIVE, .form = (form_), .help = (help_))
#define LIVE(name, field, initial_, min_, max_, form_, help_) /* a number that localioctl set changes */ \
	ENTRY(name, NUMBER, .offset = AT(field), .initial = (initial_), .min = (min_), .max = (max_), \
		.flags = OPTION_LIVE, .form = (form_), .help = (help_))
#define LIVE_FLAG(name, field, value_, help_) \
	ENTRY(name, FLAG, .offset = AT(field), .value = (value_), .flags = OPTION_LIVE, .help = (help_))
#define FIXED(name, number, form_, help_) /* the only number that is right */ \
	ENTRY(name, NUMBER, .offset = OPTION_NO_FIELD, .min = (number), .max = (number), .form = (form_), .help = (help_))
#define PATH(name, field, initial_, form_, help_) \
	ENTRY(name, PATH, .offset = AT(field), .initial_text = (initial_), .max = SIZE(field), .form = (form_), \
		.help = (help_))
#define HOST(name, field, initial_, form_, help_) \
	ENTRY(name, HOST, .offset = AT(field), .initial_text = (initial_), .max = SIZE(field), .form = (form_), \
		.help = (help_))
#define CHOICE(name, offset_, choices_, flags_, form_, help_) \
	ENTRY(name, CHOICE, .offset = (offset_), .choices = (choices_), .flags = (flags_), .form = (form_), .help = (help_))
#define ACCEPT(name)       ENTRY(name, ACCEPT, .value = 0)
#define ACCEPT_ANY(name)   ENTRY(name, ACCEPT, .value = 1)
#define SHOWN(name)        ENTRY(name, SHOWN, .value = 0)
#define REFUSE(name, help_) ENTRY(name, REFUSE, .help = (help_))
/* clang-format on */

#define USE_VERS3 "localiofs speaks NFS version 3 only; give vers=3 or leave it out"
#define USE_NFS4  "localiofs speaks NFS version 3 only; give vers=3, or mount it with -t nfs"
#define USE_TCP   "localiofs speaks NFS over TCP only; "

const struct option_entry option_table[] = {
	KERNEL("ro", ro, 1, MS_RDONLY, "mount read-only"),
	KERNEL("rw", ro, 0, MS_RDONLY, "mount read-write (default)"),
	KERNEL("nosuid", nosuid, 1, MS_NOSUID, "ignore set-user-id and set-group-id bits"),
	KERNEL("suid", nosuid, 0, MS_NOSUID, "honour these bits (default for root)"),
	KERNEL("nodev", nodev, 1, MS_NODEV, "ignore device files"),
	KERNEL("dev", nodev, 0, MS_NODEV, "honour device files (default for root)"),
	KERNEL("noexec", noexec, 1, MS_NOEXEC, "refuse to execute files"),
	KERNEL("exec", noexec, 0, MS_NOEXEC, "allow files to be executed (default)"),
	KERNEL("noatime", noatime, 1, MS_NOATIME, "do not update access times; passed to the kernel"),
	KERNEL("atime", noatime, 0, MS_NOATIME, "the opposite of noatime"),
	FLAG("remount", remount, 1, "change the options above for an existing mount"),
	CHOICE("local", AT(local), local_modes, OPTION_LIVE, "auto|passthrough|uring|off|required",
		"the data paths to use when the server is on this host (default auto)"),
	CHOICE("map", AT(map), id_map_modes, 0, "outside|inside",
		"the ids that the server gets from a user namespace (default outside)"),
	CHOICE("transport", AT(transport), fuse_transports, 0, "auto|uring|dev",
		"how the kernel's requests arrive: over io_uring where that works, or /dev/fuse (default auto)"),
	PATH("registry", registry, REGISTRY_DEFAULT, "DIR", "the sidecar's registry (default " REGISTRY_DEFAULT ")"),
	PATH("metrics", metrics, "", "PATH",
		"offer metrics on a unix socket, or in a file if PATH ends with .prom (default: nowhere)"),
	NUMBER("probeport", probeport, 0, 1, 65535, "PORT",
		"the sidecar's port on the server's host (default: the sidecar says, usually 20122)"),
	LIVE("reprobe", reprobe, 60, 1, 86400, "SECONDS",
		"the longest wait after a failed probe until the next one (default 60)"),
	NUMBER("port", port, 0, 0, 65535, "PORT", "the NFS server's port (default: ask the port mapper, else 2049)"),
	HOST("mounthost", mounthost, "", "HOST", "the mount daemon's host (default: the server)"),
	NUMBER("mountport", mountport, 0, 0, 65535, "PORT", "the mount daemon's port (default: ask the port mapper)"),
	UP_TO("rsize", rsize, 0, 0, 1048576, "BYTES", "the largest READ (default: the server's choice)"),
	UP_TO("wsize", wsize, 0, 0, 1048576, "BYTES", "the largest WRITE (default: the server's choice)"),
	LIVE("acregmin", acregmin, 3, 0, 31536000, "SECONDS",
		"the shortest time to trust a file's attributes (default 3)"),
	LIVE("acregmax", acregmax, 60, 0, 31536000, "SECONDS",
		"the longest time, reached while nothing changes (default 60)"),
	LIVE("acdirmin", acdirmin, 30, 0, 31536000, "SECONDS",
		"the shortest time to trust a directory's attributes (default 30)"),
	LIVE("acdirmax", acdirmax, 60, 0, 31536000, "SECONDS", "the longest time for directories (default 60)"),
	NUMBERS("actimeo", acregmin, 4, 0, 31536000, "SECONDS", "sets all four of these times"),
	FLAG("noac", noac, 1, "trust no attributes"),
	FLAG("ac", noac, 0, "the opposite of noac (default)"),
	LIVE_FLAG("nocto", nocto, 1, "do not ask for fresh attributes when a file is opened"),
	LIVE_FLAG("cto", nocto, 0, "close-to-open consistency (default)"),
	LIVE_FLAG("nonotices", nonotices, 1, "do not believe names for longer where the sidecar watches them"),
	LIVE_FLAG("notices", nonotices, 0, "the opposite of nonotices (default)"),
	CHOICE("lookupcache", AT(lookupcache), lookup_caches, OPTION_LIVE, "all|none|pos|positive",
		"which answers to LOOKUP are trusted for a while (default all)"),
	FLAG("nolock", nolock, 1, "do not log that locks hold on this mount only"),
	FLAG("lock", nolock, 0, "log it when a program first locks a file (default)"),
	CHOICE("local_lock", AT(local_lock), local_locks, 0, "none|flock|posix|all",
		"the kinds of locks for which that is not logged (default none)"),
	CHOICE("rdirplus", AT(readdirplus), readdirplus_modes, OPTION_BARE, "auto|none|force",
		"whether listings bring attributes (default auto, also without a value)"),
	SET("nordirplus", readdirplus, READDIRPLUS_NONE, "the same as rdirplus=none"),
	FLAG("sync", sync, 1, "data is stable when write(2) returns"),
	FLAG("async", sync, 0, "data is stable when close(2) or fsync(2) returns (default)"),
	CHOICE("write", AT(write), write_modes, 0, "lazy|eager|wait",
		"whether write(2) waits for the server's answer (default lazy)"),
	CHOICE("commit", AT(commit), commit_times, OPTION_LIVE, "close|fsync",
		"which call makes the data of local files stable (default close)"),
	CHOICE("odirect", AT(odirect), odirect_modes, 0, "through|any|buffered",
		"what serves O_DIRECT on local files (default through: their filesystem)"),
	SET("hard", recovery, RECOVERY_HARD, "requests wait until the server answers (default)"),
	SET("soft", recovery, RECOVERY_SOFT, "requests without an answer in time fail with EIO"),
	SET("softerr", recovery, RECOVERY_SOFTERR, "requests without an answer in time fail with ETIMEDOUT"),
	UP_TO("timeo", timeo, 600, 1, 6000, "TENTHS", "tenths of a second until a request is repeated (default 600)"),
	NUMBER("retrans", retrans, 2, 0, 100, "N", "repetitions until a request has taken too long (default 2)"),
	NUMBER("nconnect", nconnect, 1, 1, 16, "N", "TCP connections to the NFS server (default 1)"),
	NUMBER("retry", retry, RETRY_UNSET, 0, 100000, "MINUTES",
		"how long to repeat a failed mount (default half a minute, with bg 10000)"),
	FLAG("bg", bg, 1, "if the server does not answer, go on in the background"),
	FLAG("fg", bg, 0, "the opposite of bg (default)"),
	NUMBER("mounttimeout", timeout, 0, 1, 3600, "SECONDS",
		"how long mounting may take in the foreground (default: as retry says)"),
	FLAG("noresvport", noresvport, 1, "connect from any source port"),
	FLAG("resvport", noresvport, 0, "connect from ports below 1024 where that is allowed (default)"),
	FLAG("noacl", noacl, 1, "do not ask the server for ACLs"),
	FLAG("acl", noacl, 0, "the opposite of noacl (default)"),
	FLAG("underlay", underlay, 1,
		"allow overlayfs on this mount; then files of a server on overlayfs are not passed through"),
	LIVE_FLAG("debug", debug, 1, "log what happens"),
	LIVE_FLAG("nodebug", debug, 0, "the opposite of debug (default)"),
	FIXED("vers", 3, "3", "the NFS version"),
	FIXED("nfsvers", 3, "3", "the same as vers"),
	FIXED("mountvers", 3, "3", "the version of the mount protocol"),
	CHOICE("proto", AT(proto), protocols, 0, "tcp|tcp6",
		"TCP over IPv4 or over IPv6 (default: by the server's address)"),
	CHOICE("mountproto", AT(mountproto), protocols, 0, "tcp|tcp6",
		"the same for the mount protocol (default: as proto)"),
	CHOICE("sec", OPTION_NO_FIELD, flavours, OPTION_LISTED, "sys", "the security flavour"),
	CHOICE("xprtsec", OPTION_NO_FIELD, transport_security, 0, "none", "the security of the connection"),
	REFUSE("udp", USE_TCP "leave it out"),
	REFUSE("rdma", USE_TCP "leave it out"),
	REFUSE("v2", USE_VERS3),
	REFUSE("v4", USE_NFS4),
	REFUSE("v4.0", USE_NFS4),
	REFUSE("v4.1", USE_NFS4),
	REFUSE("v4.2", USE_NFS4),
	REFUSE("minorversion", USE_NFS4),
	REFUSE("softreval", "nothing is served from memory while the server is away; give soft or softerr"),
	ACCEPT("tcp"),
	ACCEPT("v3"),
	ACCEPT("intr"),
	ACCEPT("nointr"),
	ACCEPT("sharecache"),
	ACCEPT("nosharecache"),
	ACCEPT_ANY("fsc"),
	ACCEPT("nofsc"),
	ACCEPT("posix"),
	ACCEPT("noposix"),
	ACCEPT("nosoftreval"),
	ACCEPT("migration"),
	ACCEPT("nomigration"),
	ACCEPT("trunkdiscovery"),
	ACCEPT("notrunkdiscovery"),
	ACCEPT_ANY("max_connect"),
	ACCEPT_ANY("clientaddr"),
	ACCEPT_ANY("addr"),
	ACCEPT_ANY("mountaddr"),
	ACCEPT_ANY("bsize"),
	ACCEPT_ANY("namlen"),
	ACCEPT("alignwrite"),
	ACCEPT("noalignwrite"),
	ACCEPT("_netdev"),
	ACCEPT("nofail"),
	ACCEPT("auto"),
	ACCEPT("noauto"),
	ACCEPT("defaults"),
	ACCEPT("user"),
	ACCEPT("nouser"),
	ACCEPT("users"),
	ACCEPT("owner"),
	ACCEPT("group"),
	ACCEPT("relatime"),
	ACCEPT("norelatime"),
	ACCEPT("strictatime"),
	ACCEPT("nostrictatime"),
	ACCEPT("diratime"),
	ACCEPT("nodiratime"),
	ACCEPT("lazytime"),
	ACCEPT("nolazytime"),
	ACCEPT("dirsync"),
	ACCEPT("nomand"),
	ACCEPT("iversion"),
	ACCEPT("noiversion"),
	ACCEPT("silent"),
	ACCEPT("loud"),
	ACCEPT("allow_other"),
	SHOWN("user_id"),
	SHOWN("group_id"),
	SHOWN("max_read"),
};
const size_t option_table_size = ARRAY_SIZE(option_table);

#define USE_MOUNT3  "the handles of NFS version 3 come from version 3 of MOUNT; leave it out"
#define USE_MOUNTD  "localiofs asks the mount daemon over TCP only; leave it out, and mountport if that is UDP's"
#define NO_KERBEROS "localiofs has no Kerberos; give sec=sys, or mount it with -t nfs"
#define NO_TLS      "localiofs has no TLS; leave it out, or mount it with -t nfs"

const struct refused_value refused_values[] = {
	{"vers", "2", USE_VERS3},
	{"vers", "4", USE_NFS4},
	{"vers", "4.0", USE_NFS4},
	{"vers", "4.1", USE_NFS4},
	{"vers", "4.2", USE_NFS4},
	{"mountvers", "1", USE_MOUNT3},
	{"mountvers", "2", USE_MOUNT3},
	{"proto", "udp", USE_TCP "give proto=tcp or leave it out"},
	{"proto", "udp6", USE_TCP "give proto=tcp6 or leave it out"},
	{"proto", "rdma", USE_TCP "give proto=tcp, or mount it with -t nfs"},
	{"proto", "rdma6", USE_TCP "give proto=tcp6, or mount it with -t nfs"},
	{"mountproto", "udp", USE_MOUNTD},
	{"mountproto", "udp6", USE_MOUNTD},
	{"sec", "none", "requests carry the caller's uid and gids; give sec=sys or leave it out"},
	{"sec", "krb5", NO_KERBEROS},
	{"sec", "krb5i", NO_KERBEROS},
	{"sec", "krb5p", NO_KERBEROS},
	{"xprtsec", "tls", NO_TLS},
	{"xprtsec", "mtls", NO_TLS},
};
const size_t refused_values_size = ARRAY_SIZE(refused_values);

const char *id_map_name(unsigned mode)
{
	return mode < ARRAY_SIZE(id_map_modes) - 1 ? id_map_modes[mode] : "unknown";
}

const char *local_mode_name(unsigned mode)
{
	return mode < ARRAY_SIZE(local_modes) - 1 ? local_modes[mode] : "unknown";
}
