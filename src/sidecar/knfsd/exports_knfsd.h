/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The exports in the caches of the kernel's NFS server, which the server uses until it asks mountd again:
 * /proc/net/rpc/nfsd.export (fs/nfsd/export.c svc_export_show) and nfsd.fh (expkey_show). They may differ from an etab
 * that was written without exportfs(8). The functions read the text of the caches and have no state; any thread.
 */
#pragma once

#include <stdio.h>

#include "sidecar/exports/export_table.h"
#include "handle/nfs_handle.h"

/*
 * The options of the path for the domain (names_knfsd.h): 1, and replaces the options in *perms that the cache has; 0
 * if the server would ask mountd. *perms has the options of the etab, which decide between the anonymous ids 65534 and
 * -2: the kernel prints neither.
 */
int exports_knfsd_terms(FILE *content, const char *path, const char *domain, struct export_perms *perms);

/*
 * The directory in which the server finds the handle's files: 1 with the path, which the caller frees; 0 if the server
 * would ask mountd; -ENOMEM.
 */
int exports_knfsd_path(FILE *content, const struct nfs_handle *h, const char *domain, char **ret);
