/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "handover/handover.h"

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "handover/fuse_fd.h"
#include "net/scm_fd.h"

#define NAMESPACE_NAME 32
#define OFFER_MAX      (sizeof(HANDOVER_OFFER) + 2 * NAMESPACE_NAME)
#define RETRY_MS       100
#define ANSWER_MS      5000 /* a daemon that has connected must take the descriptor in this time */

static int address_of(const char *path, struct sockaddr_un *ret, char *sentence, size_t size)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (path[0] == '\0' || strlen(path) >= sizeof(ret->sun_path))
		return sentence_fail(sentence, size, -EINVAL, "socket " SHORT ": expected a path of 1 to %zu bytes",
			SHORTEN(path[0] ? path : "\"\"", 200), sizeof(ret->sun_path) - 1);
	memcpy(ret->sun_path, path, strlen(path));
	return 0;
}

/* Milliseconds until the end, for poll(2); -1 for no end. */
static int left_until(uint64_t end)
{
	uint64_t now = now_ms();

	return end == UINT64_MAX ? -1 : end <= now ? 0 : (int)MIN(end - now, 60000U);
}

static uint64_t end_of(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : now_ms() + (uint64_t)timeout_ms;
}

/* The name of a namespace of this process, such as "pid:[4026531836]"; "unknown" without /proc. */
static void name_namespace(const char *kind, char ret[NAMESPACE_NAME])
{
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	n = readlink(path, ret, NAMESPACE_NAME - 1);
	if (n <= 0)
		(void)snprintf(ret, NAMESPACE_NAME, "unknown");
	else
		ret[n] = '\0';
}

/* ---- the mounter ---- */

/* True if the path is a socket that refuses connections: its process has ended. */
static bool is_left_over(const struct sockaddr_un *a)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	return fd >= 0 && lstat(a->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 && errno == ECONNREFUSED;
}

int handover_listen(const char *path, char *sentence, size_t size)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un a;
	mode_t mask;
	int r = address_of(path, &a, sentence, size);

	if (r < 0)
		return r;
	if (fd < 0)
		return sentence_fail(sentence, size, -errno, "socket: %s", strerror(errno));
	/* No chmod(2) or chown(2) afterwards: in a directory of another user the path may lead elsewhere by then. */
	mask = umask(0111);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	if (r == -EADDRINUSE && is_left_over(&a) && unlink(path) == 0)
		r = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	(void)umask(mask);
	if (r == 0 && listen(fd, 16) < 0)
		r = -errno;
	if (r < 0)
		return sentence_fail(sentence, size, r, "socket " SHORT ": %s", SHORTEN(path, 200),
			r == -EADDRINUSE ? "another process listens there, or the path is not a socket" : strerror(-r));
	return steal_fd(&fd);
}

/* True if a connection to the path comes to this process. */
static bool is_own(const char *path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char sentence[256];
	struct sockaddr_un a;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return fd >= 0 && address_of(path, &a, sentence, sizeof(sentence)) == 0 &&
	       connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == getpid();
}

void handover_end(int listener, const char *path)
{
	if (is_own(path))
		(void)unlink(path);
	(void)close(listener);
}

static int send_offer(int socket, int fuse_fd)
{
	char text[OFFER_MAX], pids[NAMESPACE_NAME], users[NAMESPACE_NAME];
	struct iovec iov = {.iov_base = text};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct scm_fd fd;

	name_namespace("pid", pids);
	name_namespace("user", users);
	iov.iov_len = (size_t)snprintf(text, sizeof(text), HANDOVER_OFFER "%s %s\n", pids, users);
	scm_fd_attach(&fd, &m, fuse_fd);
	return sendmsg(socket, &m, MSG_NOSIGNAL) == (ssize_t)iov.iov_len ? 0 : -EPIPE;
}

