/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl: asks localiofs mounts what they do and why. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "localiofs/control.h"
#include "base/log.h"
#include "base/text.h"
#include "mount/mountinfo.h"

struct mounts {
	char **dirs;
	size_t count;
};

static void usage(void)
{
	(void)printf("usage: localioctl status [--json] [MOUNTPOINT...]\n"
		     "       localioctl probe [MOUNTPOINT...]\n"
		     "       localioctl --help | --version\n\n"
		     "status tells of each localiofs mount, or of those given, whether it is local, why\n"
		     "not, and who serves its bytes. probe lets them find out anew, at once.\n");
}

static int add_mount(struct mounts *m, const char *dir)
{
	char **dirs = reallocarray(m->dirs, m->count + 1, sizeof(*dirs));
	char *copy = strdup(dir);

	if (!dirs || !copy)
		return -ENOMEM;
	m->dirs = dirs;
	m->dirs[m->count++] = copy;
	return 0;
}

static int take_mount(const struct mountinfo *m, void *arg)
{
	return strcmp(m->type, MOUNTINFO_TYPE) == 0 ? add_mount(arg, m->target) : 0;
}

/* JSON is UTF-8, which a name need not be. */
static json_t *name_json(const char *name)
{
	_cleanup_free_ char *copy = NULL;
	json_t *json = json_string(name);

	if (json)
		return json;
	copy = strdup(name);
	for (char *p = copy; p && *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	return json_string(copy ? copy : "");
}

static const char *open_error(int error)
{
	switch (error) {
	case ENOTCONN:
		return "its localiofs has ended; unmount it";
	case EACCES:
		return "permission denied: only the user who mounted it may ask";
	case ENOTDIR:
		return "is not the root of a localiofs mount";
	default:
		return strerror(error);
	}
}

static const char *ioctl_error(int error)
{
	switch (error) {
	case ENOTTY: /* a file system without ioctl(2), or without ours */
	case ENOSYS:
	case EINVAL:
	case EOPNOTSUPP:
		return "is not the root of a localiofs mount";
	case EPERM:
		return "only the user who mounted it and root may ask";
	default:
		return strerror(error);
	}
}

/* Of a mount without a daemon, JSON has that much to say. */
static json_t *dead_mount(const char *dir)
{
	return json_pack("{s:o, s:s, s:s, s:s}", "mountpoint", name_json(dir), "state", "dead", "reason",
		"daemon-ended", "detail", open_error(ENOTCONN));
}

/* The mount's JSON, or NULL and errno after saying why not. */
static json_t *ask(const char *dir)
{
	_cleanup_close_ int fd = open(dir, CONTROL_OPEN_FLAGS);
	_cleanup_free_ struct control_status *status = calloc(1, sizeof(*status));
	json_error_t where;
	json_t *json;

	if (fd < 0) {
		log_error("%s: %s", dir[0] ? dir : "\"\"", open_error(errno)); /* keeps errno */
		return NULL;
	}
	if (!status || ioctl(fd, CONTROL_GET_STATUS, status) < 0) {
		log_error("%s: %s", dir, ioctl_error(errno));
		return NULL;
	}
	status->json[sizeof(status->json) - 1] = '\0';
	json = json_loads(status->json, 0, &where);
	if (!json) {
		log_error("%s: its answer is no JSON: %s", dir, where.text);
		return NULL;
	}
	(void)json_object_set_new(json, "mountpoint", name_json(dir));
	return json;
}

/* What is printed for people: none of it is believed to be text. */
static void clean(json_t *json)
{
	_cleanup_free_ char *text = json_is_string(json) ? strdup(json_string_value(json)) : NULL;
	const char *key;
	json_t *value;
	size_t n;

	if (text) {
		text_clean(text);
		(void)json_string_set(json, text);
	}
	json_object_foreach (json, key, value)
		clean(value);
	json_array_foreach (json, n, value)
		clean(value);
}

static const char *text_at(const json_t *json, const char *part, const char *key)
{
	const char *s = json_string_value(json_object_get(json_object_get(json, part), key));

	return s ? s : "";
}

static long long number_at(const json_t *json, const char *part, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(json, part), key));
}

static void print_server(const json_t *server)
{
	const json_t *connections = json_object_get(server, "connections");
	const char *address = json_string_value(json_object_get(server, "address"));
	size_t up = 0, all = json_array_size(connections);

	for (size_t n = 0; n < all; n++)
		up += json_is_true(json_object_get(json_array_get(connections, n), "connected"));
	(void)printf("  server        %s, ", address ? address : "");
	if (all > 1)
		(void)printf("%zu of %zu connections up\n", up, all);
	else
		(void)printf("%s\n", up > 0 ? "connected" : "not connected");
}

static void print_transport(const json_t *j)
{
	const char *transport = json_string_value(json_object_get(j, "transport"));
	const char *reason = json_string_value(json_object_get(j, "transport_reason"));
	const char *detail = json_string_value(json_object_get(j, "transport_detail"));

	if (!transport || !reason || !detail)
		return;
	(void)printf("  transport     %s", transport);
	if (strcmp(reason, "none") != 0)
		(void)printf(" (%s: %s)", reason, detail);
	(void)printf("\n");
}

