/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of mount options, which parsing (options_parse.c), formatting and comparison (options_text.c) and usage
 * read, and man/check compares with localiofs(5). A new mount option is an entry in options_table.c, a field of struct
 * mount_options, and an item in that page; an option that changes
 * while the mount runs is read from fs->options at each use. Constant.
 */
#pragma once

#include "mount/options.h"

enum option_kind {
	OPTION_FLAG,   /* NAME: sets a bool to .value */
	OPTION_SET,    /* NAME: sets an unsigned to .value */
	OPTION_NUMBER, /* NAME=N, from .min to .max, an unsigned */
	OPTION_PATH,   /* NAME=PATH, absolute, shorter than .max bytes */
	OPTION_HOST,   /* NAME=HOST, in brackets or not, shorter than .max bytes */
	OPTION_CHOICE, /* NAME=one of .choices, whose index an unsigned gets */
	OPTION_ACCEPT, /* fstabs have the option, and it has no effect; with .value 1 also as NAME=TEXT */
	OPTION_SHOWN,  /* the kernel shows the option of a FUSE mount, and mount(8) gives it back with remount */
	OPTION_REFUSE, /* an error; .help says what to use instead */
};

enum option_flags {
	OPTION_CLAMPED = 1, /* a number above .max means .max, as for the kernel's client */
	OPTION_LISTED = 2,  /* the value is a list with colons, of which one word must be a choice */
	OPTION_BARE = 4,    /* a choice without a value is the first choice */
	OPTION_LIVE = 8,    /* localioctl set changes it while the mount runs */
};

#define OPTION_NO_FIELD SIZE_MAX /* the offset of an option whose value is checked and not stored */

struct option_entry {
	const char *name;
	enum option_kind kind;
	size_t offset;    /* of the field in struct mount_options */
	unsigned value;   /* of a flag or set */
	unsigned initial; /* default of a number; all other defaults are 0 and false */
	unsigned min, max;
	unsigned span; /* a number goes into that many fields, one after another; 0: into one */
	unsigned flags;
	const char *initial_text;   /* default of a path or host */
	const char *const *choices; /* ends with NULL; "one|other" are two words for one choice; "" cannot be given */
	unsigned long mount_flag;   /* MS_* of mount(2), for a flag that the kernel keeps and a remount changes */
	const char *form;           /* of the value, for usage */
	const char *help;
};

extern const struct option_entry option_table[];
extern const size_t option_table_size;

/* A value that the kernel's client takes and localiofs refuses; help says what to use instead. */
struct refused_value {
	const char *option, *value;
	const char *help;
};

extern const struct refused_value refused_values[];
extern const size_t refused_values_size;
