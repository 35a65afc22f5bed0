/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/whole_io.h"
#include "metrics/exporter.h"

#define MANY 20000 /* families: more text than a socket's buffer holds */

static char folder[] = "/tmp/test_exporter.XXXXXX";
static char path[100];
static size_t families = 1;

static void on_scrape(struct metrics_text *m, void *arg)
{
	for (size_t n = 0; n < families; n++) {
		metrics_family(m, METRICS_COUNTER, "reads", "", "Reads");
		metrics_value(m, NULL, 0, (int64_t)n);
	}
}

static int start(const char *name, struct exporter **ret)
{
	struct exporter_options options = {.path = path, .prefix = "p", .on_scrape = on_scrape};
	char sentence[300];
	int r;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	r = exporter_start(&options, ret, sentence, sizeof(sentence));
	if (r < 0)
		assert_non_null(strstr(sentence, path));
	return r;
}

static int connect_to(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = 30};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	return fd;
}

/* The answer to a request, which the caller frees. */
static char *ask(const char *request)
{
	int fd = connect_to();
	size_t got = 0, room = 4 << 20;
	char *answer = malloc(room);
	ssize_t n;

	assert_int_equal(write_all(fd, request, strlen(request)), 0);
	while ((n = read(fd, answer + got, room - got - 1)) > 0)
		got += (size_t)n;
	answer[got] = '\0';
	(void)close(fd);
	return answer;
}

static void assert_answer(const char *request, const char *begin, bool with_text)
{
	_cleanup_free_ char *answer = ask(request);

	assert_ptr_equal(strstr(answer, begin), answer);
	assert_int_equal(strstr(answer, "\r\n\r\n# TYPE p_reads counter\n") && strstr(answer, "\n# EOF\n"), with_text);
}

static void the_socket_answers_http(void **state)
{
	struct exporter *e = NULL;
	struct stat st;

	assert_int_equal(start("socket", &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0600);
	assert_answer("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK\r\n", true);
	assert_answer("GET / HTTP/1.0\n\n", "HTTP/1.1 200 OK\r\n", true);
	assert_answer("HEAD /metrics?x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n", false);
	assert_answer("GET /metricsx HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ", false);
	assert_answer("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 ", false);
	assert_null(exporter_stop(e));
	assert_int_equal(access(path, F_OK), -1);
}

static void a_request_without_end_is_refused(void **state)
{
	char request[METRICS_REQUEST_MAX + 1];
	struct exporter *e = NULL;

	memset(request, 'x', sizeof(request) - 1);
	request[sizeof(request) - 1] = '\0';
	assert_int_equal(start("socket", &e), 0);
	assert_answer(request, "HTTP/1.1 431 ", false);
	(void)exporter_stop(e);
}

/* More stalled readers than there are places: the next reader gets its answer when their time is over. */
static void readers_that_stall_delay_nobody_for_long(void **state)
{
	int silent[METRICS_READERS + 1], deaf[METRICS_READERS / 2];
	static const char request[] = "GET /metrics HTTP/1.1\r\n\r\n";
	struct exporter *e = NULL;

	families = MANY;
	assert_int_equal(start("socket", &e), 0);
	for (size_t n = 0; n < ARRAY_SIZE(deaf); n++) {
		deaf[n] = connect_to();
		assert_int_equal(write_all(deaf[n], request, strlen(request)), 0);
	}
	assert_answer(request, "HTTP/1.1 200 OK\r\n", true);
	for (size_t n = 0; n < ARRAY_SIZE(silent); n++)
		silent[n] = connect_to();
	assert_answer(request, "HTTP/1.1 200 OK\r\n", true);
	for (size_t n = 0; n < ARRAY_SIZE(silent); n++)
		(void)close(silent[n]);
	for (size_t n = 0; n < ARRAY_SIZE(deaf); n++)
		(void)close(deaf[n]);
	families = 1;
	(void)exporter_stop(e);
}

/* A killed program leaves its socket behind. */
static void only_a_dead_socket_is_replaced(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct exporter *e = NULL, *second = NULL;

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", folder);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	(void)close(fd);
	assert_int_equal(start("socket", &e), 0);
	assert_int_equal(start("socket", &second), -EADDRINUSE);
	assert_answer("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n", true);
	(void)exporter_stop(e);
	fd = open(at.sun_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	(void)close(fd);
	assert_int_equal(start("socket", &e), -EEXIST);
	assert_int_equal(access(path, F_OK), 0);
	(void)unlink(path);
	assert_int_equal(start("missing/socket", &e), -ENOENT);
}

static void a_file_is_whole_and_ends_with_its_exporter(void **state)
{
	struct exporter *e = NULL;
	char text[500];
	struct stat st;

	assert_int_equal(start("x.prom", &e), 0);
	assert_true(read_small_file(path, text, sizeof(text)) > 0);
	assert_string_equal(text, "# TYPE p_reads_total counter\n# HELP p_reads_total Reads\np_reads_total 0\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	(void)exporter_stop(e);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(rmdir(folder), 0); /* nothing is left, no temporary file either */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_socket_answers_http),
		cmocka_unit_test(a_request_without_end_is_refused),
		cmocka_unit_test(readers_that_stall_delay_nobody_for_long),
		cmocka_unit_test(only_a_dead_socket_is_replaced),
		cmocka_unit_test(a_file_is_whole_and_ends_with_its_exporter),
	};

	if (!mkdtemp(folder))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
