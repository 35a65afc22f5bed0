/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "metrics/exporter.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/whole_io.h"
#include "net/wake.h"

#define FILE_END  ".prom"
#define BACKLOG   16
#define READ_SOME 1024

/* A connection: first its request comes, then the answer goes. */
struct reader {
	int fd; /* -1: a free place */
	uint64_t deadline;
	size_t got;
	char *answer; /* NULL: the request is not complete */
	size_t size, sent;
	char request[METRICS_REQUEST_MAX + 1];
};

struct exporter {
	struct exporter_options options;
	char *path;
	int folder;       /* of the path; -1: not open */
	const char *name; /* the end of the path */
	char *temporary;  /* the name of a new file */
	bool is_file, runs;
	int listener; /* -1: a file */
	dev_t device; /* of the socket, so that the end removes no other */
	ino_t inode;
	struct wake end;
	pthread_t thread;
	uint64_t next_file; /* now_ms() of the next file */
	bool file_failed;   /* logged */
	struct reader *readers[METRICS_READERS];
};

static int scrape(struct exporter *e, enum metrics_format format, char **ret, size_t *ret_size)
{
	struct metrics_text m;

	metrics_text_open(&m, format, e->options.prefix);
	e->options.on_scrape(&m, e->options.arg);
	return metrics_text_close(&m, ret, ret_size);
}

/* ---- the file ---- */

static int write_new(const struct exporter *e, const char *text, size_t size)
{
	_cleanup_close_ int fd = -1;

	(void)unlinkat(e->folder, e->temporary, 0); /* of a program that was killed */
	fd = openat(e->folder, e->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644) < 0) /* the umask is for other files */
		return -errno;
	return write_all(fd, text, size);
}

