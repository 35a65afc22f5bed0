/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compares all files: first the server's directory and the reference, as root, then each name through the mount, as one
 * of the users. The attributes on the mount must also be those of the server, including the nanoseconds of times.
 */
#pragma once

#include "step.h"

void tree_compare(struct world *w, struct pool *p, int actor, struct verdict *v);
