/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFS-Ganesha as a kind of server; tested with 4.3, read up to 15.2. A constant table, which has no state of its own.
 */
#pragma once

#include "sidecar/exports/server_kind.h"

extern const struct server_kind server_ganesha;
