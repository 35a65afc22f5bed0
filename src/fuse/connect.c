/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "fuse/daemon_parts.h"
#include "fuse/known/known.h"
#include "fuse/shortcut/shortcut.h"
#include "io/nfs3/nfs3.h"

#define TRY_TIMEOUT_MS     30000 /* of each question in an attempt to mount */
#define TRY_TIMEOUT_MIN_MS 1000  /* the same if less time is left of mounttimeout= */
#define TRY_PAUSE_MS       1000  /* before the second attempt; doubles before each further attempt */
#define TRY_PAUSE_MAX_MS   30000
#define RETRY_FG_MS        30000 /* nfs(5) says two minutes, which is long to wait after a typing error */
#define RETRY_BG_MIN       10000

#define NFS_VERSION          3 /* mount/options_table.c refuses other values of vers= */
#define REQUEST_SIZE_DEFAULT 65536U

/* By number. Another version of NFS is a folder src/io/nfsN and a line in this table. */
static const struct server_version *const nfs_versions[] = {[3] = &nfs3_version};

static void on_connection_changed(void *arg, bool up)
{
	struct daemon *d = arg;

	if (!up)
		return;
	d->root_stale = false; /* the server process may be another one: if the root is still stale, log that again */
	(void)sem_post(&d->connected);
	if (d->fs.probe)
		probe_kick(d->fs.probe);
}

static void on_stale(void *arg, const struct nfs_fh *fh)
{
	struct daemon *d = arg;

	known_stale(&d->fs);
	if (d->root_stale || !nfs_fh_equal(fh, &d->place.root))
		return;
	d->root_stale = true;
	log_error_limited("%s: the server does not know the export's root any more; unmount it and mount it again",
		d->fs.spec);
}

static int family(unsigned protocol)
{
	switch (protocol) {
	case PROTOCOL_TCP:
		return AF_INET;
	case PROTOCOL_TCP6:
		return AF_INET6;
	default:
		return AF_UNSPEC;
	}
}

/* Without mountproto= the mount daemon is reached like the server, unless it is another host. */
static int mount_family(const struct mount_options *o)
{
	return family(o->mountproto == PROTOCOL_ANY && !o->mounthost[0] ? o->proto : o->mountproto);
}

static void set_server_options(struct daemon *d)
{
	static const int errors[] = {[RECOVERY_HARD] = 0, [RECOVERY_SOFT] = -EIO, [RECOVERY_SOFTERR] = -ETIMEDOUT};
	const struct mount_options *m = d->options->mount;

	d->version = nfs_versions[NFS_VERSION];
	d->server = (struct server_options){.host = d->options->spec->host,
		.export_path = d->options->spec->path,
		.name = d->name,
		.port = m->port,
		.family = family(m->proto),
		.patient = m->bg,
		.mount_daemon = {.host = m->mounthost[0] ? m->mounthost : NULL,
			.port = m->mountport,
			.family = mount_family(m)},
		.nconnect = m->nconnect,
		.reserved_port = !m->noresvport,
		.soft = errors[m->recovery],
		.timeo_ms = m->timeo * 100,
		.retrans = m->retrans,
		.no_acl = m->noacl,
		.own = namespaces_own_cred(&d->fs.namespaces),
		.events = {.connection_changed = on_connection_changed, .stale = on_stale, .arg = d}};
}

static int connect_nfs(struct daemon *d, unsigned timeout_ms, char *sentence, size_t size)
{
	struct server_stats stats;
	struct timespec until;
	int r;

	(void)sem_init(&d->connected, 0, 0);
	r = d->version->start(&d->server, &d->place, &d->fs.server);
	if (r == 0)
		r = shortcut_new(&d->fs, d->fs.server, &d->fs.shortcut);
	if (r < 0)
		return sentence_fail(sentence, size, r, "cannot start the NFS connection: %s", strerror(-r));
	d->fs.server = shortcut_server(d->fs.shortcut);
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += timeout_ms / 1000;
	do
		r = sem_timedwait(&d->connected, &until) < 0 ? -errno : 0;
	while (r == -EINTR);
	if (r == 0)
		return 0;
	server_stats(d->fs.server, &stats);
	return sentence_fail(sentence, size, r, "%s: the NFS server at %s does not answer on port %u: %s", d->name,
		d->fs.server_address, d->fs.server_port,
		d->version->why_away(stats.last_error < 0 ? stats.last_error : -ETIMEDOUT));
}

