/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The defaults file, localiofs.conf(5): mount options for all mounts, for the mounts of a server and for a mount point,
 * as nfsmount.conf of nfs-utils has them. The program that mounts reads it once, before the options of the command
 * line.
 *
 * A file with a fault fails the mount, while nfs-utils warns: a mount without its nosuid or with another registry would
 * look right. All lines are checked, those of other mounts too, so that the next mount tells of a fault, and not the
 * mount that needs the line. Only the file's owner may be able to write it, since a registry or a place for metrics in
 * it is obeyed with root's rights. Errors are a negative errno and a sentence that names file and line. Plain values;
 * no state; any thread.
 */
#pragma once

#include "mount/options.h"

#define DEFAULTS_FILE "/etc/localiofs.conf"

/* The mount whose sections count. Strings of the caller. */
struct defaults_for {
	const char *host;      /* of SERVER:/EXPORT; NULL: no server */
	const char *directory; /* without links; empty or NULL: the mount point is not known */
	const char *given;     /* the mount point as the user named it, which may be a link; NULL: the same */
};

/*
 * Changes the options by the file's sections: those for all, then those of the server, then those of the mount point.
 * Without a file nothing changes. ret_text gets the options in this order, as a list; a long list is cut off. With
 * sloppy unknown options are ignored. -EINVAL if the file has a fault, -EPERM if its owner or mode is wrong, -ENOMEM,
 * or the error of reading it; the options are then changed in part.
 */
int defaults_apply(struct mount_options *o, const char *path, const struct defaults_for *mount, bool sloppy,
	char *ret_text, size_t text_size, char *sentence, size_t size);
