/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: one line a message, to stderr while the program has a terminal or a supervisor there, to syslog once it is
 * in the background. Where stderr is systemd's journal a line begins with its priority. Thread-safe. Repeating events
 * are logged on change only, which is the caller's task; what a peer can cause as often as it likes has a limit per
 * place in the source.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

#include "base/util.h"

/* The program's name in each line, but where stderr is the journal's; call first, and again when the name changes. */
void log_open(const char *program);

enum log_place {
	LOG_TO_STDERR, /* all of it, the default */
	LOG_TO_CALLER, /* stderr has what is wrong, which is no news in syslog; syslog has the rest */
	LOG_TO_SYSLOG, /* a daemon that has detached */
};

void log_to(enum log_place place);

void log_set_debug(bool on);

void log_message(int priority, const char *format, ...) PRINTF(2, 3);

#define LOG_LIMIT_LINES 5
#define LOG_LIMIT_MS    10000

/* Of one place in the source: static there, zero at first. */
struct log_limit {
	pthread_mutex_t lock;
	bool begun;
	uint64_t since_ms; /* of the interval that runs */
	unsigned lines, left_out;
};

/* True when one more line may be logged now; the first one after an interval is preceded by how many were left out. */
bool log_limit_take(struct log_limit *limit, int priority);

/* At most LOG_LIMIT_LINES from here in LOG_LIMIT_MS. */
#define log_warning_limited(...)                                                     \
	do {                                                                         \
		static struct log_limit limit = {.lock = PTHREAD_MUTEX_INITIALIZER}; \
		if (log_limit_take(&limit, LOG_WARNING))                             \
			log_message(LOG_WARNING, __VA_ARGS__);                       \
	} while (0)

#define log_error(...)   log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_message(LOG_DEBUG, __VA_ARGS__)
