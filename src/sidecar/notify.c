/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/notify.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/util.h"

/* 0, also without a service manager; or a negative errno. */
static int send_message(const char *message, int flags)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;
	size_t len;

	if (path == NULL)
		return 0;
	len = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof(to.sun_path))
		return -EINVAL;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@') /* the abstract namespace */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, message, strlen(message), MSG_NOSIGNAL | flags, (struct sockaddr *)&to,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		return -errno;
	return 0;
}

int notify_send(const char *state)
{
	return send_message(state, 0);
}

int notify_reloading(void)
{
	char message[64];

	/* sd_notify(3) wants the time of CLOCK_MONOTONIC. */
	(void)snprintf(message, sizeof(message), "RELOADING=1\nMONOTONIC_USEC=%llu",
		(unsigned long long)(now_ns() / 1000));
	return notify_send(message);
}

int notify_status(struct notify_status *n, const char *text)
{
	uint64_t now = now_ms();
	char message[NOTIFY_STATUS_MAX + sizeof("STATUS=")];

	if (strcmp(n->sent, text) == 0)
		return -1;
	if (n->sent_ms != 0 && time_since(n->sent_ms, now) < NOTIFY_STATUS_MS)
		return (int)(NOTIFY_STATUS_MS - (time_since(n->sent_ms, now)));
	n->sent_ms = now;
	(void)snprintf(n->sent, sizeof(n->sent), "%s", text);
	(void)snprintf(message, sizeof(message), "STATUS=%s", n->sent);
	/*
	 * A service manager that does not read must not keep the sidecar from its work: the next status comes anyway.
	 */
	(void)send_message(message, MSG_DONTWAIT);
	return -1;
}
