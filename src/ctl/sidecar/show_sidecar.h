/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sidecar's view for people. The JSON is of a sidecar of this host, which root runs. No state; any thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Lines of text: the sidecar, its registries, exports and sessions, with the files that each session holds open. */
void show_sidecar(FILE *to, const json_t *view);
