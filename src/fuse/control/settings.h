/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options that change while the mount runs, those with OPTION_LIVE in the table of options. fs->options points to the
 * options of this moment: each use of an option reads the pointer anew, and two uses may see different options.
 *
 * A reader may still use the options of an earlier moment, so all of them stay in memory until the mount ends. Equal
 * options are kept once, and a mount keeps SETTINGS_MAX at most.
 *
 * Any thread; struct settings has a lock of its own.
 */
#pragma once

#include "fuse/fs/fs.h"

#define SETTINGS_MAX 1000

/* For the options that the mount was made with; -ENOMEM. */
int settings_new(struct settings **ret);

/* When no request runs any more. Takes NULL; returns NULL. */
struct settings *settings_free(struct settings *s);

/*
 * Changes the options in the list, as -o takes it, and logs the change. -EINVAL, -ENOSPC or -ENOMEM, a sentence, and no
 * change.
 */
int settings_change(struct fs *fs, const char *list, char *sentence, size_t size);
