/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The credentials of one thread, as the kernel has them: fsuid, fsgid and groups of an AUTH_UNIX
 * caller, and the capabilities that go with what the thread is about to do.
 *
 * glibc's setgroups() and friends change every thread of the process; these do not. The kernel drops
 * the filesystem capabilities by itself while fsuid is not 0 and gives them back afterwards
 * (capabilities(7), "Effect of user ID changes"). Only the calling thread is touched; every
 * thread_cred_become() is followed by thread_cred_restore() before anything else is done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "localiofs/broker_protocol.h"

/* Once for the process, before threads: -EPERM and the names of what is missing in *ret_missing. */
int thread_cred_check(char *ret_missing, size_t size);

/*
 * Once for the process: keeps the capabilities listed in thread_cred.c, each with its reason, sets
 * no_new_privs and makes the process non-dumpable. bind_reserved: a port below 1024 will be bound.
 */
int thread_cred_confine(bool bind_reserved);

/* fsuid, fsgid and groups of the credential. Anything but 0: restore and give up. */
int thread_cred_become(const struct broker_cred *cred);

/*
 * The same for registering a backing file, whose later users all act with the credentials of now:
 * without CAP_FSETID, CAP_SYS_RESOURCE and the DAC capabilities, whoever the caller is.
 */
int thread_cred_become_registrar(const struct broker_cred *cred);

/* Whether the kernel lets the thread, as it is now, open a file so: R_OK, W_OK, X_OK of access(2). */
bool thread_cred_allows(int fd, int mode);

/* Back to root with everything that was kept. A failure ends the process: nothing is safe then. */
void thread_cred_restore(void);
