/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "options.h"

#include <string.h>

#include "localiofs/local_rpc.h"

enum kind {
	KIND_FLAG,   /* sets a bool to .value */
	KIND_NUMBER, /* NAME=N with min and max */
	KIND_STRING, /* NAME=TEXT */
	KIND_CHOICE, /* NAME=one of .choices, its index is stored */
	KIND_ACCEPT, /* means nothing to us, but fstabs have it */
	KIND_REFUSE, /* .help says what to use instead */
};

struct option_entry {
	const char *name;
	enum kind kind;
	size_t offset;
	unsigned value;
	unsigned min, max;
	const char *const *choices;
	const char *form; /* of the value, for usage */
	const char *help;
};

static const char *const local_modes[] = {"auto", "passthrough", "off", NULL};

#define AT(field) offsetof(struct mount_options, field)
#define FLAG(name_, field, value_, help_)                                                          \
	{.name = (name_), .kind = KIND_FLAG, .offset = AT(field), .value = (value_), .help = (help_)}
#define NUMBER(name_, field, min_, max_, form_, help_)                                             \
	{.name = (name_), .kind = KIND_NUMBER, .offset = AT(field), .min = (min_), .max = (max_),  \
		.form = (form_), .help = (help_)}
#define ACCEPT(name_) {.name = (name_), .kind = KIND_ACCEPT}
#define REFUSE(name_, help_) {.name = (name_), .kind = KIND_REFUSE, .help = (help_)}

static const struct option_entry table[] = {
	FLAG("ro", ro, 1, "mount read-only"),
	FLAG("rw", ro, 0, "mount read-write (default)"),
	FLAG("nosuid", nosuid, 1, "ignore set-user-id and set-group-id bits"),
	FLAG("suid", nosuid, 0, "honour them (default for root)"),
	FLAG("nodev", nodev, 1, "ignore device files"),
	FLAG("dev", nodev, 0, "honour them (default for root)"),
	FLAG("noexec", noexec, 1, "refuse to execute files"),
	FLAG("exec", noexec, 0, "allow it (default)"),
	FLAG("noatime", noatime, 1, "passed to the kernel"),
	FLAG("atime", noatime, 0, "the opposite"),
	{.name = "local", .kind = KIND_CHOICE, .offset = AT(local), .choices = local_modes,
		.form = "auto|passthrough|off",
		.help = "the data paths to use when the server is on this host (default auto)"},
	{.name = "registry", .kind = KIND_STRING, .offset = AT(registry),
		.max = sizeof(((struct mount_options *)NULL)->registry), .form = "DIR",
		.help = "the sidecar's registry (default " REGISTRY_DEFAULT ")"},
	NUMBER("probeport", probeport, 1, 65535, "PORT",
		"the sidecar's port on the server's host (default 20122)"),
	NUMBER("reprobe", reprobe, 1, 86400, "SECONDS",
		"how long at most until a failed probe is repeated (default 60)"),
	NUMBER("port", port, 1, 65535, "PORT", "the NFS server's port (default: ask, else 2049)"),
	NUMBER("mountport", mountport, 1, 65535, "PORT", "mountd's port (default: ask)"),
	NUMBER("rsize", rsize, 4096, 1048576, "BYTES", "the largest READ (default: the server's choice)"),
	NUMBER("wsize", wsize, 4096, 1048576, "BYTES", "the largest WRITE (default: the server's choice)"),
	NUMBER("acregmin", acregmin, 0, 3600, "SECONDS", "how long a file's attributes are believed (default 3)"),
	NUMBER("acdirmin", acdirmin, 0, 3600, "SECONDS", "how long a directory's are (default 30)"),
	FLAG("noac", noac, 1, "believe no attributes"),
	FLAG("ac", noac, 0, "the opposite (default)"),
	NUMBER("mounttimeout", timeout, 1, 3600, "SECONDS", "how long mounting may take (default 30)"),
	FLAG("noresvport", noresvport, 1, "probe from any source port"),
	FLAG("resvport", noresvport, 0, "probe from a port below 1024 where that is allowed (default)"),
	FLAG("debug", debug, 1, "log what happens"),
	{.name = "vers", .kind = KIND_NUMBER, .offset = SIZE_MAX, .min = 3, .max = 3, .form = "3",
		.help = "the NFS version"},
	{.name = "nfsvers", .kind = KIND_NUMBER, .offset = SIZE_MAX, .min = 3, .max = 3, .form = "3",
		.help = "the same"},
	REFUSE("udp", "NFS goes over TCP here; leave it out"),
	ACCEPT("tcp"), ACCEPT("hard"), ACCEPT("nolock"), ACCEPT("intr"), ACCEPT("nointr"),
	ACCEPT("fg"), ACCEPT("_netdev"), ACCEPT("nofail"), ACCEPT("auto"), ACCEPT("noauto"), ACCEPT("defaults"),
	ACCEPT("user"), ACCEPT("nouser"), ACCEPT("users"), ACCEPT("owner"), ACCEPT("group"),
	ACCEPT("relatime"), ACCEPT("norelatime"), ACCEPT("strictatime"), ACCEPT("nostrictatime"),
	ACCEPT("diratime"), ACCEPT("nodiratime"), ACCEPT("async"), ACCEPT("allow_other"),
	REFUSE("bg", "mounting is tried once, in the foreground; leave it out"),
	REFUSE("remount", "a mount's options cannot be changed; unmount it and mount it again"),
	REFUSE("soft", "requests wait for the server here (hard); leave it out"),
};

