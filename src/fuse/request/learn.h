/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the mount learns from calls to the NFS server: which answers change what is known (fuse/known/known.h) of the
 * inodes of a request, and how.
 *
 * No state of its own: the request has the time of its question and whether its call changes something. Any thread,
 * without locks: the functions of known.h take the inode's.
 */
#pragma once

#include "fuse/request/request.h"

/* r->call is about to be sent: sets r->asked and r->changes, and puts in doubt what the call is going to change. */
void learn_from_question(struct request *r);

/*
 * r->call is answered. May turn the error into -ESTALE, when the directory that a new name was to be made in is another
 * one by now.
 */
void learn_from_answer(struct request *r);

/* The server has made the file, and r->call goes on with its attributes: learns about the directory. */
void learn_from_making(struct request *r);
