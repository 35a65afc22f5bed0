/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One descriptor that travels with a message over an AF_UNIX socket: unix(7), SCM_RIGHTS.
 *
 * The struct is the control buffer of the message. The caller owns it and keeps it as long as the message.
 */
#pragma once

#include <string.h>
#include <sys/socket.h>

struct scm_fd {
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
};

/* Prepares a message to receive one descriptor. The length is without padding, in which a second one would fit. */
static inline void scm_fd_expect(struct scm_fd *s, struct msghdr *m)
{
	memset(s, 0, sizeof(*s));
	m->msg_control = s->room;
	m->msg_controllen = CMSG_LEN(sizeof(int));
}

/* Prepares a message to send a descriptor. For fd -1 the message carries none. */
static inline void scm_fd_attach(struct scm_fd *s, struct msghdr *m, int fd)
{
	struct cmsghdr *c;

	if (fd < 0)
		return;
	scm_fd_expect(s, m);
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
}

/*
 * The descriptor that came with the message, or -1. The caller owns it. The kernel has closed further descriptors, for
 * which the buffer had no room.
 */
static inline int scm_fd_received(struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}