/* Waits for HANDOVER_TAKEN. */
static int wait_taken(int socket, int stop_fd)
{
	struct pollfd p[2] = {{.fd = socket, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
	uint64_t end = end_of(ANSWER_MS);
	char answer = 0;
	int n;

	do
		n = poll(p, 2, left_until(end));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -ETIMEDOUT;
	if (p[1].revents)
		return -ECANCELED;
	return recv(socket, &answer, 1, 0) == 1 && answer == HANDOVER_TAKEN ? 0 : -EPIPE;
}

static int serve(int socket, int fuse_fd, uid_t uid, int stop_fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t length = sizeof(peer);
	int r;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || peer.uid != uid) {
		log_warning_limited("uid %u has connected and gets no descriptor; expected uid %u", (unsigned)peer.uid,
			(unsigned)uid);
		return -EPERM;
	}
	r = send_offer(socket, fuse_fd);
	if (r == 0)
		r = wait_taken(socket, stop_fd);
	if (r < 0 && r != -ECANCELED)
		log_warning_limited("process %d has connected, but has not taken the descriptor", (int)peer.pid);
	return r;
}

int handover_give(int listener, int fuse_fd, uid_t uid, int timeout_ms, int stop_fd, char *sentence, size_t size)
{
	struct pollfd p[2] = {{.fd = listener, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
	uint64_t end = end_of(timeout_ms);

	for (;;) {
		int n = poll(p, 2, left_until(end)), r;
		_cleanup_close_ int socket = -1;

		if (n < 0 && errno != EINTR)
			return sentence_fail(sentence, size, -errno, "poll: %s", strerror(errno));
		if (n > 0 && p[1].revents)
			return sentence_fail(sentence, size, -ECANCELED, "a signal has ended the wait for a daemon");
		if (end <= now_ms()) /* also if connections keep coming */
			return sentence_fail(sentence, size, -ETIMEDOUT, "no daemon of uid %u has come within %d s",
				(unsigned)uid, timeout_ms / 1000);
		if (n <= 0)
			continue;
		socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (socket < 0)
			continue;
		r = serve(socket, fuse_fd, uid, stop_fd);
		if (r == 0)
			return steal_fd(&socket);
	}
}

/* ---- the daemon ---- */

/* True if the error of connect(2) may pass: no mounter listens yet. */
static bool may_come(const char *path, int error)
{
	struct stat st;

	if (error == -ECONNREFUSED)
		return stat(path, &st) < 0 || S_ISSOCK(st.st_mode);
	return error == -ENOENT || error == -EAGAIN || error == -EINTR;
}

/* Waits until the path accepts a connection. */
static int connect_until(const char *path, uint64_t end, char *sentence, size_t size)
{
	struct sockaddr_un a;
	int r = address_of(path, &a, sentence, size);

	while (r == 0) {
		/* EAGAIN while the mounter has a full queue: connect(2) would wait for longer than the end. */
		_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (fd < 0)
			return sentence_fail(sentence, size, -errno, "socket: %s", strerror(errno));
		if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
			return steal_fd(&fd);
		r = -errno;
		if (!may_come(path, r) || end <= now_ms())
			return sentence_fail(sentence, size, r,
				"socket " SHORT ": %s; expected localiofs-mounter to listen there", SHORTEN(path, 200),
				strerror(-r));
		(void)poll(NULL, 0, RETRY_MS);
		r = 0;
	}
	return r;
}

/* True if the name is not that of this process's own namespace. */
static bool is_foreign(const char *kind, const char *name)
{
	char own[NAMESPACE_NAME];

	name_namespace(kind, own);
	return strcmp(own, name) != 0 || strcmp(own, "unknown") == 0;
}

static int parse_offer(char *text, ssize_t n, struct handover *ret)
{
	char pids[NAMESPACE_NAME], users[NAMESPACE_NAME];

	if (n <= 0 || text[n - 1] != '\n' || strncmp(text, HANDOVER_OFFER, strlen(HANDOVER_OFFER)) != 0)
		return n == 0 ? -ECONNRESET : -EPROTO;
	text[n - 1] = '\0';
	if (sscanf(text + strlen(HANDOVER_OFFER), "%31s %31s", pids, users) != 2)
		return -EPROTO;
	ret->foreign_pids = is_foreign("pid", pids);
	ret->foreign_users = is_foreign("user", users);
	return 0;
}

static int receive_offer(int socket, uint64_t end, struct handover *ret)
{
	char text[OFFER_MAX];
	struct iovec iov = {.iov_base = text, .iov_len = sizeof(text)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct pollfd p = {.fd = socket, .events = POLLIN};
	struct scm_fd fd;
	ssize_t n;
	int r;

	scm_fd_expect(&fd, &m);
	while (poll(&p, 1, left_until(end)) <= 0)
		if (end <= now_ms())
			return -ETIMEDOUT;
	n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	ret->fuse_fd = n < 0 ? -1 : scm_fd_received(&m);
	r = parse_offer(text, n, ret);
	return r == 0 && ret->fuse_fd < 0 ? -EPROTO : r;
}

int handover_take(const char *path, int timeout_ms, struct handover *ret, char *sentence, size_t size)
{
	const char taken = HANDOVER_TAKEN;
	uint64_t end = end_of(timeout_ms);
	_cleanup_close_ int socket = connect_until(path, end, sentence, size);
	_cleanup_close_ int fuse_fd = -1;
	int r;

	if (socket < 0)
		return steal_fd(&socket);
	*ret = (struct handover){.fuse_fd = -1};
	r = receive_offer(socket, end, ret);
	fuse_fd = steal_fd(&ret->fuse_fd);
	if (r < 0)
		return sentence_fail(sentence, size, r, "socket " SHORT ": %s", SHORTEN(path, 200),
			r == -ECONNRESET ? "the mounter has sent no descriptor; it serves one user only (--uid)"
			: r == -EPROTO   ? "the message there is not localiofs-mounter's"
					 : strerror(-r));
	r = fuse_fd_check(fuse_fd, sentence, size);
	if (r < 0)
		return r;
	if (send(socket, &taken, 1, MSG_NOSIGNAL) != 1)
		return sentence_fail(sentence, size, -EPIPE, "socket " SHORT ": the mounter has ended",
			SHORTEN(path, 200));
	ret->fuse_fd = steal_fd(&fuse_fd);
	return steal_fd(&socket);
}
