/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One client's session: ANNOUNCE, MATCHED, HELLO, and then its requests, in that order and within
 * bounded times, until its socket closes, it breaks the protocol, or the sidecar stops.
 *
 * Runs on a thread with a descriptor table of its own, in which nothing lies but what this session
 * needs. A descriptor from the client that hangs whoever touches it keeps this thread waiting for the process that
 * received it (guarded_receive.h), and nobody else.
 */
#pragma once

/* The thread; arg is the struct session. */
void *session_run(void *arg);
