/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whom client entries mean that go by name, as Ganesha decides it (client_match() of support/client_mgr.c). */
#pragma once

#include "sidecar/exports/peer.h"

/* server_kind.know_names */
void names_ganesha(const struct export_table *t, const struct ip_address *peer, uint8_t *ret_verdicts);
