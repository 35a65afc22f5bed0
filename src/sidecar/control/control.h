/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The control socket of the sidecar (localiofs/sidecar_control.h): a thread of its own, which answers root of the host.
 *
 * The socket has mode 0600, and belongs to root. uid 0 of a container may reach it all the same, so a client also
 * proves that it has CAP_SYS_ADMIN in the initial user namespace. Clients are not trusted: CONTROL_CLIENTS at a time,
 * CONTROL_MS for each, a few bytes per request. When all places are taken, the oldest client loses its place. The
 * thread waits for no client, so a stalled one delays neither others nor the sidecar.
 *
 * struct control belongs to main, which starts and stops it; in between only its thread uses it.
 */
#pragma once

#include <stddef.h>

#include "localiofs/sidecar_control.h"
#include "sidecar/control/view.h"

#define CONTROL_CLIENTS 8
#define CONTROL_MS      5000

struct control;

/*
 * Makes the socket, with its directory if that is missing, and starts the thread. Replaces a socket on which nobody
 * listens. The view must outlive the thread. A negative errno and a sentence that begins with the path.
 */
int control_start(const char *path, const struct view *view, struct control **ret, char *sentence, size_t size);

/* Ends the thread, and removes the socket. Takes NULL. */
void control_stop(struct control *c);
