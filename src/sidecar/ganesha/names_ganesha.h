/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides which client entries by name mean a peer, as Ganesha does (client_match() of support/client_mgr.c). No state;
 * any thread.
 */
#pragma once

#include "sidecar/exports/peer.h"

/* server_kind.know_names: waits for the name thread. */
void names_ganesha(const struct export_table *t, const struct ip_address *peer, uint8_t *ret_verdicts);
