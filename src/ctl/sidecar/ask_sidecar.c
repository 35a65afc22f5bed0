/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/sidecar/ask_sidecar.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "base/log.h"
#include "base/text.h"
#include "localiofs/sidecar_control.h"

#define ANSWER_S   20
#define ANSWER_MAX (64 << 20)

static int connect_to(const char *path, int *ret)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval limit = {.tv_sec = ANSWER_S};

	if (strlen(path) >= sizeof(address.sun_path)) {
		log_error("%s: is longer than %zu bytes", path, sizeof(address.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	(void)strcpy(address.sun_path, path);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
		connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		int r = -errno;

		log_error("%s: %s%s", path, strerror(-r),
			r == -ENOENT || r == -ECONNREFUSED
				? ": no localiofs-sidecar runs on this host, or it has another --control="
			: r == -EACCES ? ": only root may ask the sidecar"
				       : "");
		return r;
	}
	*ret = steal_fd(&fd);
	return 0;
}

/* Reads up to the sidecar's end, or up to the end of a line. The caller frees *ret, which ends with a NUL. */
static int read_text(int fd, bool line, char **ret, size_t *ret_size)
{
	size_t room = 0, got = 0;
	char *text = NULL;

	for (;;) {
		char *more = got + 1 >= room && room < ANSWER_MAX ? realloc(text, room = MAX(2 * room, 65536)) : text;
		ssize_t n;

		text = more ? more : text;
		n = more && got + 1 < room ? recv(fd, text + got, line ? 1 : room - got - 1, 0) : -1;
		if (n < 0) {
			int r = !more ? -ENOMEM : got + 1 >= room ? -EFBIG : errno == EAGAIN ? -ETIMEDOUT : -errno;

			free(text);
			return r;
		}
		got += (size_t)n;
		text[got] = '\0';
		if (n == 0 || (line && text[got - 1] == '\n'))
			break;
	}
	*ret = text;
	*ret_size = got;
	return 0;
}

/* Sets the attribute that the sidecar's greeting demands. */
static int prove(int fd, const char *path)
{
	char name[sizeof(SIDECAR_PROOF) + SIDECAR_CHALLENGE];
	_cleanup_free_ char *greeting = NULL;
	size_t size, before = strlen(SIDECAR_GREETING);
	int r = read_text(fd, true, &greeting, &size);

	if (r == 0 && (size != before + SIDECAR_CHALLENGE + 1 || memcmp(greeting, SIDECAR_GREETING, before) != 0 ||
			      strspn(greeting + before, "0123456789abcdef") != SIDECAR_CHALLENGE))
		r = -EPROTO;
	if (r < 0) {
		log_error("%s: %s", path,
			r == -EPROTO ? "did not greet as a localiofs-sidecar of this version does" : strerror(-r));
		return r;
	}
	(void)snprintf(name, sizeof(name), SIDECAR_PROOF "%.*s", SIDECAR_CHALLENGE, greeting + before);
	if (setxattr(path, name, "", 0, 0) == 0)
		return 0;
	r = -errno;
	log_error("%s: the proof of CAP_SYS_ADMIN in the host's user namespace failed: %s%s", path, strerror(-r),
		r == -EPERM ? ": only root of the host may ask the sidecar" : "");
	return r;
}

json_t *ask_sidecar(const char *path)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	const char *error;
	json_t *json;
	size_t size;
	int r;

	if (connect_to(path, &fd) < 0 || prove(fd, path) < 0)
		return NULL;
	if (send(fd, SIDECAR_SHOW, strlen(SIDECAR_SHOW), MSG_NOSIGNAL) < 0)
		r = -errno;
	else
		r = read_text(fd, false, &text, &size);
	json = r == 0 ? json_loadb(text, size, 0, NULL) : NULL;
	error = json_string_value(json_object_get(json, "error"));
	if (json && !error)
		return json;
	log_error("%s: %s", path, error ? error : r < 0 ? strerror(-r) : "the answer is not the sidecar's view");
	json_decref(json);
	return NULL;
}
