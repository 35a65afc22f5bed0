/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides which client entries by name mean a peer, as mountd of nfs-utils does (support/export/client.c): by mountd's
 * answer in the kernel's cache, or else by the name services. No state; any thread.
 *
 * The kernel's auth.unix.ip cache comes first: it holds the answer that the server itself uses. Otherwise the name
 * services are asked as mountd asks them.
 */
#pragma once

#include <stdio.h>

#include "sidecar/exports/peer.h"

/*
 * The domain of an address in the text of the kernel's auth.unix.ip cache: the entries that mean the address, separated
 * by commas, or a '$' and the address when mountd does not list the entries (mountd's use_ipaddr, with many names). 1
 * with the domain, which the caller frees; 0 if the cache has no valid entry; -ENOMEM.
 */
int names_knfsd_domain(FILE *content, const struct ip_address *peer, char **ret);

/* The same from the running kernel's cache. */
int names_knfsd_cached(const struct ip_address *peer, char **ret);

/* server_kind.know_names: may wait for the name thread. */
void names_knfsd(const struct export_table *t, const struct ip_address *peer, uint8_t *ret_verdicts);
