/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

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

void log_open(const char *program)
{
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

void log_message(int priority, const char *format, ...)
{
	int saved = errno;
	char line[1024];
	enum log_place place;
	va_list ap;

	if (priority == LOG_DEBUG && !debug_on)
		return;
	va_start(ap, format);
	(void)vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	/* A message is one line, even if a name or an answer in it contains a line end. */
	text_clean(line);
	place = log_place;
	if (place == LOG_TO_STDERR || (place == LOG_TO_CALLER && (priority <= LOG_WARNING || debug_on)))
		(void)(to_journal ? fprintf(stderr, "<%d>%s\n", priority, line)
				  : fprintf(stderr, "%s: %s\n", program_name, line));
	else if (place != LOG_TO_NOBODY)
		syslog(priority, "%s", line);
	errno = saved;
}

bool log_limit_take(struct log_limit *limit, int priority)
{
	unsigned left_out = 0;
	bool may;

	{
		LOCKED(&limit->lock);
		if (!limit->begun || now_ms() - limit->since_ms >= LOG_LIMIT_MS) {
			left_out = limit->left_out;
			limit->begun = true;
			limit->since_ms = now_ms();
			limit->lines = limit->left_out = 0;
		}
		may = limit->lines < LOG_LIMIT_LINES;
		if (may)
			limit->lines++;
		else
			limit->left_out++;
	}
	if (left_out > 0)
		log_message(priority, "%u more of the following kind were not logged", left_out);
	return may;
}