/* Bytes per READ or WRITE: the most that the server takes (0: unknown), or fewer where the mount options say so (0). */
static uint32_t request_size(uint32_t server, unsigned wanted)
{
	uint32_t size = MIN(server ? server : REQUEST_SIZE_DEFAULT, DATA_WRITE_MAX);

	if (wanted)
		size = MIN(size, wanted);
	return MAX(size & ~4095U, 4096U);
}

/* Asks the server for the root's attributes, its sizes of requests, and ACLs. */
static int learn_export(struct daemon *d, char *sentence, size_t size)
{
	const struct mount_options *o = d->options->mount;
	struct fs *fs = &d->fs;
	struct server_export export;
	int r = server_look_at_export(fs->server, &d->place.root, &export);

	if (r < 0) /* for the caller of daemon_run(), -EPERM means that this user may not mount */
		return sentence_fail(sentence, size, r == -EPERM ? -EACCES : r,
			"%s: the server does not say what the export's root is: %s", d->name, strerror(-r));
	if (!S_ISDIR(export.root.mode))
		return sentence_fail(sentence, size, -ENOTDIR, "%s: the export is not a directory", d->name);
	r = inode_table_get(fs->inodes, &d->place.root, &export.root, &fs->root); /* the first: FUSE_ROOT_ID */
	if (r < 0)
		return r;
	fs->fsid = export.root.fsid;
	fs->rsize = request_size(export.read_max, o->rsize);
	fs->wsize = request_size(export.write_max, o->wsize);
	fs->max_file_size = export.file_max ? MIN(export.file_max, (uint64_t)INT64_MAX) : INT64_MAX;
	fs->has_acls = fs->server->abilities.acl;
	return 0;
}

/* True if a further attempt may succeed: no server has answered yet, or not the right one. */
static bool may_pass(int error)
{
	return error == -ETIMEDOUT || error == -ECONNREFUSED || error == -ECONNRESET || error == -EHOSTUNREACH ||
	       error == -ENETUNREACH || error == -EAGAIN || error == -ESTALE;
}

static int try_server(struct daemon *d, unsigned timeout_ms, char *sentence, size_t size)
{
	int r = d->version->find(&d->server, timeout_ms, &d->place, sentence, size);

	if (r == 0) {
		(void)snprintf(d->fs.server_address, sizeof(d->fs.server_address), "%s", d->place.address);
		d->fs.server_port = d->place.port;
		r = connect_nfs(d, timeout_ms, sentence, size);
	}
	if (r == 0)
		r = learn_export(d, sentence, size);
	if (r < 0)
		d->fs.server = server_free(d->fs.server);
	return r;
}

static void pause_for(uint64_t ms)
{
	const struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

	(void)nanosleep(&t, NULL);
}

int connect_reach_server(struct daemon *d, char *sentence, size_t size)
{
	const struct mount_options *o = d->options->mount;
	uint64_t fg_ms = o->retry != RETRY_UNSET ? o->retry * 60000ULL : RETRY_FG_MS;
	uint64_t end = now_ms() + (o->timeout ? o->timeout * 1000ULL : fg_ms);
	bool waiting = false;

	set_server_options(d);
	for (uint64_t pause_ms = TRY_PAUSE_MS;; pause_ms = MIN(2 * pause_ms, (uint64_t)TRY_PAUSE_MAX_MS)) {
		uint64_t left = end - MIN(now_ms(), end);
		uint64_t timeout_ms =
			o->timeout && !waiting ? MIN(MAX(left, TRY_TIMEOUT_MIN_MS), TRY_TIMEOUT_MS) : TRY_TIMEOUT_MS;
		int r = try_server(d, (unsigned)timeout_ms, sentence, size);

		if (r == 0 || !may_pass(r))
			return r;
		if (o->bg && !waiting && o->retry != 0) {
			waiting = true;
			end = now_ms() + (o->retry != RETRY_UNSET ? o->retry : RETRY_BG_MIN) * 60000ULL;
			r = d->options->waiting(d->options->arg, sentence);
			if (r < 0)
				return r;
		}
		if (now_ms() >= end)
			return r;
		pause_for(MIN(pause_ms, end - now_ms()));
	}
}
