/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * MAKE and SYMLINK: new files, directories and symbolic links. The kernel decides about owner, group, default ACLs,
 * quotas and all rights, for a thread with the squashed credential. A file that exists is never opened.
 *
 * Whatever the sidecar is not sure that the server would do, it leaves to the server, with nothing changed: read-only
 * exports, set-id modes, and every error but EEXIST for a caller who may make names here.
 *
 * On the session's thread, whose umask is 0. A new file has no lease and no delegation, for which the thread could
 * wait. A regular file is granted as by OPEN; g->at is replaced by the new file's place.
 */
#pragma once

#include "sidecar/names/directory.h"

/*
 * dir: the directory, open also after an error; the caller closes it. Sets *ret_grant, whose descriptors the caller
 * owns.
 */
void names_make(struct grant_context *g, const struct broker_make *request, struct names_directory *dir,
	struct broker_made *reply, struct grant *ret_grant);
void names_symlink(struct grant_context *g, const struct broker_symlink *request, struct names_directory *dir,
	struct broker_made *reply);

/*
 * Reads the attributes of a directory that names_make() has made once more, with their flags: after the session has
 * begun to watch the directory, so that each name is either seen here or noticed. Leaves them as they are if the name
 * leads to another directory by now, or without CAP_FOWNER.
 */
void names_look_into(const struct names_directory *dir, const char *name, struct broker_attr *attr);
