/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *_Atomic program_name = "localiofs";
/* True if stderr leads to systemd's journal, which knows the program's name and reads a priority: sd-daemon(3). */
static atomic_bool to_journal;
static _Atomic enum log_place log_place = LOG_TO_STDERR;
static atomic_bool debug_on;

/* True if systemd has connected stderr to the journal. systemd.exec(5): JOURNAL_STREAM is "device:inode" of it. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char text[64];
	struct stat st;

	if (stream == NULL || fstat(STDERR_FILENO, &st) < 0)
		return false;
	(void)snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(stream, text) == 0;
}

static void at_end(void)
{
	log_left_out(true);
}

void log_open(const char *program)
{
	static atomic_bool opened;

	if (!atomic_exchange(&opened, true))
		(void)atexit(at_end);
	program_name = program;
	to_journal = stderr_is_journal();
	openlog(program, LOG_PID, LOG_DAEMON);
}

void log_to(enum log_place place)
{
	log_place = place;
}

void log_set_debug(bool on)
{
	debug_on = on;
}

bool log_debugs(void)
{
	return debug_on;
}

static void write_line(int priority, char *line)
{
	enum log_place place = log_place;

	/* A message is one line, even if a name or an answer in it contains a line end. */
	text_clean(line);
	if (place == LOG_TO_STDERR || (place == LOG_TO_CALLER && (priority <= LOG_WARNING || debug_on)))
		(void)(to_journal ? fprintf(stderr, "<%d>%s\n", priority, line)
				  : fprintf(stderr, "%s: %s\n", program_name, line));
	else if (place != LOG_TO_NOBODY)
		syslog(priority, "%s", line);
}

void log_message(int priority, const char *format, ...)
{
	int saved = errno;
	char line[1024];
	va_list ap;

	if (priority == LOG_DEBUG && !debug_on)
		return;
	va_start(ap, format);
	(void)vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	log_left_out(false);
	write_line(priority, line);
	errno = saved;
}

/* ---- limits ---- */

static struct {
	pthread_mutex_t lock;
	struct log_limit *first; /* the limits that have left lines out */
} limits = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool has_passed(const struct log_limit *limit)
{
	return !limit->begun || time_since(limit->since_ms, now_ms()) >= LOG_LIMIT_MS;
}

/* True if the line may be logged. Otherwise counts it. */
static bool take(struct log_limit *limit, int priority, const char *line)
{
	LOCKED(&limits.lock);
	if (has_passed(limit) && limit->left_out == 0) {
		limit->begun = true;
		limit->since_ms = now_ms();
		limit->lines = 0;
	}
	if (limit->lines < (priority >= LOG_INFO ? LOG_LIMIT_INFO_LINES : LOG_LIMIT_LINES)) {
		limit->lines++;
		return true;
	}
	if (limit->left_out++ == 0) {
		limit->next = limits.first;
		limits.first = limit;
	}
	limit->priority = priority;
	(void)snprintf(limit->last, sizeof(limit->last), "%.*s", (int)sizeof(limit->last) - 1, line);
	return false;
}

void log_limited(struct log_limit *limit, int priority, const char *format, ...)
{
	int saved = errno;
	char line[1024];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	log_left_out(false);
	if (take(limit, priority, line))
		write_line(priority, line);
	errno = saved;
}

/* Takes a limit from the list, as far as it is to be told. Returns its priority, or -1 if there is none. */
static int take_left_out(bool all, char *line, size_t size)
{
	LOCKED(&limits.lock);
	for (struct log_limit **p = &limits.first; *p; p = &(*p)->next) {
		struct log_limit *limit = *p;

		if (!all && !has_passed(limit))
			continue;
		*p = limit->next;
		(void)snprintf(line, size, "lines of this kind that were left out: %u, the last: %s", limit->left_out,
			limit->last);
		limit->left_out = 0;
		return limit->priority;
	}
	return -1;
}

void log_left_out(bool all)
{
	char line[512];
	int priority;

	while ((priority = take_left_out(all, line, sizeof(line))) >= 0)
		write_line(priority, line);
}
