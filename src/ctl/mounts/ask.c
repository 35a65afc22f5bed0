/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/mounts/ask.h"

#include <sys/stat.h>

#include "base/log.h"
#include "base/util.h"
#include "base/whole_io.h"
#include "ctl/mounts/in_child.h"
#include "mount/mountinfo.h"

#define STRING2(x) #x
#define STRING(x)  STRING2(x)
#define NO_ANSWER  "no answer within " STRING(IN_CHILD_SECONDS) " s: no daemon has the mount yet, or it hangs"
#define NOT_A_ROOT "is not the root of a localiofs mount; localioctl status without a mount point lists all mounts"

/* JSON is UTF-8, and a name may not be. */
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
		return NOT_A_ROOT;
	default:
		return strerror(error);
	}
}

static const char *ioctl_error(int error)
{
	switch (error) {
	case ENOTTY: /* a filesystem without ioctl(2), or without these ioctls */
	case ENOSYS:
	case EINVAL:
	case EOPNOTSUPP:
		return NOT_A_ROOT;
	case EPERM:
		return "permission denied: only the user who mounted it and root may ask";
	default:
		return strerror(error);
	}
}

static const char *strerror_of(int error)
{
	return strerror(error);
}

static const char *probe_error(int error)
{
	if (error == EOPNOTSUPP)
		return "this mount cannot be local: it has local=off, or neither passthrough nor io_uring";
	return ioctl_error(error);
}

static const char *trust_error(int error)
{
	if (error == EPERM)
		return "permission denied: only the user who mounted it, and root with CAP_SYS_ADMIN, may do this";
	return ioctl_error(error);
}

/* The child's answer. */
struct answer {
	int open_error, error;
	union {
		struct control_status status;   /* of CONTROL_GET_STATUS */
		struct control_setting setting; /* of CONTROL_SET_OPTIONS */
		struct control_trace trace;     /* of CONTROL_GET_TRACE */
	} of;
};

struct question {
	const char *dir;
	int root;              /* open; -1: the child opens it */
	unsigned long request; /* an ioctl; 0: the attributes of the root */
	const void *input;     /* of the ioctl, or NULL */
	size_t input_size;
};

static void ask_in_child(int to, const void *arg)
{
	const struct question *q = arg;
	struct answer *a = calloc(1, sizeof(*a));
	int fd = q->root >= 0 ? q->root : open(q->dir, CONTROL_OPEN_FLAGS);
	struct stat st;

	if (!a)
		return;
	if (q->input)
		memcpy(&a->of, q->input, q->input_size);
	if (fd < 0)
		a->open_error = errno;
	else if (q->request == 0 ? fstat(fd, &st) < 0 : ioctl(fd, q->request, &a->of) < 0)
		a->error = errno;
	(void)write_all(to, a, sizeof(*a));
}

/* An open(2) of a mount without a daemon waits, and so does a question to a daemon that hangs. */
static int ask(const struct question *q, struct answer *a, const char *(*explain)(int error))
{
	ssize_t n = in_child(ask_in_child, q, a, sizeof(*a));
	int error = n < 0 ? (int)-n : n != sizeof(*a) ? EPROTO : a->open_error ? a->open_error : a->error;

	if (error == 0)
		return 0;
	if (error == ETIMEDOUT)
		log_error("%s: " NO_ANSWER, q->dir);
	else
		log_error("%s: %s", q->dir[0] ? q->dir : "\"\"",
			n == sizeof(*a) && !a->open_error ? explain(error) : open_error(error));
	return -error;
}