static int write_file(struct exporter *e)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = scrape(e, METRICS_PROMETHEUS, &text, &size);

	if (r < 0)
		return r;
	r = write_new(e, text, size);
	if (r == 0 && renameat(e->folder, e->temporary, e->folder, e->name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(e->folder, e->temporary, 0);
	return r;
}

/* 0 if files can be made in the folder. */
static int try_file(const struct exporter *e)
{
	int r = write_new(e, "", 0);

	(void)unlinkat(e->folder, e->temporary, 0);
	return r;
}

/* Logs the first of several failures, and the end of them. */
static void renew_file(struct exporter *e)
{
	int r = write_file(e);

	e->next_file = now_ms() + METRICS_FILE_INTERVAL_MS;
	if (r < 0 && !e->file_failed)
		log_warning_limited("%s: cannot write the metrics: %s", e->path, strerror(-r));
	else if (r == 0 && e->file_failed)
		log_info_limited("%s: the metrics can be written again", e->path);
	e->file_failed = r < 0;
}

/* ---- one reader ---- */

static struct reader *reader_free(struct reader *r)
{
	(void)close_fd(r->fd);
	free(r->answer);
	free(r);
	return NULL;
}

static void answer_with(struct reader *r, const char *status, const char *type, const char *body, size_t size,
	bool head)
{
	char *text = NULL;
	size_t room = 0;
	FILE *to = open_memstream(&text, &room);

	if (!to)
		return;
	(void)fprintf(to,
		"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
		"Cache-Control: no-store\r\n\r\n",
		status, type, size);
	if (!head)
		(void)fwrite(body, 1, size, to);
	if (fclose(to) != 0) {
		free(text);
		return;
	}
	r->answer = text;
	r->size = room;
}

static void answer_error(struct reader *r, const char *status)
{
	char body[64];
	int n = snprintf(body, sizeof(body), "%s\n", status);

	answer_with(r, status, "text/plain; charset=utf-8", body, (size_t)n, false);
}

static void answer_metrics(struct exporter *e, struct reader *r, bool head)
{
	_cleanup_free_ char *text = NULL;
	size_t size;

	if (scrape(e, METRICS_OPENMETRICS, &text, &size) < 0)
		answer_error(r, "503 Service Unavailable");
	else
		answer_with(r, "200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", text, size,
			head);
}

/* True if the request's line asks for this path, with or without a query. */
static bool asks_for(const char *target, const char *path)
{
	size_t length = strlen(path);

	return strncmp(target, path, length) == 0 && (target[length] == ' ' || target[length] == '?');
}

static void answer(struct exporter *e, struct reader *r)
{
	bool head = strncmp(r->request, "HEAD ", 5) == 0;
	const char *target = r->request + (head ? 5 : 4);

	if (!head && strncmp(r->request, "GET ", 4) != 0)
		answer_error(r, "405 Method Not Allowed");
	else if (!asks_for(target, "/metrics") && !asks_for(target, "/"))
		answer_error(r, "404 Not Found");
	else
		answer_metrics(e, r, head);
}

/* Reads more of the request. False if the connection is to end. */
static bool take_request(struct exporter *e, struct reader *r)
{
	ssize_t n = recv(r->fd, r->request + r->got, MIN(METRICS_REQUEST_MAX - r->got, (size_t)READ_SOME), 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	r->got += (size_t)n;
	r->request[r->got] = '\0';
	if (strstr(r->request, "\r\n\r\n") || strstr(r->request, "\n\n"))
		answer(e, r);
	else if (r->got == METRICS_REQUEST_MAX)
		answer_error(r, "431 Request Header Fields Too Large");
	else
		return true;
	return r->answer;
}

/* Sends more of the answer. False if the connection is to end. */
static bool send_answer(struct reader *r)
{
	ssize_t n = send(r->fd, r->answer + r->sent, r->size - r->sent, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	r->sent += (size_t)n;
	return r->sent < r->size;
}

/* ---- the thread ---- */

static void take_reader(struct exporter *e)
{
	int fd = accept4(e->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct reader *r;

	if (fd < 0)
		return;
	r = malloc(sizeof(*r));
	for (size_t n = 0; r && n < METRICS_READERS; n++)
		if (!e->readers[n]) {
			*r = (struct reader){.fd = fd, .deadline = now_ms() + METRICS_READER_MS};
			e->readers[n] = r;
			return;
		}
	free(r);
	(void)close_fd(fd);
}

static bool serve_reader(struct exporter *e, struct reader *r, short events)
{
	if (now_ms() >= r->deadline)
		return false;
	if (events == 0)
		return true;
	return r->answer ? send_answer(r) : take_request(e, r);
}

/* The time until the next file or the end of a reader's time in ms, -1: none. */
static int patience(const struct exporter *e)
{
	uint64_t now = now_ms(), next = e->is_file ? e->next_file : UINT64_MAX;

	for (size_t n = 0; n < METRICS_READERS; n++)
		if (e->readers[n])
			next = MIN(next, e->readers[n]->deadline);
	if (next == UINT64_MAX)
		return -1;
	return next > now ? (int)(next - now) : 0;
}

static void *run(void *arg)
{
	struct exporter *e = arg;

	for (;;) {
		struct pollfd fds[2 + METRICS_READERS] = {{.fd = e->end.fd, .events = POLLIN}};
		size_t busy = 0;

		for (size_t n = 0; n < METRICS_READERS; n++) {
			const struct reader *r = e->readers[n];

			fds[2 + n] = (struct pollfd){.fd = r ? r->fd : -1, .events = r && r->answer ? POLLOUT : POLLIN};
			busy += r != NULL;
		}
		fds[1] = (struct pollfd){.fd = busy < METRICS_READERS ? e->listener : -1, .events = POLLIN};
		if (poll(fds, ARRAY_SIZE(fds), patience(e)) < 0)
			continue;
		if (fds[0].revents != 0)
			return NULL;
		for (size_t n = 0; n < METRICS_READERS; n++)
			if (e->readers[n] && !serve_reader(e, e->readers[n], fds[2 + n].revents))
				e->readers[n] = reader_free(e->readers[n]);
		if (fds[1].revents != 0)
			take_reader(e);
		if (e->is_file && now_ms() >= e->next_file)
			renew_file(e);
	}
}

/* ---- start and end ---- */

/* Removes a socket at the path that no process listens on. A negative errno for anything else that is there. */
static int remove_dead_socket(const struct sockaddr_un *at)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (lstat(at->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 || errno != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(at->sun_path) < 0 ? -errno : 0;
}

static int listen_at(struct exporter *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct stat st;
	int r;

	if (strlen(e->path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	memcpy(at.sun_path, e->path, strlen(e->path) + 1);
	r = remove_dead_socket(&at);
	if (r < 0)
		return r;
	e->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* bind(2) gives the file the mode of the socket (net/unix/af_unix.c unix_bind_bsd): it is never more open. */
	if (e->listener < 0 || fchmod(e->listener, 0600) < 0 ||
		bind(e->listener, (const struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	if (lstat(e->path, &st) < 0)
		return -errno;
	e->device = st.st_dev;
	e->inode = st.st_ino;
	return listen(e->listener, BACKLOG) < 0 ? -errno : 0;
}

/* Removes what the exporter has made, and nothing that replaced it. */
static void remove_made(const struct exporter *e)
{
	struct stat st;

	if (e->is_file ? e->next_file != 0
		       : e->inode != 0 && fstatat(e->folder, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				 st.st_dev == e->device && st.st_ino == e->inode)
		(void)unlinkat(e->folder, e->name, 0);
}

static struct exporter *exporter_free(struct exporter *e)
{
	remove_made(e);
	for (size_t n = 0; n < METRICS_READERS; n++)
		if (e->readers[n])
			(void)reader_free(e->readers[n]);
	(void)close_fd(e->listener);
	wake_close(&e->end);
	(void)close_fd(e->folder);
	free(e->temporary);
	free(e->path);
	free(e);
	return NULL;
}

/*
 * Opens the folder of the path. All later work is done in it: whatever is mounted on the folder meanwhile, and be it
 * the program's own mount, changes nothing.
 */
static int open_folder(struct exporter *e)
{
	_cleanup_free_ char *folder = NULL;

	e->name = strrchr(e->path, '/') + 1;
	folder = strndup(e->path, (size_t)(e->name - e->path));
	if (!folder || asprintf(&e->temporary, "%s.tmp", e->name) < 0) {
		e->temporary = NULL;
		return -ENOMEM;
	}
	e->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return e->folder < 0 ? -errno : 0;
}

static int make(struct exporter *e)
{
	int r = open_folder(e);

	if (r == 0)
		r = e->is_file ? try_file(e) : listen_at(e);
	return r == 0 ? wake_open(&e->end) : r;
}

static const char *error_text(int error)
{
	switch (error) {
	case -EEXIST:
		return "a file that is no socket is there; a path that ends in " FILE_END " is a file";
	case -EADDRINUSE:
		return "another program listens there; each mount needs a path of its own";
	case -ENAMETOOLONG:
		return "the path of a socket has at most 107 bytes";
	default:
		return strerror(-error);
	}
}

int exporter_open(const struct exporter_options *options, struct exporter **ret, char *sentence, size_t size)
{
	size_t length = strlen(options->path), end = strlen(FILE_END);
	struct exporter *e = calloc(1, sizeof(*e));
	int r = -ENOMEM;

	if (e) {
		e->options = *options;
		e->folder = e->listener = -1;
		e->end = WAKE_CLOSED;
		e->is_file = length > end && strcmp(options->path + length - end, FILE_END) == 0;
		e->path = strdup(options->path);
		r = e->path ? make(e) : -ENOMEM;
	}
	if (r == 0) {
		*ret = e;
		return 0;
	}
	(void)sentence_fail(sentence, size, r, "metrics at " SHORT ": %s", SHORTEN(options->path, 200), error_text(r));
	if (e)
		(void)exporter_free(e);
	return r;
}

/* The thread has all signals blocked: they are for the program's other threads. */
int exporter_run(struct exporter *e)
{
	sigset_t all, before;
	int r;

	if (e->is_file)
		renew_file(e);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&e->thread, NULL, run, e);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	e->runs = r == 0;
	return -r;
}

int exporter_start(const struct exporter_options *options, struct exporter **ret, char *sentence, size_t size)
{
	int r = exporter_open(options, ret, sentence, size);

	if (r < 0)
		return r;
	r = exporter_run(*ret);
	if (r < 0) {
		(void)sentence_fail(sentence, size, r, "no thread for the metrics: %s", strerror(-r));
		*ret = exporter_stop(*ret);
	}
	return r;
}

struct exporter *exporter_stop(struct exporter *e)
{
	if (!e)
		return NULL;
	if (e->runs) {
		wake_up(e->end);
		(void)pthread_join(e->thread, NULL);
	}
	return exporter_free(e);
}