void options_init(struct mount_options *o)
{
	memset(o, 0, sizeof(*o));
	o->local = LOCAL_AUTO;
	o->probeport = LOCAL_RPC_PORT;
	o->reprobe = 60;
	o->acregmin = 3;
	o->acdirmin = 30;
	o->timeout = 30;
	(void)snprintf(o->registry, sizeof(o->registry), "%s", REGISTRY_DEFAULT);
}

static int take_choice(
	struct mount_options *o, const struct option_entry *e, const char *value, char *sentence, size_t size)
{
	for (unsigned n = 0; e->choices[n]; n++)
		if (strcmp(e->choices[n], value) == 0) {
			memcpy((char *)o + e->offset, &n, sizeof(n));
			return 0;
		}
	(void)snprintf(sentence, size, "option %s=%s: expected %s", e->name, value, e->form);
	return -EINVAL;
}

static int take_number(
	struct mount_options *o, const struct option_entry *e, const char *value, char *sentence, size_t size)
{
	uint64_t number;
	unsigned n;

	if (parse_u64(value, e->min, e->max, &number) < 0) {
		(void)snprintf(sentence, size, "option %s=%s: expected a number from %u to %u", e->name,
			value, e->min, e->max);
		return -EINVAL;
	}
	n = (unsigned)number;
	if (e->offset != SIZE_MAX)
		memcpy((char *)o + e->offset, &n, sizeof(n));
	return 0;
}

static int take_string(
	struct mount_options *o, const struct option_entry *e, const char *value, char *sentence, size_t size)
{
	if (value[0] != '/' || strlen(value) >= e->max) {
		(void)snprintf(sentence, size,
			"option %s=%s: expected an absolute path shorter than %u bytes", e->name, value,
			e->max);
		return -EINVAL;
	}
	memcpy((char *)o + e->offset, value, strlen(value) + 1);
	return 0;
}

static int take_option(
	struct mount_options *o, const struct option_entry *e, const char *value, char *sentence, size_t size)
{
	bool wants = e->kind == KIND_NUMBER || e->kind == KIND_STRING || e->kind == KIND_CHOICE;
	bool flag;

	if (e->kind == KIND_REFUSE) {
		(void)snprintf(sentence, size, "option %s: %s", e->name, e->help);
		return -EINVAL;
	}
	if (wants && !value) {
		(void)snprintf(sentence, size, "option %s: expected %s=%s", e->name, e->name,
			e->form ? e->form : "VALUE");
		return -EINVAL;
	}
	if (!wants && value) {
		(void)snprintf(sentence, size, "option %s=%s: it takes no value", e->name, value);
		return -EINVAL;
	}
	switch (e->kind) {
	case KIND_FLAG:
		flag = e->value;
		memcpy((char *)o + e->offset, &flag, sizeof(flag));
		return 0;
	case KIND_NUMBER:
		return take_number(o, e, value, sentence, size);
	case KIND_STRING:
		return take_string(o, e, value, sentence, size);
	case KIND_CHOICE:
		return take_choice(o, e, value, sentence, size);
	default:
		return 0;
	}
}

