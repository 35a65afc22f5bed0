/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: one line a message, to stderr while the program has a terminal or a supervisor there,
 * to syslog once it is in the background. Thread-safe. Repeating events are logged on change only,
 * which is the caller's task.
 */
#pragma once

#include <stdbool.h>
#include <syslog.h>

#include "util.h"

/* Names the program in every line; call first. */
void log_open(const char *program);

enum log_place {
	LOG_TO_STDERR, /* all of it, the default */
	LOG_TO_CALLER, /* stderr has what is wrong, which is no news in syslog; syslog has the rest */
	LOG_TO_SYSLOG, /* a daemon that has detached */
};

void log_to(enum log_place place);

void log_set_debug(bool on);

void log_message(int priority, const char *format, ...) PRINTF(2, 3);

#define log_error(...) log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_DEBUG, __VA_ARGS__)
