/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Receives a packet that may carry a descriptor, so that the sidecar never has a hostile descriptor.
 *
 * close(2) of a file on FUSE blocks until the file's daemon answers FLUSH; no signal ends the wait, and a process with
 * such a thread does not end. So a separate process, which shares the sidecar's memory but not its descriptors,
 * receives the packet. A judge examines the descriptor there, and the process passes on a good descriptor. A bad
 * descriptor is closed when the process exits, so only that process can block. The session waits for the process, so a
 * blocked process counts as a session; the sidecar itself can still be killed.
 *
 * For the session's thread; the only state is on the heap for the time of the call.
 */
#pragma once

#include "sidecar/broker/packet.h"

/*
 * Examines the descriptor p->fd in the separate process, with calls that cannot wait. 0: pass the descriptor on; 1: the
 * descriptor is good, and not needed any more; a negative errno: the descriptor is bad.
 */
typedef int (*guarded_judge_fn)(const struct packet *p, void *arg);

/*
 * packet_receive() with a descriptor. *ret_judged: 0 if no descriptor came, or ret->fd has it; else the judge's result,
 * and ret->fd is -1. Returns only when a bad descriptor is closed.
 */
int guarded_receive(int socket, guarded_judge_fn judge, void *arg, struct packet *ret, int *ret_judged);
