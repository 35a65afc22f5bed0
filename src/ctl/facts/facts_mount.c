/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/stat.h>

#include "base/text.h"
#include "base/whole_io.h"
#include "ctl/facts/doctor_facts.h"
#include "localiofs/control.h"
#include "mount/defaults/defaults.h"
#include "mount/mountinfo.h"

/* ---- which mount ---- */

/* The absolute path without "." and "..", by its words alone: links may lead into a mount that hangs. */
static int plain_path(const char *path, char *ret, size_t size)
{
	_cleanup_free_ char *cwd = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
	_cleanup_free_ char *copy = NULL;
	char *save = NULL;
	size_t length = 0;

	if (!cwd || asprintf(&copy, "%s/%s", cwd, path) < 0)
		return -ENOMEM;
	ret[0] = '\0';
	for (char *word = strtok_r(copy, "/", &save); word; word = strtok_r(NULL, "/", &save)) {
		if (strcmp(word, ".") == 0)
			continue;
		if (strcmp(word, "..") == 0) {
			char *last = strrchr(ret, '/');

			length = last ? (size_t)(last - ret) : 0;
			ret[length] = '\0';
			continue;
		}
		if (length + strlen(word) + 2 > size)
			return -ENAMETOOLONG;
		length += (size_t)snprintf(ret + length, size - length, "/%s", word);
	}
	return 0;
}

struct search {
	const char *path;
	struct doctor_facts *facts;
	size_t best; /* the length of the longest target so far */
};

/* The last of the longest targets is the mount that the path leads to. */
static int take_longest(const struct mountinfo *m, void *arg)
{
	struct search *s = arg;
	size_t length = strcmp(m->target, "/") == 0 ? 0 : strlen(m->target);

	if (strncmp(m->target, s->path, length) != 0 || (s->path[length] != '/' && s->path[length] != '\0') ||
		length < s->best)
		return 0;
	s->best = length;
	s->facts->mount.there = strcmp(m->type, MOUNTINFO_TYPE) == 0;
	(void)snprintf(s->facts->mount.source, sizeof(s->facts->mount.source), "%s", m->source);
	(void)snprintf(s->facts->directory, sizeof(s->facts->directory), "%.*s", (int)length, s->path);
	(void)snprintf(s->facts->file.path, sizeof(s->facts->file.path), "%s", s->path + length);
	return 0;
}

static void write_real_path(int to, const void *arg)
{
	_cleanup_free_ char *real = realpath(arg, NULL);

	if (real)
		(void)write_all(to, real, strlen(real));
}

static void find_mount(struct doctor_facts *f, const char *target)
{
	char path[1024], real[1024];
	struct search s = {.path = path, .facts = f};
	ssize_t r;

	if (plain_path(target, path, sizeof(path)) < 0)
		return;
	(void)mountinfo_each(take_longest, &s);
	if (f->mount.there)
		return;
	r = in_child(write_real_path, target, real, sizeof(real) - 1);
	if (r <= 0)
		return;
	real[r] = '\0';
	s = (struct search){.path = real, .facts = f};
	(void)mountinfo_each(take_longest, &s);
}

/* ---- what its daemon says ---- */

struct answer {
	int error, options_error;
	struct control_status status;
	struct control_options options;
};

static void ask_daemon(int to, const void *arg)
{
	struct answer *a = calloc(1, sizeof(*a));
	int fd = open(arg, CONTROL_OPEN_FLAGS);

	if (!a)
		return;
	if (fd < 0 || ioctl(fd, CONTROL_GET_STATUS, &a->status) < 0)
		a->error = -errno;
	else if (ioctl(fd, CONTROL_GET_OPTIONS, &a->options) < 0)
		a->options_error = -errno;
	(void)write_all(to, a, sizeof(*a));
}

static void take_answer(struct doctor_facts *f, struct answer *a)
{
	char sentence[300];

	f->mount.error = a->error;
	if (a->error < 0)
		return;
	a->status.json[sizeof(a->status.json) - 1] = '\0';
	a->options.given[sizeof(a->options.given) - 1] = '\0';
	f->mount.status = json_loads(a->status.json, 0, NULL);
	if (!f->mount.status)
		f->mount.error = -EPROTO;
	/* Without its options the mount is taken to have the defaults. */
	options_init(&f->options);
	if (a->options_error == 0)
		(void)options_parse(&f->options, a->options.given, true, sentence, sizeof(sentence));
}

static void facts_of_mount(struct doctor_facts *f)
{
	_cleanup_free_ struct answer *a = calloc(1, sizeof(*a));
	ssize_t r = a ? in_child(ask_daemon, f->directory, a, sizeof(*a)) : -ENOMEM;

	if (r < 0)
		f->mount.error = (int)r;
	else if (r != sizeof(*a))
		f->mount.error = -EPROTO;
	else
		take_answer(f, a);
	f->spec_error = mount_spec_parse(f->mount.source, &f->spec, f->spec_sentence, sizeof(f->spec_sentence));
}

void facts_of_defaults(struct doctor_facts *f)
{
	struct defaults_for mount = {.host = f->spec.host};
	char text[1024];

	f->defaults.there = access(DEFAULTS_FILE, F_OK) == 0;
	f->defaults.error = defaults_apply(&f->options, DEFAULTS_FILE, &mount, false, text, sizeof(text),
		f->defaults.sentence, sizeof(f->defaults.sentence));
}

void facts_of_target(struct doctor_facts *f, const char *target, const char *options)
{
	(void)snprintf(f->target, sizeof(f->target), "%s", target);
	if (target[0] != '/' && target[0] != '.' && strstr(target, ":/")) {
		f->subject = DOCTOR_SERVER;
		f->spec_error = mount_spec_parse(target, &f->spec, f->spec_sentence, sizeof(f->spec_sentence));
		facts_of_defaults(f);
		if (f->spec_error == 0 && options)
			f->spec_error =
				options_parse(&f->options, options, false, f->spec_sentence, sizeof(f->spec_sentence));
		return;
	}
	facts_of_defaults(f);
	f->subject = DOCTOR_MOUNT;
	find_mount(f, target);
	if (!f->mount.there)
		return;
	if (f->file.path[0])
		f->subject = DOCTOR_FILE;
	facts_of_mount(f);
}

void facts_done(struct doctor_facts *f)
{
	json_decref(f->mount.status);
	f->mount.status = NULL;
}
