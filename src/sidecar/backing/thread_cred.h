/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The calling thread's credentials in the kernel: fsuid, fsgid and groups of an AUTH_UNIX caller, and the capabilities
 * for the next operation.
 *
 * glibc's setgroups(3) and setuid(2) change all threads of the process; the functions below change the calling thread
 * only. While fsuid is not 0 the kernel drops the filesystem capabilities, and gives them back afterwards
 * (capabilities(7), "Effect of user ID changes"). After each thread_cred_become() the caller makes the calls that need
 * the credential, and then thread_cred_restore().
 *
 * thread_cred_restore() leaves fsgid and groups as they are, because the thread's next caller is most likely in the
 * same groups, and because they give nothing to uid 0 with CAP_DAC_OVERRIDE. So between two credentials a thread makes
 * no files, and does not open the files of other processes in /proc (ptrace(2), "Ptrace access mode checking").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "localiofs/broker_protocol.h"

/* Called once, before other threads exist. -EPERM with the names of missing privileges in ret_missing. */
int thread_cred_check(char *ret_missing, size_t size);

/*
 * Called once for the process: keeps only the capabilities in the list of thread_cred.c, which says why each is kept;
 * sets no_new_privs and makes the process non-dumpable. bind_reserved: the process will bind a port below 1024.
 */
int thread_cred_confine(bool bind_reserved);

/* Takes fsuid, fsgid and groups of the credential. On a negative errno the caller must call thread_cred_restore(). */
int thread_cred_become(const struct broker_cred *cred);

/*
 * The same, for registering a backing file: all later users of the file act with the thread's present credentials. So
 * the thread drops CAP_FSETID, CAP_SYS_RESOURCE and the DAC capabilities, also for uid 0.
 */
int thread_cred_become_registrar(const struct broker_cred *cred);

/* True if the kernel grants the thread's present credentials this access to a file: R_OK, W_OK, X_OK of access(2). */
bool thread_cred_allows(int fd, int mode);

/* Returns to uid 0 with all kept capabilities. A failure ends the process, since its credentials are unknown then. */
void thread_cred_restore(void);
