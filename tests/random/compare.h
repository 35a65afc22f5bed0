/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compares both sides: first the results of an operation, then the attributes of the files. If a listed difference has
 * changed only one side, the reference is changed to match, so that the run can continue.
 */
#pragma once

#include "expect.h"

#define ATTRIBUTES_MS                                                                                  \
	3500 /* acregmin, for which the kernel may cache attributes, and some time for the test itself \
	      */

#define SERVER_MS 65000 /* NFS-Ganesha's Attr_Expiration_Time, and some time for the test itself */

struct verdict {
	bool differs;
	char sentence[1000];
};

/*
 * True if the mount may show times from before the last write through a mapping: the kernel may have seen some of
 * several such writes; and a local write after close(2) has no RELEASE behind it, so NFS-Ganesha does not know of it
 * when the mount becomes remote.
 */
bool compare_map_unseen(const struct world *w, const struct object *o);

/* Sets the verdict to a difference with this sentence, unless it has one already. */
void differs(struct verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * After the call of the mount: true if the mount refused the operation for a listed reason. Then the reference skips
 * it.
 */
bool compare_refusal(struct world *w, const struct op *op, const struct expectation *e);

/* After both calls: compares results, errors and data. */
void compare_results(struct world *w, const struct op *op, const struct expectation *e, struct verdict *v);

/* Compares the attributes that both calls have read afterwards. */
void compare_seen(struct world *w, const struct op *op, const struct expectation *e, struct verdict *v);

/* Compares the attributes of two files without their times. where names the file in the sentence. */
void compare_attributes(const struct object *o, const struct statx *mount, const struct statx *reference,
	const char *where, struct verdict *v);

/* True if only the set-id bits of two modes differ: the reference gets the mode of the mount, and why is counted. */
bool compare_mend_setid(int reference_fd, const struct statx *mount, struct statx *reference, enum difference why);

/* "ENOENT", or "ok" for 0. */
const char *error_name(int error);
