/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel's NFS server goes by, as long as it does not ask mountd again: /proc/net/rpc/nfsd.export
 * (fs/nfsd/export.c svc_export_show) and nfsd.fh (expkey_show). An etab that was written without
 * exportfs(8) may say something else.
 */
#pragma once

#include <stdio.h>

#include "sidecar/exports/export_table.h"
#include "sidecar/backing/nfs_handle.h"

/*
 * The terms on which the domain (names_knfsd.h) has the path: 1 with those of *perms replaced that the
 * server keeps, 0 when it would ask mountd. *perms has the etab's, which decide between the anonymous ids
 * 65534 and -2: the kernel prints neither.
 */
int exports_knfsd_terms(FILE *content, const char *path, const char *domain, struct export_perms *perms);

/* Where the server looks for the handle's files; to be freed. 1; 0 when it would ask mountd; -ENOMEM. */
int exports_knfsd_path(FILE *content, const struct nfs_handle *h, const char *domain, char **ret);
