/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/mount_spec.h"

#include <stdio.h>

#include "base/text.h"

static int wrong(const char *text, const char *expected, char *sentence, size_t size)
{
	if (text[0] == '\0')
		text = "empty";
	(void)snprintf(sentence, size, SHORT ": expected SERVER:/EXPORT, %s", SHORTEN(text, 80), expected);
	return -EINVAL;
}

int mount_spec_parse(const char *text, struct mount_spec *ret, char *sentence, size_t size)
{
	const char *host = text, *host_end, *path;
	size_t host_length;

	if (*text == '[') {
		host = text + 1;
		host_end = strchr(host, ']');
		path = host_end && host_end[1] == ':' ? host_end + 2 : NULL;
	} else {
		host_end = strchr(text, ':');
		path = host_end ? host_end + 1 : NULL;
	}
	host_length = host_end ? (size_t)(host_end - host) : 0;
	if (!path || host_length == 0 || path[0] != '/')
		return wrong(text, "with an IPv6 address in brackets", sentence, size);
	if (strncmp(text, "nfs://", 6) == 0)
		return wrong(text, "not a URL", sentence, size);
	if (host_length >= sizeof(ret->host))
		return wrong(text, "with a server's name of at most 255 bytes", sentence, size);
	if (strlen(path) >= sizeof(ret->path))
		return wrong(text, "with an export's path of at most 1024 bytes", sentence, size);
	memcpy(ret->host, host, host_length);
	ret->host[host_length] = '\0';
	memcpy(ret->path, path, strlen(path) + 1);
	return 0;
}

bool mount_spec_equal(const char *a, const char *b)
{
	for (;;) {
		size_t a_slashes = strspn(a, "/"), b_slashes = strspn(b, "/");
		bool a_ends = a[a_slashes] == '\0', b_ends = b[b_slashes] == '\0';

		if (a_ends || b_ends)
			return a_ends && b_ends;
		if (*a != *b)
			return false;
		a += a_slashes > 0 ? a_slashes : 1;
		b += b_slashes > 0 ? b_slashes : 1;
	}
}