int ask_status(const char *dir, json_t **ret)
{
	struct question q = {.dir = dir, .root = -1, .request = CONTROL_GET_STATUS};
	_cleanup_free_ struct answer *a = calloc(1, sizeof(*a));
	json_error_t where;
	json_t *json;
	int r;

	if (!a) {
		log_error("%s: %s", dir, strerror(ENOMEM));
		return -ENOMEM;
	}
	r = ask(&q, a, ioctl_error);
	if (r < 0)
		return r;
	a->of.status.json[sizeof(a->of.status.json) - 1] = '\0';
	json = json_loads(a->of.status.json, 0, &where);
	if (!json) {
		log_error("%s: the daemon's answer is not JSON: %s", dir, where.text);
		return -EPROTO;
	}
	(void)json_object_set_new(json, "mountpoint", name_json(dir));
	*ret = json;
	return 0;
}

static int take_type(const struct mountinfo *m, void *arg)
{
	return strcmp(m->type, MOUNTINFO_TYPE) == 0;
}

int ask_answers(const char *dir)
{
	/* The attributes also tell the kernel the root's owner, which a user namespace needs before the first write. */
	struct question q = {.dir = dir, .root = -1};
	_cleanup_free_ struct answer *a = NULL;

	if (mountinfo_at(dir, take_type, NULL) <= 0) {
		log_error("%s: " NOT_A_ROOT, dir);
		return -EINVAL;
	}
	a = calloc(1, sizeof(*a));
	return a ? ask(&q, a, strerror_of) : -ENOMEM;
}

static int take_source(const struct mountinfo *m, void *arg)
{
	json_t **ret = arg;

	if (strcmp(m->type, MOUNTINFO_TYPE) != 0)
		return 0;
	*ret = name_json(m->source);
	return 1;
}

json_t *ask_status_of_silent(const char *dir, int error)
{
	const char *state = "unknown", *reason = "not-asked", *detail = strerror(-error);
	json_t *spec = NULL;

	if (error == -ENOTCONN) {
		state = "dead";
		reason = "daemon-ended";
		detail = open_error(ENOTCONN);
	} else if (error == -ETIMEDOUT) {
		state = "hung";
		reason = "daemon-hangs";
		detail = NO_ANSWER;
	} else if (error == -EPROTO) {
		reason = "bad-answer";
		detail = "the daemon's answer is not the status of a localiofs mount";
	}
	(void)mountinfo_at(dir, take_source, &spec);
	return json_pack("{s:o, s:o, s:s, s:s, s:s}", "mountpoint", name_json(dir), "spec",
		spec ? spec : json_string(""), "state", state, "reason", reason, "detail", detail);
}

json_t *ask_status_of_lost(const char *dir, int error)
{
	return error == -ENOTCONN || error == -ETIMEDOUT ? ask_status_of_silent(dir, error) : NULL;
}

int ask_probe(const char *dir)
{
	struct question q = {.dir = dir, .root = -1, .request = CONTROL_PROBE};
	_cleanup_free_ struct answer *a = calloc(1, sizeof(*a));

	return a ? ask(&q, a, probe_error) : -ENOMEM;
}

int ask_trace(const char *dir, int root, struct control_trace *question)
{
	struct question q = {.dir = dir,
		.root = root,
		.request = CONTROL_GET_TRACE,
		.input = question,
		.input_size = sizeof(*question)};
	_cleanup_free_ struct answer *a = calloc(1, sizeof(*a));
	int r = a ? ask(&q, a, trust_error) : -ENOMEM;

	if (r < 0)
		return r;
	*question = a->of.trace;
	question->count = MIN(question->count, (uint32_t)CONTROL_EVENTS);
	return 0;
}

int ask_change(const char *dir, const struct control_setting *setting)
{
	struct question q = {.dir = dir,
		.root = -1,
		.request = CONTROL_SET_OPTIONS,
		.input = setting,
		.input_size = sizeof(*setting)};
	_cleanup_free_ struct answer *a = calloc(1, sizeof(*a));
	int r = a ? ask(&q, a, trust_error) : -ENOMEM;

	if (r == 0 && a->of.setting.error != 0) {
		a->of.setting.sentence[sizeof(a->of.setting.sentence) - 1] = '\0';
		log_error("%s: %s", dir, a->of.setting.sentence);
		r = -EINVAL;
	}
	return r;
}