static void print_for_people(const char *dir, const json_t *j)
{
	const char *spec = json_string_value(json_object_get(j, "spec"));
	const char *state = json_string_value(json_object_get(j, "state"));
	const char *reason = json_string_value(json_object_get(j, "reason"));
	const char *detail = json_string_value(json_object_get(j, "detail"));
	time_t last = (time_t)number_at(j, "probe", "last");
	char when[64] = "never";
	struct tm tm;

	if (!spec || !state || !reason || !detail) {
		(void)printf("%s: its answer is not the status of a localiofs mount\n", dir);
		return;
	}
	if (last && localtime_r(&last, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	(void)printf("%s on %s\n", spec, dir);
	(void)printf("  state         %s", state);
	if (strcmp(state, reason) != 0)
		(void)printf(" (%s: %s)", reason, detail);
	(void)printf("\n");
	print_transport(j);
	print_server(json_object_get(j, "server"));
	if (strcmp(state, "local") == 0)
		(void)printf("  sidecar       exports %s, sees us at %s\n", text_at(j, "sidecar", "export"),
			text_at(j, "sidecar", "peer"));
	(void)printf("  last probe    %s (%lld so far)\n", when, number_at(j, "probe", "attempts"));
	(void)printf("  opens         passthrough %lld, uring %lld, remote %lld\n",
		number_at(j, "opens", "passthrough"), number_at(j, "opens", "uring"), number_at(j, "opens", "remote"));
	(void)printf("  requests      read %lld (%lld bytes), write %lld (%lld bytes) at the daemon\n",
		number_at(j, "requests", "read"), number_at(j, "requests", "bytes_read"),
		number_at(j, "requests", "write"), number_at(j, "requests", "bytes_written"));
	(void)printf("  backing ids   %lld held, %lld of them idle, %lld of ended sessions; %lld opens got none (last: "
		     "%s)\n",
		number_at(j, "backing_ids", "held"), number_at(j, "backing_ids", "idle"),
		number_at(j, "backing_ids", "left_over"), number_at(j, "grants", "denied"),
		text_at(j, "grants", "last_denial"));
	if (json_is_true(json_object_get(json_object_get(j, "locks"), "noticed")))
		(void)printf("  locks         %lld held, %lld waited for; on this mount only: other clients do not see "
			     "them\n",
			number_at(j, "locks", "locked"), number_at(j, "locks", "waiting"));
}

static void print_cleaned(const char *dir, json_t *j)
{
	_cleanup_free_ char *name = strdup(dir);

	if (!name)
		return;
	text_clean(name);
	clean(j);
	print_for_people(name, j);
}

/* Of printable ASCII alone: other characters in strings are escaped, which changes nothing for who reads JSON. */
static void print_json(const json_t *j)
{
	_cleanup_free_ char *text = json_dumps(j, JSON_INDENT(2) | JSON_ENSURE_ASCII);

	for (const char *p = text; p && *p; p++)
		if (*p == 0x7f)
			(void)fputs("\\u007f", stdout);
		else
			(void)putchar(*p);
	(void)putchar('\n');
}

static int show_status(const struct mounts *m, bool as_json, bool one)
{
	json_t *all = json_array();
	int failed = 0;

	for (size_t n = 0; n < m->count; n++) {
		json_t *j = ask(m->dirs[n]);

		if (!j)
			failed = 1;
		if (!j && as_json && errno == ENOTCONN)
			j = dead_mount(m->dirs[n]);
		if (j && as_json)
			(void)json_array_append_new(all, j);
		else if (j) {
			print_cleaned(m->dirs[n], j);
			json_decref(j);
		}
	}
	if (as_json && (!one || json_array_size(all) == 1)) {
		print_json(one ? json_array_get(all, 0) : all);
	}
	json_decref(all);
	return failed;
}

static int probe_now(const struct mounts *m)
{
	int failed = 0;

	for (size_t n = 0; n < m->count; n++) {
		const char *dir = m->dirs[n];
		_cleanup_close_ int fd = open(dir, CONTROL_OPEN_FLAGS);

		if (fd >= 0 && ioctl(fd, CONTROL_PROBE) == 0)
			continue;
		log_error("%s: %s", dir[0] ? dir : "\"\"",
			fd < 0 ? open_error(errno)
			: errno == EOPNOTSUPP
				? "the mount never is local: local=off, or neither passthrough nor io_uring"
				: ioctl_error(errno));
		failed = 1;
	}
	return failed;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'}, {0}};
	struct mounts m = {0};
	bool as_json = false, probes;
	int opt, r;

	log_open("localioctl");
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "jhV", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			as_json = true;
			break;
		case 'h':
			usage();
			return 0;
		case 'V':
			(void)printf("localioctl %s\n", LOCALIOFS_VERSION);
			return 0;
		default:
			if (optopt)
				log_error("-%c is no switch; expected --json, --help, --version", optopt);
			else
				log_error("%.80s is no switch; expected --json, --help, --version", argv[optind - 1]);
			return 1;
		}
	}
	probes = optind < argc && strcmp(argv[optind], "probe") == 0;
	if (optind >= argc || (!probes && strcmp(argv[optind], "status") != 0)) {
		log_error("%.80s: expected the command status or probe", optind < argc ? argv[optind] : "no command");
		return 1;
	}
	r = 0;
	for (int n = optind + 1; n < argc && r == 0; n++)
		r = add_mount(&m, argv[n]);
	if (m.count == 0 && r == 0)
		r = mountinfo_each(take_mount, &m);
	if (r < 0)
		log_error("cannot list the mounts: %s", strerror(-r));
	else
		r = probes ? probe_now(&m) : show_status(&m, as_json, argc - optind == 2);
	for (size_t n = 0; n < m.count; n++)
		free(m.dirs[n]);
	free(m.dirs);
	return r == 0 ? 0 : 1;
}
