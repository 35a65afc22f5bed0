/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/daemon_parts.h"
#include "fuse/known/known.h"
#include "io/nfs3/nfs3.h"

#define TRY_TIMEOUT_MS     30000 /* of one attempt to mount, for each of its questions */
#define TRY_TIMEOUT_MIN_MS 1000  /* ... and where mounttimeout= leaves less */
#define TRY_PAUSE_MS       1000  /* before the second attempt, and twice as long before each further one */
#define TRY_PAUSE_MAX_MS   30000
#define RETRY_FG_MS        30000 /* nfs(5) has two minutes; nobody wants to look at a typing error so long */
#define RETRY_BG_MIN       10000

static void connection_changed(void *arg, bool up)
{
	struct daemon *d = arg;

	if (!up)
		return;
	d->root_stale = false; /* another server process: if it still is, that is said again */
	(void)sem_post(&d->connected);
	if (d->fs.probe)
		probe_kick(d->fs.probe);
}

static void handle_stale(void *arg, const struct nfs_fh *fh)
{
	struct daemon *d = arg;

	known_stale(&d->fs);
	if (d->root_stale || !nfs_fh_equal(fh, &d->found.export.root))
		return;
	d->root_stale = true;
	log_error("%s: the server does not know the export's root any more; unmount it and mount it again", d->fs.spec);
}

static int connect_nfs(struct daemon *d, unsigned timeout_ms, char *sentence, size_t size)
{
	static const int errors[] = {[RECOVERY_HARD] = 0, [RECOVERY_SOFT] = -EIO, [RECOVERY_SOFTERR] = -ETIMEDOUT};
	const struct mount_options *m = d->options->mount;
	struct nfs3_options o = {.host = d->options->spec->host,
		.address = d->fs.server_address,
		.port = d->fs.server_port,
		.family = find_export_family(m),
		.nconnect = m->nconnect,
		.reserved_port = !m->noresvport,
		.soft = errors[m->recovery],
		.timeo_ms = m->timeo * 100,
		.retrans = m->retrans,
		.connection_changed = connection_changed,
		.stale = handle_stale,
		.arg = d};
	struct server_stats stats;
	struct timespec until;
	int r;

	(void)sem_init(&d->connected, 0, 0);
	r = nfs3_new(&o, &d->fs.server);

	if (r < 0)
		return daemon_fail(sentence, size, r, "cannot start the NFS connection: %s", strerror(-r));
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += timeout_ms / 1000;
	do
		r = sem_timedwait(&d->connected, &until) < 0 ? -errno : 0;
	while (r == -EINTR);
	if (r == 0)
		return 0;
	server_stats(d->fs.server, &stats);
	return daemon_fail(sentence, size, r, "%s: the NFS server at %s does not answer on port %u: %s", d->name,
		d->fs.server_address, d->fs.server_port,
		nfs3_why_away(stats.last_error < 0 ? stats.last_error : -ETIMEDOUT));
}

/*
 * Whether the server has ACLs and the NFSACL program, on the NFS port as the kernel's client assumes
 * (fs/nfs/nfs3client.c nfs_init_server_aclclient). Ganesha without ACLs answers, too, but with no
 * entries, when even a mode alone makes three.
 */
static bool has_nfsacl(struct daemon *d)
{
	struct nfs_call call = {.proc = NFS_GETACL,
		.cred = {.uid = geteuid(), .gid = getegid()},
		.fh = d->found.export.root,
		.patience_ms = QUESTION_TIMEOUT_MS,
		.args.acl.mask = NFS_ACL_ACCESS_COUNT};

	return server_call(d->fs.server, &call) == 0 && call.res.acl.access_count > 0;
}

/* The root and the sizes that the server likes. */
static int learn_export(struct daemon *d, char *sentence, size_t size)
{
	const struct mount_options *o = d->options->mount;
	struct fs *fs = &d->fs;
	struct nfs_cred cred = {.uid = geteuid(), .gid = getegid()};
	struct nfs_call attr = {.proc = NFS_GETATTR,
		.cred = cred,
		.fh = d->found.export.root,
		.patience_ms = QUESTION_TIMEOUT_MS};
	struct nfs_call info = attr;
	int r = server_call(fs->server, &attr);

	if (r < 0) /* whatever the server says, -EPERM is not about this user */
		return daemon_fail(sentence, size, r == -EPERM ? -EACCES : r,
			"%s: the server does not say what the export's root is: %s", d->name, strerror(-r));
	if (!S_ISDIR(attr.attr.mode))
		return daemon_fail(sentence, size, -ENOTDIR, "%s: the export is not a directory", d->name);
	r = inode_table_get(fs->inodes, &d->found.export.root, &attr.attr, &fs->root); /* the first: FUSE_ROOT_ID */
	if (r < 0)
		return r;
	fs->fsid = attr.attr.fsid;
	fs->rsize = fs->wsize = 65536;
	fs->max_file_size = INT64_MAX;
	info.proc = NFS_FSINFO;
	if (server_call(fs->server, &info) == 0) {
		fs->rsize = info.res.fsinfo.rtmax ? info.res.fsinfo.rtmax : fs->rsize;
		fs->wsize = info.res.fsinfo.wtmax ? info.res.fsinfo.wtmax : fs->wsize;
		if (info.res.fsinfo.maxfilesize)
			fs->max_file_size = MIN(info.res.fsinfo.maxfilesize, (uint64_t)INT64_MAX);
	}
	fs->rsize = MIN(fs->rsize, DATA_WRITE_MAX);
	fs->wsize = MIN(fs->wsize, DATA_WRITE_MAX);
	if (o->rsize)
		fs->rsize = MIN(fs->rsize, o->rsize);
	if (o->wsize)
		fs->wsize = MIN(fs->wsize, o->wsize);
	fs->rsize = MAX(fs->rsize & ~4095U, 4096U);
	fs->wsize = MAX(fs->wsize & ~4095U, 4096U);
	fs->nfsacl = !o->noacl && has_nfsacl(d);
	return 0;
}

/* Errors that may be gone the next time: nobody has answered, or not the right one yet. */
static bool may_pass(int error)
{
	return error == -ETIMEDOUT || error == -ECONNREFUSED || error == -ECONNRESET || error == -EHOSTUNREACH ||
	       error == -ENETUNREACH || error == -EAGAIN || error == -ESTALE;
}

static int try_server(struct daemon *d, unsigned timeout_ms, char *sentence, size_t size)
{
	int r = find_export(d->options->mount, d->options->spec, d->name, timeout_ms, &d->found, sentence, size);

	if (r == 0) {
		(void)snprintf(d->fs.server_address, sizeof(d->fs.server_address), "%s", d->found.server_address);
		d->fs.server_port = d->found.server_port;
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

/* Tries until the server answers, refuses, or the time is over; the last time at its very end. */
int connect_reach_server(struct daemon *d, char *sentence, size_t size)
{
	const struct mount_options *o = d->options->mount;
	uint64_t fg_ms = o->retry != RETRY_UNSET ? o->retry * 60000ULL : RETRY_FG_MS;
	uint64_t end = now_ms() + (o->timeout ? o->timeout * 1000ULL : fg_ms);
	bool waiting = false;

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
