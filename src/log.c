/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const char *program_name = "localiofs";
static atomic_bool use_stderr = true, use_syslog, debug_on;

void log_open(const char *program)
{
	program_name = program;
}

void log_to_syslog(bool on)
{
	if (on)
		openlog(program_name, LOG_PID, LOG_DAEMON);
	use_syslog = on;
}

void log_close_stderr(void)
{
	use_stderr = false;
}

void log_set_debug(bool on)
{
	debug_on = on;
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
	if (use_stderr)
		(void)fprintf(stderr, "%s: %s\n", program_name, line);
	if (use_syslog)
		syslog(priority, "%s", line);
	errno = saved;
}
