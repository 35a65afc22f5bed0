/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sidecar's numbers for monitoring (--metrics=), which localiofs-metrics(7) lists. The labels have the words of
 * tables and the numbers of registries, so the set of series never grows. The exporter has a thread of its own;
 * main owns the exporter and the view, which outlives it.
 */
#pragma once

#include "metrics/exporter.h"
#include "sidecar/control/view.h"

/* A negative errno and a sentence, which names the path. */
int view_metrics_start(const char *path, struct view *v, struct exporter **ret, char *sentence, size_t size);
