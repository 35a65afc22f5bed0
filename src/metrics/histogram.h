/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A histogram of durations. Bucket n counts the durations up to 2^n microseconds, without those of the buckets before
 * it; the last bucket counts all that are longer. The buckets are fixed, so histograms of all times and machines can be
 * added and compared.
 *
 * struct histogram belongs to the caller, zeroed at first. Any thread adds to it and reads it: its members are atomic,
 * with no order between them. struct histogram_counts is a plain value of one thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS  25                     /* 1 us ... 2^24 us = 16.8 s */
#define HISTOGRAM_BUCKETS (HISTOGRAM_BOUNDS + 1) /* the last one has no bound */

struct histogram {
	atomic_uint_fast64_t counts[HISTOGRAM_BUCKETS];
	atomic_uint_fast64_t ns; /* the sum of all durations */
};

struct histogram_counts {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t ns;
};

/* The upper bound of bucket n < HISTOGRAM_BOUNDS in microseconds. */
static inline uint64_t histogram_bound_us(unsigned n)
{
	return UINT64_C(1) << n;
}

/* The bucket of a duration. */
unsigned histogram_bucket(uint64_t ns);

void histogram_add(struct histogram *h, uint64_t ns);

/* Adds what the histogram has now to a plain value. */
void histogram_read(struct histogram *h, struct histogram_counts *to);

/* The number of durations. */
uint64_t histogram_total(const struct histogram_counts *c);

/*
 * The duration in microseconds that a share (0 ... 1) of all durations does not exceed, interpolated between the bounds
 * of its bucket, as histogram_quantile() of Prometheus does. Beyond the last bound, that bound. 0 for an empty one.
 */
double histogram_percentile_us(const struct histogram_counts *c, double share);
