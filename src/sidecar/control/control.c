/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/control/control.h"

#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "net/wake.h"

#define BACKLOG 16

struct client {
	int fd; /* -1: the place is free */
	uint64_t deadline;
	char challenge[SIDECAR_CHALLENGE + 1];
	char request[64];
	size_t got;
	char *answer; /* NULL: the request is not complete */
	size_t size, sent;
};

struct control {
	pthread_t thread;
	struct wake end;
	const struct view *view;
	char *path;
	int listener, inode; /* inode: the socket's, O_PATH */
	struct client clients[CONTROL_CLIENTS];
};

/* ---- one client ---- */

static void drop(struct client *c)
{
	free(c->answer);
	*c = (struct client){.fd = close_fd(c->fd)};
}

/* True if the client has set the attribute with its challenge, which is removed. */
static bool has_proved(const struct control *k, const struct client *c)
{
	char inode[64], name[sizeof(SIDECAR_PROOF) + SIDECAR_CHALLENGE];
	bool proved;

	(void)snprintf(inode, sizeof(inode), "/proc/self/fd/%d", k->inode);
	(void)snprintf(name, sizeof(name), SIDECAR_PROOF "%s", c->challenge);
	proved = getxattr(inode, name, NULL, 0) >= 0;
	if (proved)
		(void)removexattr(inode, name);
	return proved;
}

static void answer(const struct control *k, struct client *c)
{
	json_t *json = !has_proved(k, c)
			       ? json_pack("{s:s}", "error",
					 "only a process with CAP_SYS_ADMIN in the host's user namespace may ask")
		       : strcmp(c->request, SIDECAR_SHOW) == 0
			       ? view_json(k->view)
			       : json_pack("{s:s}", "error", "this sidecar does not know the request");

	c->answer = json ? json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	c->size = c->answer ? strlen(c->answer) : 0;
	json_decref(json);
	if (!c->answer)
		drop(c);
}

/* Sends what the socket takes. */
static void send_some(struct client *c)
{
	ssize_t n = send(c->fd, c->answer + c->sent, c->size - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->sent += (size_t)MAX(n, 0);
	if (n <= 0 || c->sent == c->size)
		drop(c);
}

static void take_request(const struct control *k, struct client *c)
{
	ssize_t n = recv(c->fd, c->request + c->got, sizeof(c->request) - 1 - c->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		(void)has_proved(k, c); /* nothing stays behind */
		drop(c);
		return;
	}
	c->got += (size_t)n;
	c->request[c->got] = '\0';
	if (c->request[c->got - 1] == '\n' || c->got == sizeof(c->request) - 1)
		answer(k, c);
}

/* ---- new clients ---- */

static bool greet(struct client *c)
{
	char greeting[sizeof(SIDECAR_GREETING) + SIDECAR_CHALLENGE + 1];
	uint8_t random[SIDECAR_CHALLENGE / 2];
	int n;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return false;
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(c->challenge + 2 * i, 3, "%02x", random[i]);
	n = snprintf(greeting, sizeof(greeting), SIDECAR_GREETING "%s\n", c->challenge);
	return send(c->fd, greeting, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n;
}

/* A free place, or that of the oldest client. */
static struct client *make_place(struct control *k)
{
	struct client *oldest = &k->clients[0];

	for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
		if (k->clients[i].fd < 0)
			return &k->clients[i];
		if (k->clients[i].deadline < oldest->deadline)
			oldest = &k->clients[i];
	}
	(void)has_proved(k, oldest);
	drop(oldest);
	return oldest;
}

static void accept_client(struct control *k)
{
	_cleanup_close_ int fd = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct client *c;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != 0)
		return;
	c = make_place(k);
	*c = (struct client){.fd = steal_fd(&fd), .deadline = now_ms() + CONTROL_MS};
	if (!greet(c))
		drop(c);
}

/* ---- the thread ---- */

/* Drops the clients that are late. The time until the next deadline in milliseconds, or -1. */
static int drop_late(struct control *k)
{
	uint64_t now = now_ms();
	int wait = -1;

	for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
		struct client *c = &k->clients[i];

		if (c->fd >= 0 && c->deadline <= now) {
			(void)has_proved(k, c);
			drop(c);
		}
		if (c->fd >= 0 && (wait < 0 || c->deadline - now < (uint64_t)wait))
			wait = (int)(c->deadline - now);
	}
	return wait;
}

