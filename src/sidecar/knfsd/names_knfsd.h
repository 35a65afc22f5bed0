/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whom client entries mean that go by name, as mountd of nfs-utils decides it
 * (support/export/client.c), and what it told the kernel.
 *
 * The kernel's auth.unix.ip cache comes first: it holds the answer that the server itself uses. Otherwise the name
 * services are asked as mountd asks them.
 */
#pragma once

#include <stdio.h>

#include "sidecar/exports/peer.h"

/*
 * From the kernel's auth.unix.ip cache: the entries that mountd found to mean the address, separated by
 * commas, or a '$' and the address when it keeps them to itself (mountd's use_ipaddr, with many names); to
 * be freed. 1; 0 when the kernel does not know now; -ENOMEM.
 */
int names_knfsd_domain(FILE *content, const struct ip_address *peer, char **ret);

/* The same, of the running kernel. */
int names_knfsd_cached(const struct ip_address *peer, char **ret);

/* server_kind.know_names */
void names_knfsd(const struct export_table *t, const struct ip_address *peer, uint8_t *ret_verdicts);
