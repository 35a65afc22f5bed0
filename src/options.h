/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mount options. One table (options.c) is parser, usage text and list of the manual page.
 * Constant after parsing.
 */
#pragma once

#include <stdio.h>

#include "util.h"

enum local_mode {
	LOCAL_AUTO,
	LOCAL_PASSTHROUGH,
	LOCAL_OFF,
};

struct mount_options {
	bool ro, nosuid, nodev, noexec, noatime;
	bool noac;
	bool noresvport;
	bool debug;
	unsigned port, mountport; /* 0: ask the port mapper */
	unsigned probeport;
	unsigned reprobe;         /* seconds */
	unsigned rsize, wsize;    /* bytes; 0: what the server prefers */
	unsigned acregmin, acdirmin; /* seconds */
	unsigned timeout;         /* seconds to wait for the server at mount time */
	unsigned local;           /* enum local_mode */
	char registry[88];        /* a socket's path must fit behind it */
};

/* The defaults; then options_parse() for every -o. */
void options_init(struct mount_options *o);

/*
 * Takes a comma list as mount(8) gives it. A backslash protects a comma. On failure -EINVAL and a
 * sentence that names the option, the value and what would be right. sloppy: unknown options are
 * ignored (mount -s).
 */
int options_parse(
	struct mount_options *o, const char *list, bool sloppy, char *sentence, size_t size);

/* Every option with its value's form and what it means. */
void options_usage(FILE *to);

/* A mount spec, host:/path or [address]:/path. */
struct mount_spec {
	char host[256];
	char path[1024];
};

/* -EINVAL and a sentence when it is not of that form. */
int spec_parse(const char *text, struct mount_spec *ret, char *sentence, size_t size);

const char *local_mode_name(unsigned mode);
