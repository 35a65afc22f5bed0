/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/wake.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/util.h"

static int open_with(struct wake *w, int flags)
{
	w->fd = eventfd(0, EFD_CLOEXEC | flags);
	return w->fd < 0 ? -errno : 0;
}

int wake_open(struct wake *w)
{
	return open_with(w, EFD_NONBLOCK);
}

int wake_open_for_ring(struct wake *w)
{
	return open_with(w, 0);
}

void wake_up(struct wake w)
{
	int saved = errno;
	uint64_t one = 1;

	/* write(2) fails only if the counter is at its maximum, and then fd is readable already. */
	(void)!write(w.fd, &one, sizeof(one));
	errno = saved;
}

void wake_take(struct wake w)
{
	int saved = errno;
	uint64_t count;

	(void)!read(w.fd, &count, sizeof(count));
	errno = saved;
}

void wake_close(struct wake *w)
{
	w->fd = close_fd(w->fd);
}
