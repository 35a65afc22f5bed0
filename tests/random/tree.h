/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Everything at once: the server's own directory against the reference, as root sees them, then each
 * name through the mount by one of the users, whose view must also be the server's to the
 * nanosecond.
 */
#pragma once

#include "step.h"

void tree_compare(struct world *w, struct pool *p, int actor, struct verdict *v);