/* mount(8) keeps these for itself; an older one hands them on. */
static bool is_userspace_option(const char *name)
{
	return strncmp(name, "x-", 2) == 0 || strncmp(name, "X-", 2) == 0 ||
	       strncmp(name, "comment=", 8) == 0 || strncmp(name, "user=", 5) == 0;
}

static int parse_one(struct mount_options *o, char *text, bool sloppy, char *sentence, size_t size)
{
	char *value;

	if (*text == '\0' || is_userspace_option(text))
		return 0;
	value = strchr(text, '=');
	if (value)
		*value++ = '\0';
	for (size_t n = 0; n < ARRAY_SIZE(table); n++)
		if (strcmp(table[n].name, text) == 0)
			return take_option(o, &table[n], value, sentence, size);
	if (sloppy)
		return 0;
	(void)snprintf(sentence, size, "option %s is not known; localiofs --help lists those that are", text);
	return -EINVAL;
}

int options_parse(
	struct mount_options *o, const char *list, bool sloppy, char *sentence, size_t size)
{
	_cleanup_free_ char *one = malloc(strlen(list) + 1);
	const char *p = list;

	if (!one)
		return -ENOMEM;
	for (;;) {
		size_t length = 0;
		int r;

		while (*p != '\0' && *p != ',') {
			if (*p == '\\' && p[1] != '\0')
				p++;
			one[length++] = *p++;
		}
		one[length] = '\0';
		r = parse_one(o, one, sloppy, sentence, size);
		if (r < 0)
			return r;
		if (*p++ == '\0')
			break;
	}
	if (o->noac)
		o->acregmin = o->acdirmin = 0;
	return 0;
}

void options_usage(FILE *to)
{
	for (size_t n = 0; n < ARRAY_SIZE(table); n++) {
		const struct option_entry *e = &table[n];
		char form[64];

		if (e->kind == KIND_ACCEPT || e->kind == KIND_REFUSE || !e->help)
			continue;
		(void)snprintf(form, sizeof(form), "%s%s%s", e->name, e->form ? "=" : "",
			e->form ? e->form : "");
		(void)fprintf(to, "  %-28s %s\n", form, e->help);
	}
	(void)fprintf(to, "  accepted without effect:    ");
	for (size_t n = 0; n < ARRAY_SIZE(table); n++)
		if (table[n].kind == KIND_ACCEPT)
			(void)fprintf(to, " %s", table[n].name);
	(void)fprintf(to, "\n");
}

int spec_parse(const char *text, struct mount_spec *ret, char *sentence, size_t size)
{
	const char *host = text, *host_end, *path;
	size_t host_length;

	if (*text == '[') {
		host = text + 1;
		host_end = strchr(host, ']');
		path = host_end && host_end[1] == ':' ? host_end + 2 : NULL;
	} else {
		host_end = strchr(text, ':');
		path = host_end ? host_end + 1 : NULL;
	}
	host_length = host_end ? (size_t)(host_end - host) : 0;
	if (!path || host_length == 0 || host_length >= sizeof(ret->host) || path[0] != '/' ||
		strlen(path) >= sizeof(ret->path)) {
		(void)snprintf(sentence, size,
			"%s: expected SERVER:/EXPORT, with an IPv6 address in brackets", text);
		return -EINVAL;
	}
	memcpy(ret->host, host, host_length);
	ret->host[host_length] = '\0';
	memcpy(ret->path, path, strlen(path) + 1);
	return 0;
}

const char *local_mode_name(unsigned mode)
{
	return mode < ARRAY_SIZE(local_modes) - 1 ? local_modes[mode] : "unknown";
}
