/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Updates the mount's knowledge (fuse/known/known.h) of a request's inodes from each call to the NFS server and its
 * answer.
 *
 * No state of its own: the request stores when its call was sent and whether the call changes an inode. Any thread,
 * without locks; the functions of known.h take the inode's lock.
 */
#pragma once

#include "fuse/request/request.h"

/* Before r->call is sent: sets r->asked and r->changes, and puts in doubt all knowledge that the call will change. */
void learn_from_question(struct request *r);

/*
 * After r->call is answered. Replaces the error by -ESTALE if the call should have made a name in a directory and the
 * directory's own name may lead to another directory by now.
 */
void learn_from_answer(struct request *r);

/* The server has made the file, and r->call goes on with its attributes: learns about the directory. */
void learn_from_making(struct request *r);
