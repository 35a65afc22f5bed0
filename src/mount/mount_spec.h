/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is mounted, SERVER:/EXPORT: a host name or an IPv4 address, or an IPv6 address in brackets,
 * then the export's path as the server knows it, any bytes. Plain values; no state.
 */
#pragma once

#include "base/util.h"

struct mount_spec {
	char host[256];
	char path[1024 + 1]; /* MNTPATHLEN, RFC 1813 5.1.4 */
};

/* -EINVAL and a sentence when it is not of that form. */
int mount_spec_parse(const char *text, struct mount_spec *ret, char *sentence, size_t size);

/* Whether both name the same place by the same words: slashes that change nothing do not count. */
bool mount_spec_equal(const char *a, const char *b);
