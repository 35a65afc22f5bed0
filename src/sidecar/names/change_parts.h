/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of a change:
 *
 *	prepare.c  opens directories and files by their handles
 *	make.c     MAKE and SYMLINK
 *	lookup.c   LOOKUP
 *	change.c   REMOVE, RENAME, LINK and SETATTR; and the sync of names for all
 *
 * LOOKUP is what the NFS server would answer about a name, where that is certain. The server's own rule and the kernel
 * must both allow the search of the directory. A mount point, another filesystem or subvolume, ".", "..", and every
 * error but ENOENT are left to the server.
 *
 * No state but that of the change, which belongs to the calling thread. Its umask is 0.
 */
#pragma once

#include "sidecar/names/change.h"

/* True if the server is a process that keeps files open, and remembers attributes and a directory's parent. */
static inline bool change_server_remembers(const struct name_change *c)
{
	return c->server->process != NULL;
}

/* Sets c->cred and c->lacks_groups: grant_squash_untold() of what the request asks with. */
int change_squash(struct name_change *c, const struct grant_context *g, const struct broker_cred *asked);

/* Open the directory for a LOOKUP or LIST. 0 or a negative errno. May wait. */
int change_prepare_lookup(struct name_change *c, const struct grant_context *g);
int change_prepare_list(struct name_change *c, const struct grant_context *g);

/* Parts of name_change_run() that fill the reply. May wait. */
void change_make(struct name_change *c);
void change_look_up(struct name_change *c);
void change_list(struct name_change *c);
