/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/conf/conf_error.h"

#include <errno.h>
#include <stdio.h>

int conf_error_set(struct conf_error *error, const char *file, unsigned line, const char *format, va_list ap)
{
	size_t size = sizeof(error->text);
	int n = snprintf(error->text, size, "%s:%u: ", file, line);

	if (n >= 0 && (size_t)n < size)
		(void)vsnprintf(error->text + n, size - (size_t)n, format, ap);
	return -EBADMSG;
}
