/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An error in a configuration file, with its place, as text for people. A value. */
#pragma once

#include <stdarg.h>

struct conf_error {
	char text[512]; /* "file:line: message" */
};

/* Puts "file:line: message" into *error and returns -EBADMSG. */
int conf_error_set(struct conf_error *error, const char *file, unsigned line, const char *format, va_list ap)
	__attribute__((format(printf, 4, 0)));