static void *run(void *arg)
{
	struct control *k = arg;
	struct pollfd fds[2 + CONTROL_CLIENTS];

	(void)prctl(PR_SET_NAME, "control", 0, 0, 0);
	for (;;) {
		int wait = drop_late(k);

		fds[0] = (struct pollfd){.fd = k->end.fd, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = k->listener, .events = POLLIN};
		for (size_t i = 0; i < CONTROL_CLIENTS; i++)
			fds[2 + i] = (struct pollfd){.fd = k->clients[i].fd,
				.events = k->clients[i].answer ? POLLOUT : POLLIN};
		if (poll(fds, ARRAY_SIZE(fds), wait) <= 0)
			continue;
		if (fds[0].revents != 0)
			return NULL;
		for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
			struct client *c = &k->clients[i];

			if (fds[2 + i].revents != 0 && c->answer)
				send_some(c);
			else if (fds[2 + i].revents != 0)
				take_request(k, c);
		}
		if (fds[1].revents != 0)
			accept_client(k);
	}
}

/* ---- the socket ---- */

/* Makes the directory of the path if it is missing. */
static void make_directory(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);

	if (copy)
		(void)mkdir(dirname(copy), 0755); /* bind(2) tells why it is not there */
}

/* Removes a socket on which nobody listens. 0, also if nothing is there; -EADDRINUSE; -EEXIST for anything else. */
static int remove_old(const char *path, const struct sockaddr_un *address)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
		return -EADDRINUSE;
	return unlink(path) < 0 ? -errno : 0;
}

static int listen_at(struct control *k, char *sentence, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int r;

	if (strlen(k->path) >= sizeof(address.sun_path))
		return sentence_fail(sentence, size, -ENAMETOOLONG, "%s: is longer than %zu bytes", k->path,
			sizeof(address.sun_path) - 1);
	(void)strcpy(address.sun_path, k->path);
	make_directory(k->path);
	r = remove_old(k->path, &address);
	if (r < 0)
		return sentence_fail(sentence, size, r, "%s: %s", k->path,
			r == -EADDRINUSE ? "another sidecar listens on it; each needs a --control= of its own"
			: r == -EEXIST   ? "is no socket; name another path, or remove it"
					 : strerror(-r));
	k->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The mode of the socket is that of its inode from the first moment on. */
	if (k->listener < 0 || fchmod(k->listener, 0600) < 0 ||
		bind(k->listener, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return sentence_fail(sentence, size, -errno, "%s: %s", k->path, strerror(errno));
	k->inode = open(k->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (k->inode < 0 || listen(k->listener, BACKLOG) < 0)
		return sentence_fail(sentence, size, -errno, "%s: %s", k->path, strerror(errno));
	return 0;
}

/* Removes the socket, if it is still at its path. */
static void remove_own(const struct control *k)
{
	struct stat own, there;

	if (k->inode >= 0 && fstat(k->inode, &own) == 0 && lstat(k->path, &there) == 0 && own.st_dev == there.st_dev &&
		own.st_ino == there.st_ino)
		(void)unlink(k->path);
}

static void free_control(struct control *k)
{
	remove_own(k);
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		drop(&k->clients[i]);
	(void)close_fd(k->inode);
	(void)close_fd(k->listener);
	wake_close(&k->end);
	free(k->path);
	free(k);
}

int control_start(const char *path, const struct view *view, struct control **ret, char *sentence, size_t size)
{
	struct control *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return sentence_fail(sentence, size, -ENOMEM, "%s: no memory", path);
	*k = (struct control){.view = view, .path = strdup(path), .listener = -1, .inode = -1, .end = WAKE_CLOSED};
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		k->clients[i].fd = -1;
	r = k->path ? listen_at(k, sentence, size) : sentence_fail(sentence, size, -ENOMEM, "%s: no memory", path);
	if (r == 0) {
		r = wake_open(&k->end);
		r = r < 0 ? r : -pthread_create(&k->thread, NULL, run, k);
		if (r < 0)
			(void)sentence_fail(sentence, size, r, "%s: no thread: %s", path, strerror(-r));
	}
	if (r < 0) {
		free_control(k);
		return r;
	}
	*ret = k;
	return 0;
}

void control_stop(struct control *k)
{
	if (!k)
		return;
	wake_up(k->end);
	(void)pthread_join(k->thread, NULL);
	free_control(k);
}
