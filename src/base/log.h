/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: one line per message. Lines go to stderr while the program runs in the foreground, and to syslog when it
 * runs in the background. If stderr leads to systemd's journal, each line begins with its priority.
 *
 * The caller logs a state when it changes, not as long as it lasts. Whatever a peer, a user's program, a server or a
 * disk can cause as often as it likes is logged by log_error_limited() and its sisters: each such place in the source
 * has a limit of its own. The number of lines that a place left out, and the last of these, are logged after the
 * interval: before the next line of any place, when the sidecar's main thread or the probe's wakes up, and at the
 * program's end. No thread wakes up for that alone.
 *
 * Lines of priority LOG_INFO and higher contain nothing that gives rights or shows users' data: no nonce, file handle,
 * challenge or cookie, and no name of a file below the mount's root. localiofs-log(7) and localiofs-sidecar-log(7) have
 * each such line with its remedy.
 *
 * Any thread may call.
 */
#pragma once

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

#define LOG_LIMIT_LINES      5
#define LOG_LIMIT_INFO_LINES 50 /* of places that log what is usual, such as the sessions of many containers */
#define LOG_LIMIT_MS         10000

/* The limit of one place in the source: a static variable there, initialized with zeros. One lock guards all limits. */
struct log_limit {
	struct log_limit *next; /* the next limit that has left lines out */
	bool begun;
	uint64_t since_ms;        /* the begin of the current interval, now_ms() */
	unsigned lines, left_out; /* messages of the interval that were logged, and that were not */
	int priority;
	char last[256]; /* the last line that was left out */
};

/* Logs the message, unless the place has logged as many as it may in LOG_LIMIT_MS. */
void log_limited(struct log_limit *limit, int priority, const char *format, ...) PRINTF(3, 4);

/* Logs how many lines were left out by the places whose interval has passed. all: by all places. */
void log_left_out(bool all);

#define LOG_LIMITED(priority, ...)                          \
	do {                                                \
		static struct log_limit place;              \
		log_limited(&place, priority, __VA_ARGS__); \
	} while (0)

#define log_error_limited(...)   LOG_LIMITED(LOG_ERR, __VA_ARGS__)
#define log_warning_limited(...) LOG_LIMITED(LOG_WARNING, __VA_ARGS__)
#define log_info_limited(...)    LOG_LIMITED(LOG_INFO, __VA_ARGS__)

/* Logs an error, and has the value: return log_error_as(EXIT_FAILURE, "..."). */
#define log_error_as(value, ...) (log_message(LOG_ERR, __VA_ARGS__), (value))

#define log_error(...)   log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_message(LOG_DEBUG, __VA_ARGS__)
