/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * MAKE and SYMLINK: new files, directories and symbolic links. The kernel decides about owner, group, default ACLs,
 * quotas and all rights, for a thread with the squashed credential. A file that exists is never opened.
 *
 * Whatever the sidecar is not sure that the server would do, it leaves to the server, with nothing changed: read-only
 * exports, set-id modes, and every error but EEXIST for a caller who may make names here.
 *
 * For threads whose umask is 0. No state but that of the change, which belongs to the calling thread.
 */
#pragma once

#include "sidecar/names/change.h"

/* A part of name_change_run(): makes the prepared change, and fills its reply. May wait. */
void names_make(struct name_change *c);

/*
 * Grants the regular file that MAKE has made as an OPEN would; g->at is the new file's place. A refusal leaves the file
 * made, and its open asks again. The caller owns the descriptors of *ret, and has the session's lock.
 */
void names_grant_made(struct name_change *c, const struct grant_context *g, struct grant *ret);

/*
 * Reads the attributes of a directory that MAKE has made once more, with their flags: after the session has begun to
 * watch the directory, so that each name is either seen here or noticed. Leaves them as they are if the name leads to
 * another directory by now, or without CAP_FOWNER. May wait.
 */
void names_look_into_made(struct name_change *c);
