/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * knfsd's access decision for a regular file: it asks the kernel (nfsd_access() and
 * nfsd_permission() of fs/nfsd/vfs.c), and so do we, as a thread with the squashed credential and
 * the capabilities that nfsd_setuser() leaves it.
 */
#pragma once

#include "sidecar/exports/server_kind.h"

/* ACCESS bits, or a negative errno. Runs with other credentials in between. */
int access_knfsd(const struct access_file *f, const struct broker_cred *cred, bool export_writable);
