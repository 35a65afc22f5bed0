/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes that the daemon makes itself. A daemon that the sidecar trusts has a descriptor of each file with a backing
 * id, and of directories in which names are changed. By these it may set the file's attributes, and change the
 * directory's names, as the sidecar would: as the user that the squash makes of the caller (BROKER_OPEN_WANT_SET). That
 * saves an exchange with another process: on one CPU a caller's chmod(2) takes 15 us in place of 28. Of a new directory
 * it tells what the sidecar's reply would: the server's handle, and attributes.
 *
 * One thread does so, since a change may wait for ever, for the lock of a file or for a frozen filesystem, and no
 * handler of requests may. While the thread waits it takes no other change: the sidecar makes those. So a caller whose
 * change waits, waits like a caller of the filesystem itself, and cannot be killed meanwhile. The thread alone changes
 * its credentials, and the sidecar knows its number (struct broker_hello): so no notices come of what it does.
 *
 * An error is never an answer. The thread has no other groups, and it knows no rules of the server: what it cannot do,
 * the sidecar may.
 *
 * The setter belongs to the mount. Its lock guards which job the thread has; any thread may call setter_take().
 */
#pragma once

#include <sys/stat.h>

#include "fuse/local/granted_file.h"

struct setter;

/* A directory that MKDIR has made, as the sidecar's reply would tell it. fh.len 0: nothing is known of it. */
struct setter_made {
	struct nfs_fh fh;
	struct nfs_attr attr;
	bool no_acl;
};

/* A change. Its owner fills it, and keeps it until done() runs, on the setter's thread, without a lock. */
struct setter_job {
	struct granted_file *file;     /* a reference, which the setter takes over; a looker that may make the change */
	const struct nfs_call *naming; /* MKDIR, REMOVE, RMDIR, or RENAME inside one directory; NULL: body */
	bool replaces;                 /* a RENAME may take the new name from another file */
	struct broker_setattr body;
	/* 0, or a negative errno: nothing was changed. after: the file's attributes, or NULL if they are not known. */
	void (*done)(struct setter_job *job, int error, const struct nfs_attr *after);
	/* The setter's, for done(): of the directory, before the change of its names, and whether it has no ACL. */
	struct stat before;
	bool no_acl;
	struct setter_made made; /* by MKDIR */
};

/*
 * Starts the thread. -EPERM if it could not act as another user: this process is not root without other groups, lacks
 * SETUID, SETGID, CHOWN or FOWNER, or its capabilities would stay when its filesystem uid changes
 * (SECBIT_NO_SETUID_FIXUP, capabilities(7)).
 */
int setter_new(struct setter **ret);

/* Ends the thread after its job, on the thread that ends the mount; no job is taken any more. Takes NULL. */
void setter_stop(struct setter *s);

/* Takes NULL; returns NULL. */
struct setter *setter_free(struct setter *s);

/* The number of the thread, as gettid(2). Constant. */
pid_t setter_thread(const struct setter *s);

/* False if the thread has a change to make already: the job is still its owner's, and the file its reference. */
bool setter_take(struct setter *s, struct setter_job *job);
