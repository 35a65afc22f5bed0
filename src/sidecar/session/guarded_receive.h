/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Takes a packet that may carry a descriptor, without ever having one that is not what it is to be.
 *
 * A descriptor of a FUSE file hangs whoever closes it, for as long as its daemon does not answer the FLUSH: no signal
 * helps, and a process with such a thread does not end. So the packet is received by a process of its own, which shares
 * the sidecar's memory and not its descriptors; only what its judge lets through is passed on. Anything else goes with
 * that process, and what hangs is that. The session waits for it, so that it counts as one, but can be killed.
 */
#pragma once

#include "sidecar/broker/packet.h"

/*
 * Looks at the descriptor in p->fd, with calls that wait for nobody, in that process: 0 to pass it on, 1 when it is
 * right and has served, or a negative errno.
 */
typedef int (*guarded_judge_fn)(const struct packet *p, void *arg);

/*
 * packet_receive() with a descriptor. *ret_judged: 0 when there is none or it is in ret->fd, else what the judge said;
 * then ret->fd is -1. Does not return while what came cannot be closed.
 */
int guarded_receive(int socket, guarded_judge_fn judge, void *arg, struct packet *ret, int *ret_judged);
