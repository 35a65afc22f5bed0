/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

int sentence_fail(char *sentence, size_t size, int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(sentence, size, format, ap);
	va_end(ap);
	return error;
}

int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	int saved = errno, overflow;
	unsigned long long v;
	char *end;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	overflow = errno;
	errno = saved;
	if (*end != '\0')
		return -EINVAL;
	if (overflow != 0 || v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

char *unescape_octal(char *text)
{
	char *to = text;

	for (const char *p = text; *p;) {
		if (p[0] == '\\' && is_octal(p[1]) && is_octal(p[2]) && is_octal(p[3])) {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			*to++ = *p++;
		}
	}
	*to = '\0';
	return text;
}

/* The length in bytes of the UTF-8 character at s, 0 if the bytes are not UTF-8 (RFC 3629). *ret is its code point. */
static unsigned utf8_length(const unsigned char *s, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned n = s[0] < 0x80             ? 1
		     : (s[0] & 0xe0) == 0xc0 ? 2
		     : (s[0] & 0xf0) == 0xe0 ? 3
		     : (s[0] & 0xf8) == 0xf0 ? 4
					     : 0;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fU >> n);

	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) /* the NUL at the end of the text, too */
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	*ret = c;
	return n > 0 && c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? n : 0;
}

/* True if a terminal or a reader of lines could interpret the character as more than text. */
static bool is_unprintable(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

void text_clean(char *s)
{
	char *to = s;

	while (*s) {
		uint32_t c;
		unsigned n = utf8_length((const unsigned char *)s, &c);

		if (n > 0 && !is_unprintable(c)) {
			memmove(to, s, n);
			to += n;
		} else
			*to++ = '?';
		s += n > 0 ? n : 1;
	}
	*to = '\0';
}
