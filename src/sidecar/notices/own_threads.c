/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/notices/own_threads.h"

/* False if there are too many. */
static bool add(struct own_threads *own, pid_t thread)
{
	unsigned n = atomic_load(&own->count);

	/* The session's threads add themselves, perhaps at once. */
	do {
		if (n == OWN_THREADS)
			return false;
	} while (!atomic_compare_exchange_weak(&own->count, &n, n + 1));
	atomic_store(&own->ids[n], thread);
	return true;
}

void own_threads_add(struct own_threads *own, pid_t thread)
{
	(void)add(own, thread);
}

void own_threads_add_setter(struct own_threads *own, pid_t thread)
{
	if (add(own, thread))
		atomic_store(&own->setter, thread);
}

bool own_threads_have(const struct own_threads *own, pid_t thread)
{
	unsigned n = atomic_load(&own->count);

	for (unsigned i = 0; i < n; i++)
		if (atomic_load(&own->ids[i]) == thread)
			return true;
	return false;
}

bool own_threads_have_setter(const struct own_threads *own)
{
	return atomic_load(&own->setter) != 0;
}

bool own_threads_is_setter(const struct own_threads *own, pid_t thread)
{
	return thread != 0 && atomic_load(&own->setter) == thread;
}
