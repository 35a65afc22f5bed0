/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: one line per message. Lines go to stderr while the program runs in the foreground, and to syslog when it
 * runs in the background. If stderr leads to systemd's journal, each line begins with its priority.
 *
 * The caller logs a repeating event only when it changes. log_warning_limited() limits messages that a peer can cause
 * as often as it likes.
 *
 * Any thread may call.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

#include "base/util.h"

/*
 * Sets the program's name, which is in each line that does not go to the journal. To be called before any message, and
 * again when the name changes.
 */
void log_open(const char *program);

enum log_place {
	LOG_TO_STDERR, /* the default: all messages go to stderr */
	LOG_TO_CALLER, /* warnings and errors go to stderr, the rest to syslog; with debugging on all go to stderr */
	LOG_TO_SYSLOG, /* all messages go to syslog: for a detached daemon */
	LOG_TO_NOBODY, /* the program says everything in its own words */
};

void log_to(enum log_place place);

void log_set_debug(bool on);

/* True if messages of priority LOG_DEBUG are logged. */
bool log_debugs(void);

void log_message(int priority, const char *format, ...) PRINTF(2, 3);

#define LOG_LIMIT_LINES 5
#define LOG_LIMIT_MS    10000

/* The limit of one place in the source. A static variable there, initialized with its lock and zeros. */
struct log_limit {
	pthread_mutex_t lock;
	bool begun;
	uint64_t since_ms;        /* the begin of the current interval, now_ms() */
	unsigned lines, left_out; /* messages of the interval that were logged, and that were not */
};

/*
 * True if one more message may be logged now. If messages were left out, the first call after the interval logs how
 * many.
 */
bool log_limit_take(struct log_limit *limit, int priority);

/* Logs at most LOG_LIMIT_LINES warnings per LOG_LIMIT_MS from this place in the source. */
#define log_warning_limited(...)                                                     \
	do {                                                                         \
		static struct log_limit limit = {.lock = PTHREAD_MUTEX_INITIALIZER}; \
		if (log_limit_take(&limit, LOG_WARNING))                             \
			log_message(LOG_WARNING, __VA_ARGS__);                       \
	} while (0)

/* Logs an error, and has the value: return log_error_as(EXIT_FAILURE, "..."). */
#define log_error_as(value, ...) (log_message(LOG_ERR, __VA_ARGS__), (value))

#define log_error(...)   log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_message(LOG_DEBUG, __VA_ARGS__)
