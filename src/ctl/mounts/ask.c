/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/mounts/ask.h"

#include <sys/stat.h>

#include "base/log.h"
#include "base/util.h"
#include "localiofs/control.h"
#include "mount/mountinfo.h"

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

static const char *probe_error(int error)
{
	if (error == EOPNOTSUPP)
		return "this mount can never be local: it has local=off, or neither passthrough nor io_uring";
	return ioctl_error(error);
}

/* Opens the root and sends the ioctl. */
static int ask(const char *dir, unsigned long request, void *answer, const char *(*explain)(int error))
{
	_cleanup_close_ int fd = open(dir, CONTROL_OPEN_FLAGS);
	int error;

	if (fd >= 0 && ioctl(fd, request, answer) >= 0)
		return 0;
	error = errno;
	log_error("%s: %s", dir[0] ? dir : "\"\"", fd < 0 ? open_error(error) : explain(error));
	return -error;
}

int ask_status(const char *dir, json_t **ret)
{
	_cleanup_free_ struct control_status *status = calloc(1, sizeof(*status));
	json_error_t where;
	json_t *json;
	int r;

	if (!status) {
		log_error("%s: %s", dir, strerror(ENOMEM));
		return -ENOMEM;
	}
	r = ask(dir, CONTROL_GET_STATUS, status, ioctl_error);
	if (r < 0)
		return r;
	status->json[sizeof(status->json) - 1] = '\0';
	json = json_loads(status->json, 0, &where);
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
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (mountinfo_at(dir, take_type, NULL) <= 0) {
		log_error("%s: " NOT_A_ROOT, dir);
		return -EINVAL;
	}
	fd = open(dir, CONTROL_OPEN_FLAGS);
	/* fstat(2) also tells the kernel the owner of the root, which a user namespace needs before the first write. */
	if (fd >= 0 && fstat(fd, &st) == 0)
		return 0;
	log_error("%s: %s", dir, open_error(errno));
	return -EIO;
}

json_t *ask_status_of_dead(const char *dir)
{
	return json_pack("{s:o, s:s, s:s, s:s}", "mountpoint", name_json(dir), "state", "dead", "reason",
		"daemon-ended", "detail", open_error(ENOTCONN));
}

int ask_probe(const char *dir)
{
	return ask(dir, CONTROL_PROBE, NULL, probe_error);
}
