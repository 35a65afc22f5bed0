/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/log.h"
#include "fuse/daemon_parts.h"
#include "fuse/lease/lease.h"
#include "fuse/local/idle_ids.h"
#include "fuse/local/server_refresh.h"
#include "fuse/fs/convert.h"
#include "fuse/setter/setter.h"
#include "fuse/shortcut/shortcut.h"

static void make_server_look(struct daemon *d, struct nfs_call *look)
{
	do {
		server_look(&d->fs, look);
		(void)server_call(shortcut_nfs(d->fs.shortcut), look);
	} while (server_looked(&d->fs, look) == -EAGAIN);
}

/* The callbacks of the probe: its questions about this mount, and its events (probe.h). */
static int probe_root_attr(void *arg, struct broker_attr *ret)
{
	struct daemon *d = arg;
	struct nfs_call look = {.cred = namespaces_own_cred(&d->fs.namespaces),
		.fh = d->place.root,
		.patience_ms = QUESTION_TIMEOUT_MS};
	struct nfs_call call = look;
	int r;

	/* A server that answers from memory looks at the root first. */
	if (fs_server_remembers(&d->fs)) {
		make_server_look(d, &look);
		d->fs.counters.refreshes++;
	}
	call.proc = NFS_GETATTR;
	r = server_call(shortcut_nfs(d->fs.shortcut), &call);
	if (r < 0)
		return r;
	memset(ret, 0, sizeof(*ret));
	ret->fileid = call.attr.fileid;
	ret->mode = call.attr.mode;
	ret->size = call.attr.size;
	ret->ctime_sec = call.attr.ctime.tv_sec;
	ret->ctime_nsec = (uint32_t)call.attr.ctime.tv_nsec;
	return 0;
}

static int probe_server_address(void *arg, struct sockaddr_storage *ret)
{
	struct daemon *d = arg;
	struct server_stats stats;

	server_stats(d->fs.server, &stats);
	if (!stats.connected || stats.peer.ss_family == AF_UNSPEC)
		return -ENOTCONN;
	*ret = stats.peer;
	return 0;
}

static void probe_session(void *arg, uint64_t generation, bool up)
{
	struct daemon *d = arg;

	idle_ids_end_sessions_but(d->fs.idle, up ? generation : 0);
	lease_session(&d->fs, up);
	if (up) {
		server_near(d->fs.server);
		idle_ids_new_session(d->fs.idle);
		backing_ids_new_session(d->fs.ids);
		shortcut_new_session(d->fs.shortcut);
	} else {
		backing_ids_session_ended(d->fs.ids);
		shortcut_session_ended(d->fs.shortcut);
	}
}

static void probe_notice(void *arg, const struct broker_notice *n)
{
	struct daemon *d = arg;

	lease_notice(&d->fs, n);
}

/* The smaller of two times, of which -1 is none. */
static int sooner(int a, int b)
{
	return a < 0 || b < 0 ? MAX(a, b) : MIN(a, b);
}

static int probe_housekeep(void *arg)
{
	struct daemon *d = arg;
	int names = lease_housekeep(&d->fs);
	int idle = idle_ids_expire(d->fs.idle); /* before the ids are closed that it gives back */
	int ids = sooner(idle, backing_ids_housekeep(d->fs.ids));

	return sooner(names, sooner(ids, shortcut_housekeep(d->fs.shortcut)));
}

void probe_link_refuse(struct daemon *d, const char *detail, const char *remedy)
{
	bool both = remedy[0] != '\0' && strstr(detail, remedy) == NULL;

	(void)snprintf(d->refusal, sizeof(d->refusal),
		"option local=required: %s is not local: %s%s%s; without this option the mount uses the NFS server",
		d->name, detail, both ? "; " : "", both ? remedy : "");
	fuse_session_exit(d->fs.session);
}

/* local=required: the first probe decides on the mount. Afterwards the mount goes on without local paths. */
static void probe_decides(void *arg)
{
	struct daemon *d = arg;
	struct probe_status status;
	bool first = !d->decided;

	probe_status(d->fs.probe, &status);
	d->decided = true;
	if (status.state == PROBE_STATE_LOCAL && first)
		daemon_ready(d);
	else if (first)
		probe_link_refuse(d, status.detail, reason_text(status.reason));
	else if (status.state == PROBE_STATE_REMOTE && status.reason != d->lost)
		log_error_limited("%s has local=required and is not local any more: %s", d->name, status.detail);
	d->lost = status.reason;
}

int probe_link_make(struct daemon *d)
{
	const struct mount_options *o = d->options->mount;
	struct probe_options p = {.registry = o->registry,
		.port = o->probeport,
		.reprobe_s = o->reprobe,
		.reserved_port = !o->noresvport,
		.asker = d->fs.spec,
		.root_attr = probe_root_attr,
		.server_address = probe_server_address,
		.session = probe_session,
		.housekeep = probe_housekeep,
		.notice = probe_notice,
		.status_changed = o->local == LOCAL_REQUIRED ? probe_decides : NULL,
		.arg = d};
	int r;

	if (o->local == LOCAL_OFF)
		return 0;
	r = setter_new(&d->fs.setter);
	if (r >= 0)
		p.setter = setter_thread(d->fs.setter);
	else if (r == -EPERM)
		log_debug("the daemon cannot act as another user: attributes are set by the sidecar and by the server");
	else
		return r;
	r = probe_new(&p, &d->fs.probe);
	if (r >= 0)
		r = lease_new(&d->fs);
	if (r < 0)
		return r;
	backing_ids_set_probe(d->fs.ids, d->fs.probe);
	r = o->local == LOCAL_PASSTHROUGH ? 0 : uring_new(&d->fs.uring);
	if (r < 0)
		log_debug("no io_uring: %s", strerror(-r));
	return 0;
}

int probe_link_start(struct daemon *d)
{
	struct broker_fh root = request_broker_fh(&d->place.root);

	return probe_start(d->fs.probe, d->fs.passthrough ? fuse_session_fd(d->fs.session) : -1, &root);
}
