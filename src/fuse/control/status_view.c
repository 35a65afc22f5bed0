/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/control/status_view.h"

#include <netdb.h>
#include <string.h>

#include "fuse/known/known.h"
#include "fuse/local/idle_ids.h"
#include "fuse/locks/locks.h"
#include "fuse/shortcut/shortcut.h"
#include "mount/mountinfo.h"

const char *status_state_name(enum probe_state state)
{
	static const char *const names[] =
		{[PROBE_STATE_PROBING] = "probing", [PROBE_STATE_LOCAL] = "local", [PROBE_STATE_REMOTE] = "remote"};

	return names[state];
}

/* A mount that can never be local has no probe to ask: the reason follows from its options. */
static void view_probe(struct fs *fs, struct probe_status *ret)
{
	enum reason reason = fs->options->local == LOCAL_OFF     ? REASON_OFF
			     : fs->options->local == LOCAL_URING ? REASON_NO_URING
								 : REASON_NO_PASSTHROUGH;

	if (fs_may_be_local(fs)) {
		probe_status(fs->probe, ret);
		return;
	}
	memset(ret, 0, sizeof(*ret));
	ret->state = PROBE_STATE_REMOTE;
	ret->reason = reason;
	(void)snprintf(ret->detail, sizeof(ret->detail), "%s", reason_text(reason));
}

/* The reason why this request did not come over io_uring. */
static enum ring_reason view_ring_reason(const struct fs *fs, bool over_io_uring)
{
	if (over_io_uring)
		return RING_REASON_NONE;
	return fs->ring_reason == RING_REASON_NONE ? RING_REASON_FAILED : (enum ring_reason)fs->ring_reason;
}

/* The address of the last connection: the server's name may have another address by now than at the mount's start. */
static void view_address(const struct fs *fs, const struct server_stats *stats, char *ret, size_t size)
{
	if (getnameinfo((const struct sockaddr *)&stats->peer, sizeof(stats->peer), ret, (socklen_t)size, NULL, 0,
		    NI_NUMERICHOST) != 0)
		(void)snprintf(ret, size, "%s", fs->server_address);
}

/* The options of the mount as they are now: the sizes and the port that were agreed with the server, and remounts. */
static void view_options(struct fs *fs, char *ret, size_t size)
{
	struct mount_options now = *fs->options;

	now.rsize = fs->rsize;
	now.wsize = fs->wsize;
	now.port = fs->server_port;
	now.ro = status_is_read_only(fs);
	if (options_text(&now, ret, size) < 0)
		ret[0] = '\0';
}

void status_view_init(struct status_view *v, struct fs *fs, bool over_io_uring)
{
	v->fs = fs;
	v->counters = &fs->counters;
	server_stats(fs->server, &v->server);
	view_probe(fs, &v->probe);
	backing_ids_counts(fs->ids, &v->ids_held, &v->ids_left_over);
	v->names_reason = fs_generation(fs) != 0 ? shortcut_reason(fs->shortcut) : v->probe.reason;
	v->ids_idle = idle_ids_count(fs->idle);
	locks_count(fs->locks, &v->locks_held, &v->locks_waiting);
	v->with_latency = true;
	v->over_io_uring = over_io_uring;
	v->ring_reason = view_ring_reason(fs, over_io_uring);
	view_address(fs, &v->server, v->address, sizeof(v->address));
	view_options(fs, v->options, sizeof(v->options));
}

uint64_t status_opens_direct(struct fs_counters *c)
{
	return c->opens[OPEN_PATH_DIRECT] + c->opens[OPEN_PATH_DIRECT_MAPPABLE];
}

uint64_t status_opens_remote(struct fs_counters *c)
{
	return c->opens[OPEN_PATH_CACHED] + status_opens_direct(c) + c->opens[OPEN_PATH_PASSTHROUGH_DIRECT] -
	       c->opens_uring;
}

static int take_read_only(const struct mountinfo *m, void *arg)
{
	const struct fs *fs = arg;

	if (strcmp(m->device, fs->device) != 0)
		return 0;
	return strncmp(m->super_options, "ro", 2) == 0 ? 1 : 2;
}

bool status_is_read_only(struct fs *fs)
{
	int r = mountinfo_each(take_read_only, fs);

	return r > 0 ? r == 1 : fs->options->ro;
}
