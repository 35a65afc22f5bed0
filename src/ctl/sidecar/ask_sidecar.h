/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks the sidecar of this host by its control socket (localiofs/sidecar_control.h). No state; any thread. */
#pragma once

#include <jansson.h>

/* The sidecar's view, which the caller frees; NULL after a line on stderr. Waits at most 20 s for each part of it. */
json_t *ask_sidecar(const char *path);
