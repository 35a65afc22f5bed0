/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "metrics/histogram.h"

#include "base/util.h"

unsigned histogram_bucket(uint64_t ns)
{
	uint64_t us = ns / 1000 + (ns % 1000 != 0);

	if (us <= 1)
		return 0;
	return MIN(64U - (unsigned)__builtin_clzll(us - 1), HISTOGRAM_BOUNDS);
}

void histogram_add(struct histogram *h, uint64_t ns)
{
	atomic_fetch_add_explicit(&h->counts[histogram_bucket(ns)], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->ns, ns, memory_order_relaxed);
}

void histogram_read(struct histogram *h, struct histogram_counts *to)
{
	for (unsigned n = 0; n < HISTOGRAM_BUCKETS; n++)
		to->counts[n] += atomic_load_explicit(&h->counts[n], memory_order_relaxed);
	to->ns += atomic_load_explicit(&h->ns, memory_order_relaxed);
}

uint64_t histogram_total(const struct histogram_counts *c)
{
	uint64_t total = 0;

	for (unsigned n = 0; n < HISTOGRAM_BUCKETS; n++)
		total += c->counts[n];
	return total;
}

double histogram_percentile_us(const struct histogram_counts *c, double share)
{
	double rank = share * (double)histogram_total(c), below = 0;

	if (rank <= 0)
		return 0;
	for (unsigned n = 0; n < HISTOGRAM_BOUNDS; n++) {
		double count = (double)c->counts[n];
		double from = n == 0 ? 0 : (double)histogram_bound_us(n - 1);

		if (count > 0 && below + count >= rank)
			return from + ((double)histogram_bound_us(n) - from) * (rank - below) / count;
		below += count;
	}
	return (double)histogram_bound_us(HISTOGRAM_BOUNDS - 1);
}
