/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two functions of localiofs/reason.h: the code and the text of a reason. */
#include "localiofs/reason.h"

const char *reason_code(unsigned reason)
{
	switch (reason) {
#define X(name, number, code, text) \
	case number:                \
		return code;
		REASON_TABLE(X)
#undef X
	default:
		return "unknown";
	}
}

const char *reason_text(unsigned reason)
{
	switch (reason) {
#define X(name, number, code, text) \
	case number:                \
		return text;
		REASON_TABLE(X)
#undef X
	default:
		return "a reason that this version does not know";
	}
}
