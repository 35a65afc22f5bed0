/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The source of a mount, SERVER:/EXPORT: a host name, an IPv4 address, or an IPv6 address in brackets; then the path of
 * the export on the server, which may have any bytes. Plain values; no state; any thread.
 */
#pragma once

#include "base/util.h"

struct mount_spec {
	char host[256];
	char path[1024 + 1]; /* MNTPATHLEN, RFC 1813 5.1.4 */
};

/* Returns -EINVAL and a sentence if the text has another form. */
int mount_spec_parse(const char *text, struct mount_spec *ret, char *sentence, size_t size);

/* True if both sources have the same words. Doubled slashes and slashes at the end do not count. */
bool mount_spec_equal(const char *a, const char *b);
