/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The status of a mount as JSON, made from the table in localiofs/status_keys.h. No state; any thread. */
#pragma once

#include "fuse/control/status_view.h"

/* The JSON text of all keys, which the caller frees; NULL without memory. */
char *status_text(const struct status_view *v);
