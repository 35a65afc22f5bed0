/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/options.h"

#include <sys/mount.h>

#include "base/text.h"
#include "localiofs/local_rpc.h"

enum kind {
	KIND_FLAG,   /* sets a bool to .value */
	KIND_NUMBER, /* NAME=N with min and max */
	KIND_STRING, /* NAME=PATH */
	KIND_HOST,   /* NAME=HOST, in brackets or not */
	KIND_SET,    /* sets a number to .value */
	KIND_CHOICE, /* NAME=one of .choices, its index is stored */
	KIND_ACCEPT, /* means nothing to us, but fstabs have it; with .value also NAME=TEXT */
	KIND_SHOWN,  /* the kernel shows it of a FUSE mount, and it comes back with remount */
	KIND_REFUSE, /* .help says what to use instead */
};

enum {
	CLAMPED = 1, /* .flags: a larger number means the largest, as for the kernel's client */
	LISTED = 2,  /* a list with colons, of which one must do */
	BARE = 4,    /* of a choice: without a value it is the first one */
};

struct option_entry {
	const char *name;
	enum kind kind;
	size_t offset;
	unsigned value;
	unsigned min, max;
	unsigned span; /* of a number: into so many fields, one after another; 0: one */
	unsigned flags;
	const char *const *choices; /* "one|other" are two words for the same */
	unsigned long mount_flag;   /* MS_*, of a flag that the kernel keeps and a remount changes */
	const char *form;           /* of the value, for usage */
	const char *help;
};

static const char *const local_modes[] = {"auto", "passthrough", "uring", "off", NULL};
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

#define AT(field) offsetof(struct mount_options, field)
#define FLAG(name_, field, value_, help_)                                                                   \
	{                                                                                                   \
		.name = (name_), .kind = KIND_FLAG, .offset = AT(field), .value = (value_), .help = (help_) \
	}
#define KERNEL(name_, field, value_, flag_, help_)                                                                 \
	{                                                                                                          \
		.name = (name_), .kind = KIND_FLAG, .offset = AT(field), .value = (value_), .mount_flag = (flag_), \
		.help = (help_)                                                                                    \
	}
#define NUMBER(name_, field, min_, max_, form_, help_)                                                   \
	{                                                                                                \
		.name = (name_), .kind = KIND_NUMBER, .offset = AT(field), .min = (min_), .max = (max_), \
		.form = (form_), .help = (help_)                                                         \
	}
/* The same where a larger number is made the largest. */
#define UP_TO(name_, field, min_, max_, form_, help_)                                                    \
	{                                                                                                \
		.name = (name_), .kind = KIND_NUMBER, .offset = AT(field), .min = (min_), .max = (max_), \
		.flags = CLAMPED, .form = (form_), .help = (help_)                                       \
	}
#define CHOICE(name_, offset_, choices_, form_, help_)                                                             \
	{                                                                                                          \
		.name = (name_), .kind = KIND_CHOICE, .offset = (offset_), .choices = (choices_), .form = (form_), \
		.help = (help_)                                                                                    \
	}
#define NOWHERE SIZE_MAX /* the offset of what only has to be right */
#define SET(name_, field, value_, help_)                                                                   \
	{                                                                                                  \
		.name = (name_), .kind = KIND_SET, .offset = AT(field), .value = (value_), .help = (help_) \
	}
#define ACCEPT(name_)                                \
	{                                            \
		.name = (name_), .kind = KIND_ACCEPT \
	}
#define ACCEPT_ANY(name_)                                        \
	{                                                        \
		.name = (name_), .kind = KIND_ACCEPT, .value = 1 \
	}
#define SHOWN(name_)                                \
	{                                           \
		.name = (name_), .kind = KIND_SHOWN \
	}
#define REFUSE(name_, help_)                                          \
	{                                                             \
		.name = (name_), .kind = KIND_REFUSE, .help = (help_) \
	}

#define USE_NFS4 "NFS is version 3 here; give vers=3, or mount it with -t nfs"

static const struct option_entry table[] = {
	KERNEL("ro", ro, 1, MS_RDONLY, "mount read-only"),
	KERNEL("rw", ro, 0, MS_RDONLY, "mount read-write (default)"),
	KERNEL("nosuid", nosuid, 1, MS_NOSUID, "ignore set-user-id and set-group-id bits"),
	KERNEL("suid", nosuid, 0, MS_NOSUID, "honour them (default for root)"),
	KERNEL("nodev", nodev, 1, MS_NODEV, "ignore device files"),
	KERNEL("dev", nodev, 0, MS_NODEV, "honour them (default for root)"),
	KERNEL("noexec", noexec, 1, MS_NOEXEC, "refuse to execute files"),
	KERNEL("exec", noexec, 0, MS_NOEXEC, "allow it (default)"),
	KERNEL("noatime", noatime, 1, MS_NOATIME, "passed to the kernel"),
	KERNEL("atime", noatime, 0, MS_NOATIME, "the opposite"),
	FLAG("remount", remount, 1, "change the options above, of a mount that is there"),
	CHOICE("local", AT(local), local_modes, "auto|passthrough|uring|off",
		"the data paths to use when the server is on this host (default auto)"),
	CHOICE("transport", AT(transport), fuse_transports, "auto|uring|dev",
		"how requests come from the kernel: over io_uring where that works, or /dev/fuse (default auto)"),
	{.name = "registry",
		.kind = KIND_STRING,
		.offset = AT(registry),
		.max = sizeof(((struct mount_options *)NULL)->registry),
		.form = "DIR",
		.help = "the sidecar's registry (default " REGISTRY_DEFAULT ")"},
	NUMBER("probeport", probeport, 1, 65535, "PORT",
		"the sidecar's port on the server's host (default: the sidecar says, mostly 20122)"),
	NUMBER("reprobe", reprobe, 1, 86400, "SECONDS",
		"how long at most until a failed probe is repeated (default 60)"),
	NUMBER("port", port, 0, 65535, "PORT", "the NFS server's port (default: ask, else 2049)"),
	{.name = "mounthost",
		.kind = KIND_HOST,
		.offset = AT(mounthost),
		.max = sizeof(((struct mount_options *)NULL)->mounthost),
		.form = "HOST",
		.help = "the mount daemon's host (default: the server)"},
	NUMBER("mountport", mountport, 0, 65535, "PORT", "mountd's port (default: ask)"),
	UP_TO("rsize", rsize, 0, 1048576, "BYTES", "the largest READ (default: the server's choice)"),
	UP_TO("wsize", wsize, 0, 1048576, "BYTES", "the largest WRITE (default: the server's choice)"),
	NUMBER("acregmin", acregmin, 0, 31536000, "SECONDS",
		"how long a file's attributes are believed at least (default 3)"),
	NUMBER("acregmax", acregmax, 0, 31536000, "SECONDS", "... and at most, while nothing changes (default 60)"),
	NUMBER("acdirmin", acdirmin, 0, 31536000, "SECONDS", "how long a directory's are at least (default 30)"),
	NUMBER("acdirmax", acdirmax, 0, 31536000, "SECONDS", "... and at most (default 60)"),
	{.name = "actimeo",
		.kind = KIND_NUMBER,
		.offset = AT(acregmin),
		.span = 4,
		.max = 31536000,
		.form = "SECONDS",
		.help = "all four of these"},
	FLAG("noac", noac, 1, "believe no attributes"),
	FLAG("ac", noac, 0, "the opposite (default)"),
	FLAG("nocto", nocto, 1, "opening a file asks for no fresh attributes"),
	FLAG("cto", nocto, 0, "close-to-open consistency (default)"),
	CHOICE("lookupcache", AT(lookupcache), lookup_caches, "all|none|pos|positive",
		"which answers to LOOKUP are believed for a while (default all)"),
	FLAG("nolock", nolock, 1, "locks hold on this mount only, which need not be said"),
	FLAG("lock", nolock, 0, "... which is said once when a program locks a file (default)"),
	CHOICE("local_lock", AT(local_lock), local_locks, "none|flock|posix|all",
		"for which kind it need not be said (default none)"),
	{.name = "rdirplus",
		.kind = KIND_CHOICE,
		.offset = AT(readdirplus),
		.choices = readdirplus_modes,
		.flags = BARE,
		.form = "auto|none|force",
		.help = "whether listings bring attributes (default auto, also without a value)"},
	SET("nordirplus", readdirplus, READDIRPLUS_NONE, "they do not"),
	FLAG("sync", sync, 1, "what write(2) wrote is stable when it returns"),
	FLAG("async", sync, 0, "when close(2) or fsync(2) does (default)"),
	CHOICE("write", AT(write), write_modes, "lazy|eager|wait",
		"whether write(2) waits for the server's answer (default lazy)"),
	CHOICE("commit", AT(commit), commit_times, "close|fsync", "when local files are made stable (default close)"),
	CHOICE("odirect", AT(odirect), odirect_modes, "through|any|buffered",
		"who serves O_DIRECT on local files (default through: their filesystem)"),
	SET("hard", recovery, RECOVERY_HARD, "requests wait for the server (default)"),
	SET("soft", recovery, RECOVERY_SOFT, "those that it does not answer in time fail with EIO"),
	SET("softerr", recovery, RECOVERY_SOFTERR, "... with ETIMEDOUT"),
	UP_TO("timeo", timeo, 1, 6000, "TENTHS", "tenths of a second until an answer is asked for again (default 600)"),
	NUMBER("retrans", retrans, 0, 100, "N", "how often, until a request has taken too long (default 2)"),
	NUMBER("nconnect", nconnect, 1, 16, "N", "TCP connections to the NFS server (default 1)"),
	NUMBER("retry", retry, 0, 100000, "MINUTES",
		"how long mounting is tried again (default half a minute, with bg 10000)"),
	FLAG("bg", bg, 1, "if the server does not answer, go on trying in the background"),
	FLAG("fg", bg, 0, "the opposite (default)"),
	NUMBER("mounttimeout", timeout, 1, 3600, "SECONDS",
		"how long mounting may take in the foreground (default: what retry says)"),
	FLAG("noresvport", noresvport, 1, "connect from any source port"),
	FLAG("resvport", noresvport, 0, "connect from ports below 1024 where that is allowed (default)"),
	FLAG("noacl", noacl, 1, "do not ask the server for ACLs"),
	FLAG("acl", noacl, 0, "the opposite (default)"),
	FLAG("underlay", underlay, 1,
		"let overlayfs lie on this mount; then files of a server on overlayfs are not passed through"),
	FLAG("debug", debug, 1, "log what happens"),
	{.name = "vers",
		.kind = KIND_NUMBER,
		.offset = NOWHERE,
		.min = 3,
		.max = 3,
		.form = "3",
		.help = "the NFS version"},
	{.name = "nfsvers",
		.kind = KIND_NUMBER,
		.offset = NOWHERE,
		.min = 3,
		.max = 3,
		.form = "3",
		.help = "the same"},
	{.name = "mountvers",
		.kind = KIND_NUMBER,
		.offset = NOWHERE,
		.min = 3,
		.max = 3,
		.form = "3",
		.help = "the version of the mount protocol"},
	CHOICE("proto", AT(proto), protocols, "tcp|tcp6", "TCP over IPv4 or over IPv6 (default: as the name has it)"),
	CHOICE("mountproto", AT(mountproto), protocols, "tcp|tcp6",
		"the same for the mount protocol (default: as proto)"),
	{.name = "sec",
		.kind = KIND_CHOICE,
		.offset = NOWHERE,
		.choices = flavours,
		.flags = LISTED,
		.form = "sys",
		.help = "the security flavour"},
	CHOICE("xprtsec", NOWHERE, transport_security, "none", "the security of the connection"),
	REFUSE("udp", "NFS goes over TCP here; leave it out"),
	REFUSE("rdma", "NFS goes over TCP here; leave it out"),
	REFUSE("v2", "NFS is version 3 here; give vers=3 or leave it out"),
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

/* Values that the kernel's client knows: what to use in their place. */
static const struct {
	const char *option, *value;
	const char *help;
} refused_values[] = {
	{"vers", "2", "NFS is version 3 here; give vers=3 or leave it out"},
	{"vers", "4", USE_NFS4},
	{"vers", "4.0", USE_NFS4},
	{"vers", "4.1", USE_NFS4},
	{"vers", "4.2", USE_NFS4},
	{"mountvers", "1", "the handles of NFS version 3 come from version 3 of MOUNT; leave it out"},
	{"mountvers", "2", "the handles of NFS version 3 come from version 3 of MOUNT; leave it out"},
	{"proto", "udp", "NFS goes over TCP here; give proto=tcp or leave it out"},
	{"proto", "udp6", "NFS goes over TCP here; give proto=tcp6 or leave it out"},
	{"proto", "rdma", "NFS goes over TCP here; give proto=tcp, or mount it with -t nfs"},
	{"proto", "rdma6", "NFS goes over TCP here; give proto=tcp6, or mount it with -t nfs"},
	{"mountproto", "udp", "the mount daemon is asked over TCP; leave it out, and mountport if that is UDP's"},
	{"mountproto", "udp6", "the mount daemon is asked over TCP; leave it out, and mountport if that is UDP's"},
	{"sec", "none", "requests carry the caller's uid and gids; give sec=sys or leave it out"},
	{"sec", "krb5", "there is no Kerberos here; give sec=sys, or mount it with -t nfs"},
	{"sec", "krb5i", "there is no Kerberos here; give sec=sys, or mount it with -t nfs"},
	{"sec", "krb5p", "there is no Kerberos here; give sec=sys, or mount it with -t nfs"},
	{"xprtsec", "tls", "there is no TLS here; leave it out, or mount it with -t nfs"},
	{"xprtsec", "mtls", "there is no TLS here; leave it out, or mount it with -t nfs"},
};

void options_init(struct mount_options *o)
{
	memset(o, 0, sizeof(*o));
	o->local = LOCAL_AUTO;
	o->reprobe = 60;
	o->acregmin = 3;
	o->acdirmin = 30;
	o->acregmax = o->acdirmax = 60;
	o->retry = RETRY_UNSET;
	o->timeo = 600;
	o->retrans = 2;
	o->nconnect = 1;
	(void)snprintf(o->registry, sizeof(o->registry), "%s", REGISTRY_DEFAULT);
}

/* Whether one of the words of a list is the value, which is length bytes long. */
static bool has_word(const char *list, char separator, const char *value, size_t length)
{
	for (const char *end; list; list = end ? end + 1 : NULL) {
		end = strchr(list, separator);
		if ((end ? (size_t)(end - list) : strlen(list)) == length && memcmp(list, value, length) == 0)
			return true;
	}
	return false;
}

static int take_host(struct mount_options *o, const struct option_entry *e, const char *value, char *sentence,
	size_t size)
{
	size_t length = strlen(value);

	if (value[0] == '[' && length > 1 && value[length - 1] == ']') {
		value++;
		length -= 2;
	}
	if (length == 0 || length >= e->max) {
		(void)snprintf(sentence, size,
			"option %s=" SHORT ": expected a host name or an address shorter than %u bytes", e->name,
			SHORTEN(value, 80), e->max);
		return -EINVAL;
	}
	memcpy((char *)o + e->offset, value, length);
	((char *)o)[e->offset + length] = '\0';
	return 0;
}

static int take_choice(struct mount_options *o, const struct option_entry *e, const char *value, char *sentence,
	size_t size)
{
	for (unsigned n = 0; e->choices[n]; n++) {
		if (e->choices[n][0] == '\0') /* stands for none, and cannot be given */
			continue;
		if (e->flags & LISTED ? !has_word(value, ':', e->choices[n], strlen(e->choices[n]))
				      : !has_word(e->choices[n], '|', value, strlen(value)))
			continue;
		if (e->offset != NOWHERE)
			memcpy((char *)o + e->offset, &n, sizeof(n));
		return 0;
	}
	(void)snprintf(sentence, size, "option %s=" SHORT ": expected %s", e->name, SHORTEN(value, 80), e->form);
	return -EINVAL;
}

static int take_number(struct mount_options *o, const struct option_entry *e, const char *value, char *sentence,
	size_t size)
{
	uint64_t number;
	unsigned n;

	if (parse_u64(value, e->min, e->flags & CLAMPED ? UINT32_MAX : e->max, &number) < 0) {
		if (e->min == e->max)
			(void)snprintf(sentence, size, "option %s=" SHORT ": expected %u", e->name, SHORTEN(value, 80),
				e->min);
		else
			(void)snprintf(sentence, size, "option %s=" SHORT ": expected a number from %u to %u", e->name,
				SHORTEN(value, 80), e->min, e->max);
		return -EINVAL;
	}
	n = (unsigned)MIN(number, e->max);
	for (unsigned i = 0; i < MAX(e->span, 1U) && e->offset != NOWHERE; i++)
		memcpy((char *)o + e->offset + i * sizeof(n), &n, sizeof(n));
	return 0;
}

static int take_string(struct mount_options *o, const struct option_entry *e, const char *value, char *sentence,
	size_t size)
{
	if (value[0] != '/' || strlen(value) >= e->max) {
		(void)snprintf(sentence, size, "option %s=" SHORT ": expected an absolute path shorter than %u bytes",
			e->name, SHORTEN(value, 80), e->max);
		return -EINVAL;
	}
	memcpy((char *)o + e->offset, value, strlen(value) + 1);
	return 0;
}

/* -EINVAL and what to use when the kernel's client knows this value and we do not take it. */
static int check_refused(const struct option_entry *e, const char *value, char *sentence, size_t size)
{
	const char *name = strcmp(e->name, "nfsvers") == 0 ? "vers" : e->name;

	for (size_t n = 0; n < ARRAY_SIZE(refused_values); n++)
		if (strcmp(refused_values[n].option, name) == 0 && strcmp(refused_values[n].value, value) == 0) {
			(void)snprintf(sentence, size, "option %s=%s: %s", e->name, value, refused_values[n].help);
			return -EINVAL;
		}
	return 0;
}

static int take_option(struct mount_options *o, const struct option_entry *e, const char *value, char *sentence,
	size_t size)
{
	bool wants = e->kind == KIND_NUMBER || e->kind == KIND_STRING || e->kind == KIND_HOST || e->kind == KIND_CHOICE;
	bool flag;

	if (e->kind == KIND_SHOWN)
		return 0;
	if (e->kind == KIND_REFUSE) {
		(void)snprintf(sentence, size, "option %s: %s", e->name, e->help);
		return -EINVAL;
	}
	if (e->flags & BARE && !value)
		value = e->choices[0];
	if (wants && !value) {
		(void)snprintf(sentence, size, "option %s: expected %s=%s", e->name, e->name,
			e->form ? e->form : "VALUE");
		return -EINVAL;
	}
	if (!wants && value && !(e->kind == KIND_ACCEPT && e->value)) {
		(void)snprintf(sentence, size, "option %s=" SHORT ": it takes no value", e->name, SHORTEN(value, 80));
		return -EINVAL;
	}
	if (value && check_refused(e, value, sentence, size) < 0)
		return -EINVAL;
	switch (e->kind) {
	case KIND_FLAG:
		flag = e->value;
		memcpy((char *)o + e->offset, &flag, sizeof(flag));
		return 0;
	case KIND_SET:
		memcpy((char *)o + e->offset, &e->value, sizeof(e->value));
		return 0;
	case KIND_NUMBER:
		return take_number(o, e, value, sentence, size);
	case KIND_STRING:
		return take_string(o, e, value, sentence, size);
	case KIND_HOST:
		return take_host(o, e, value, sentence, size);
	case KIND_CHOICE:
		return take_choice(o, e, value, sentence, size);
	default:
		return 0;
	}
}

/* mount(8) keeps these for itself; an older one hands them on. */
static bool is_userspace_option(const char *name)
{
	return strncmp(name, "x-", 2) == 0 || strncmp(name, "X-", 2) == 0 || strncmp(name, "comment=", 8) == 0 ||
	       strncmp(name, "user=", 5) == 0;
}

static const struct option_entry *find_entry(const struct mount_options *o, const char *name)
{
	for (size_t n = 0; n < ARRAY_SIZE(table); n++)
		if (strcmp(table[n].name, name) == 0)
			return table[n].kind == KIND_SHOWN && !o->remount ? NULL : &table[n];
	return NULL;
}

static int parse_one(struct mount_options *o, char *text, bool sloppy, char *sentence, size_t size)
{
	const struct option_entry *e;
	char *value;

	if (*text == '\0' || is_userspace_option(text))
		return 0;
	value = strchr(text, '=');
	if (value)
		*value++ = '\0';
	e = find_entry(o, text);
	if (e)
		return take_option(o, e, value, sentence, size);
	if (sloppy)
		return 0;
	(void)snprintf(sentence, size, "option " SHORT " is not known; localiofs --help lists those that are",
		SHORTEN(text, 80));
	return -EINVAL;
}

/*
 * Copies the option that *list begins with, without what protects its commas, and moves *list to the
 * next one, or to NULL. False when a quotation mark is not closed.
 */
static bool next_option(const char **list, char *ret)
{
	const char *p = *list;
	bool quoted = false;

	for (; *p != '\0' && (quoted || *p != ','); p++) {
		if (*p == '"') {
			quoted = !quoted;
			continue;
		}
		if (*p == '\\' && p[1] != '\0')
			p++;
		*ret++ = *p;
	}
	*ret = '\0';
	*list = *p == ',' ? p + 1 : NULL;
	return !quoted;
}

int options_parse(struct mount_options *o, const char *list, bool sloppy, char *sentence, size_t size)
{
	_cleanup_free_ char *one = malloc(strlen(list) + 1);

	if (!one)
		return -ENOMEM;
	while (list) {
		int r;

		if (!next_option(&list, one)) {
			(void)snprintf(sentence, size, "option " SHORT ": expected a second quotation mark",
				SHORTEN(one, 80));
			return -EINVAL;
		}
		r = parse_one(o, one, sloppy, sentence, size);
		if (r < 0)
			return r;
	}
	return 0;
}

bool options_ask_remount(const char *list)
{
	_cleanup_free_ char *one = malloc(strlen(list) + 1);

	while (one && list && next_option(&list, one))
		if (strcmp(one, "remount") == 0)
			return true;
	return false;
}

static const void *field(const struct mount_options *o, const struct option_entry *e)
{
	return (const char *)o + e->offset;
}

/* Whether the option, given with its value, is how o stands; not for what is at no field. */
static bool is_set(const struct mount_options *o, const struct option_entry *e)
{
	unsigned number;
	bool flag;

	if (e->offset == NOWHERE || e->span > 0) /* each of the span has an entry of its own */
		return false;
	switch (e->kind) {
	case KIND_FLAG:
		memcpy(&flag, field(o, e), sizeof(flag));
		return flag == (bool)e->value;
	case KIND_SET:
		memcpy(&number, field(o, e), sizeof(number));
		return number == e->value;
	case KIND_NUMBER:
		memcpy(&number, field(o, e), sizeof(number));
		return number >= e->min && number <= e->max;
	case KIND_CHOICE:
		memcpy(&number, field(o, e), sizeof(number));
		return e->choices[number][0] != '\0';
	case KIND_STRING:
	case KIND_HOST:
		return *(const char *)field(o, e) != '\0';
	default:
		return false;
	}
}

/* NAME or NAME=VALUE as o has it. */
static void write_option(const struct mount_options *o, const struct option_entry *e, char *buf, size_t size)
{
	bool plain = e->kind == KIND_FLAG || e->kind == KIND_SET;
	unsigned number;
	size_t n;

	n = (size_t)snprintf(buf, size, "%s%s", e->name, plain ? "" : "=");
	if (n >= size)
		return;
	if (e->kind == KIND_NUMBER || e->kind == KIND_CHOICE)
		memcpy(&number, field(o, e), sizeof(number));
	if (e->kind == KIND_NUMBER)
		(void)snprintf(buf + n, size - n, "%u", number);
	else if (e->kind == KIND_CHOICE)
		(void)snprintf(buf + n, size - n, "%.*s", (int)strcspn(e->choices[number], "|"), e->choices[number]);
	else if (e->kind == KIND_STRING || e->kind == KIND_HOST)
		(void)snprintf(buf + n, size - n, "%s", (const char *)field(o, e));
}

int options_text(const struct mount_options *o, char *buf, size_t size)
{
	size_t used = 0;

	for (size_t n = 0; n < ARRAY_SIZE(table); n++) {
		char one[300]; /* a name and the longest text */

		if (!is_set(o, &table[n]) || table[n].offset == AT(remount))
			continue;
		write_option(o, &table[n], one, sizeof(one));
		if (used + 2 * strlen(one) + 2 > size)
			return -ENOBUFS;
		if (used > 0)
			buf[used++] = ',';
		for (const char *p = one; *p; p++) {
			if (*p == ',' || *p == '\\' || *p == '"')
				buf[used++] = '\\';
			buf[used++] = *p;
		}
		buf[used] = '\0';
	}
	return 0;
}

unsigned long options_mount_flags(const struct mount_options *o)
{
	/* No .mount_flag, since a remount cannot change it: the daemon would not learn of that. */
	unsigned long flags = o->sync ? MS_SYNCHRONOUS : 0;

	for (size_t n = 0; n < ARRAY_SIZE(table); n++)
		if (table[n].mount_flag != 0 && table[n].value == 1 && is_set(o, &table[n]))
			flags |= table[n].mount_flag;
	return flags;
}

static bool same_value(const struct mount_options *a, const struct mount_options *b, const struct option_entry *e)
{
	if (e->kind == KIND_STRING || e->kind == KIND_HOST)
		return strcmp(field(a, e), field(b, e)) == 0;
	return memcmp(field(a, e), field(b, e), e->kind == KIND_FLAG ? sizeof(bool) : sizeof(unsigned)) == 0;
}

int options_check_remount(const struct mount_options *running, const struct mount_options *agreed,
	const struct mount_options *wanted, char *sentence, size_t size)
{
	for (size_t n = 0; n < ARRAY_SIZE(table); n++) {
		const struct option_entry *e = &table[n];
		char new[300], old[300];

		if (e->mount_flag != 0 || e->offset == AT(remount) || !is_set(wanted, e) ||
			same_value(wanted, running, e) || same_value(wanted, agreed, e))
			continue;
		write_option(wanted, e, new, sizeof(new));
		write_option(agreed, e, old, sizeof(old));
		(void)snprintf(sentence, size,
			"option " SHORT ": a remount cannot change %s%s; unmount it and mount it again",
			SHORTEN(new, 80), is_set(agreed, e) ? old : e->name,
			is_set(agreed, e) ? "" : ", which was not given");
		return -EINVAL;
	}
	return 0;
}

static void names_of_kind(FILE *to, const char *title, enum kind kind)
{
	(void)fprintf(to, "  %s:", title);
	for (size_t n = 0; n < ARRAY_SIZE(table); n++)
		if (table[n].kind == kind)
			(void)fprintf(to, " %s", table[n].name);
	for (size_t n = 0; n < ARRAY_SIZE(refused_values) && kind == KIND_REFUSE; n++)
		(void)fprintf(to, " %s=%s", refused_values[n].option, refused_values[n].value);
	(void)fprintf(to, "\n");
}

void options_usage(FILE *to)
{
	for (size_t n = 0; n < ARRAY_SIZE(table); n++) {
		const struct option_entry *e = &table[n];
		char form[64];

		if (!e->help || e->kind == KIND_REFUSE)
			continue;
		(void)snprintf(form, sizeof(form), "%s%s%s", e->name, e->form ? "=" : "", e->form ? e->form : "");
		(void)fprintf(to, "  %-28s %s\n", form, e->help);
	}
	names_of_kind(to, "accepted without effect", KIND_ACCEPT);
	names_of_kind(to, "accepted with remount", KIND_SHOWN);
	names_of_kind(to, "refused", KIND_REFUSE);
}

const char *local_mode_name(unsigned mode)
{
	return mode < ARRAY_SIZE(local_modes) - 1 ? local_modes[mode] : "unknown";
}
