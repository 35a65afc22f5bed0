/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/daemon.h"

#include <grp.h>
#include <malloc.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cap-ng.h>

#include "fuse/acl/acl.h"
#include "fuse/find_export.h"
#include "fuse/kernel/kernel_mount.h"
#include "fuse/kernel/kernel_ring.h"
#include "fuse/files/handlers.h"
#include "fuse/known/cache.h"
#include "fuse/known/known.h"
#include "fuse/local/backing_ids.h"
#include "fuse/locks/lock_requests.h"
#include "fuse/locks/locks.h"
#include "fuse/names/handlers.h"
#include "fuse/names/silly_removal.h"
#include "fuse/request/convert.h"
#include "fuse/status.h"
#include "io/nfs3/nfs3.h"
#include "base/log.h"

#define FUSE_MINOR_INC_EPOCH 44 /* the protocol's, with FUSE_NOTIFY_INC_EPOCH: Linux 6.16 */
#define UNMOUNT_TIMEOUT_MS   2000
#define TRY_TIMEOUT_MS       30000 /* of one attempt to mount, for each of its questions */
#define TRY_TIMEOUT_MIN_MS   1000  /* ... and where mounttimeout= leaves less */
#define TRY_PAUSE_MS         1000  /* before the second attempt, and twice as long before each further one */
#define TRY_PAUSE_MAX_MS     30000
#define RETRY_FG_MS          30000 /* nfs(5) has two minutes; nobody wants to look at a typing error so long */
#define RETRY_BG_MIN         10000
#define QUESTION_TIMEOUT_MS  30000 /* GETATTR for the mount's own use */
#define MAX_BACKGROUND       128   /* requests that nobody waits for: aio, read-ahead, RELEASE. FUSE's default is 12 */

struct session {
	struct fs fs;
	const struct session_options *options;
	struct found_export found;
	char name[100]; /* of what is mounted, short enough for a sentence */
	bool mounted;
	sem_t connected;
	bool root_stale; /* the transport's thread */
};

static int PRINTF(4, 5) fail(char *sentence, size_t size, int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(sentence, size, format, ap);
	va_end(ap);
	return error;
}

/* user_allow_other in fuse.conf(5) lets users other than root share their mounts. */
static bool may_allow_other(void)
{
	char text[65536];

	if (geteuid() == 0)
		return true;
	if (read_small_file("/etc/fuse.conf", text, sizeof(text)) < 0)
		return false;
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line += strspn(line, " \t");
		if (strncmp(line, "user_allow_other", 16) == 0 && strspn(line + 16, " \t\r") == strlen(line + 16))
			return true;
	}
	return false;
}

static void connection_changed(void *arg, bool up)
{
	struct session *s = arg;

	if (!up)
		return;
	s->root_stale = false; /* another server process: if it still is, that is said again */
	(void)sem_post(&s->connected);
	if (s->fs.probe)
		probe_kick(s->fs.probe);
}

static void handle_stale(void *arg, const struct nfs_fh *fh)
{
	struct session *s = arg;

	known_stale(&s->fs);
	if (s->root_stale || !nfs_fh_equal(fh, &s->found.export.root))
		return;
	s->root_stale = true;
	log_error("%s: the server does not know the export's root any more; unmount it and mount it again", s->fs.spec);
}

static int connect_nfs(struct session *s, unsigned timeout_ms, char *sentence, size_t size)
{
	static const int errors[] = {[RECOVERY_HARD] = 0, [RECOVERY_SOFT] = -EIO, [RECOVERY_SOFTERR] = -ETIMEDOUT};
	const struct mount_options *m = s->options->mount;
	struct nfs3_options o = {.host = s->options->spec->host,
		.address = s->fs.server_address,
		.port = s->fs.server_port,
		.family = find_export_family(m),
		.nconnect = m->nconnect,
		.reserved_port = !m->noresvport,
		.soft = errors[m->recovery],
		.timeo_ms = m->timeo * 100,
		.retrans = m->retrans,
		.connection_changed = connection_changed,
		.stale = handle_stale,
		.arg = s};
	struct transport_stats stats;
	struct timespec until;
	int r;

	(void)sem_init(&s->connected, 0, 0);
	r = nfs3_new(&o, &s->fs.transport);

	if (r < 0)
		return fail(sentence, size, r, "cannot start the NFS connection: %s", strerror(-r));
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += timeout_ms / 1000;
	do
		r = sem_timedwait(&s->connected, &until) < 0 ? -errno : 0;
	while (r == -EINTR);
	if (r == 0)
		return 0;
	transport_stats(s->fs.transport, &stats);
	return fail(sentence, size, r, "%s: the NFS server at %s does not answer on port %u: %s", s->name,
		s->fs.server_address, s->fs.server_port,
		nfs3_why_away(stats.last_error < 0 ? stats.last_error : -ETIMEDOUT));
}

/*
 * Whether the server has ACLs and the NFSACL program, on the NFS port as the kernel's client assumes
 * (fs/nfs/nfs3client.c nfs_init_server_aclclient). Ganesha without ACLs answers, too, but with no
 * entries, when even a mode alone makes three.
 */
static bool has_nfsacl(struct session *s)
{
	struct nfs_call call = {.proc = NFS_GETACL,
		.cred = {.uid = geteuid(), .gid = getegid()},
		.fh = s->found.export.root,
		.patience_ms = QUESTION_TIMEOUT_MS,
		.args.acl.mask = NFS_ACL_ACCESS_COUNT};

	return transport_call(s->fs.transport, &call) == 0 && call.res.acl.access_count > 0;
}

/* The root and the sizes that the server likes. */
static int learn_export(struct session *s, char *sentence, size_t size)
{
	const struct mount_options *o = s->options->mount;
	struct fs *fs = &s->fs;
	struct nfs_cred cred = {.uid = geteuid(), .gid = getegid()};
	struct nfs_call attr = {.proc = NFS_GETATTR,
		.cred = cred,
		.fh = s->found.export.root,
		.patience_ms = QUESTION_TIMEOUT_MS};
	struct nfs_call info = attr;
	int r = transport_call(fs->transport, &attr);

	if (r < 0) /* whatever the server says, -EPERM is not about this user */
		return fail(sentence, size, r == -EPERM ? -EACCES : r,
			"%s: the server does not say what the export's root is: %s", s->name, strerror(-r));
	if (!S_ISDIR(attr.attr.mode))
		return fail(sentence, size, -ENOTDIR, "%s: the export is not a directory", s->name);
	r = inode_table_get(fs->inodes, &s->found.export.root, &attr.attr, &fs->root);
	if (r < 0)
		return r;
	fs->fsid = attr.attr.fsid;
	fs->rsize = fs->wsize = 65536;
	fs->max_file_size = INT64_MAX;
	info.proc = NFS_FSINFO;
	if (transport_call(fs->transport, &info) == 0) {
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
	fs->nfsacl = !o->noacl && has_nfsacl(s);
	return 0;
}

/* The probe's questions. */
static int probe_root_attr(void *arg, struct broker_attr *ret)
{
	struct session *s = arg;
	struct nfs_call look = {.proc = NFS_COMMIT,
		.cred = {.uid = geteuid(), .gid = getegid()},
		.fh = s->found.export.root,
		.patience_ms = QUESTION_TIMEOUT_MS};
	struct nfs_call call = look;
	int r;

	/* A server that answers from memory looks at the directory again (server_refresh.h), and says -EISDIR. */
	if (fs_server_remembers(&s->fs)) {
		(void)transport_call(s->fs.transport, &look);
		s->fs.counters.refreshes++;
	}
	call.proc = NFS_GETATTR;
	r = transport_call(s->fs.transport, &call);
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
	struct session *s = arg;
	struct transport_stats stats;

	transport_stats(s->fs.transport, &stats);
	if (!stats.connected || stats.peer.ss_family == AF_UNSPEC)
		return -ENOTCONN;
	*ret = stats.peer;
	return 0;
}

static void probe_session(void *arg, uint64_t generation, bool up)
{
	struct session *s = arg;

	backing_ids_end_sessions_but(s->fs.ids, up ? generation : 0);
	if (up)
		backing_ids_new_session(s->fs.ids);
}

static int probe_housekeep(void *arg)
{
	struct session *s = arg;

	return backing_ids_expire(s->fs.ids);
}

static int make_probe(struct session *s)
{
	const struct mount_options *o = s->options->mount;
	struct probe_options p = {.registry = o->registry,
		.port = o->probeport,
		.reprobe_s = o->reprobe,
		.reserved_port = !o->noresvport,
		.asker = s->fs.spec,
		.root_attr = probe_root_attr,
		.server_address = probe_server_address,
		.session = probe_session,
		.housekeep = probe_housekeep,
		.arg = s};
	int r;

	if (o->local == LOCAL_OFF)
		return 0;
	r = probe_new(&p, &s->fs.probe);
	if (r < 0)
		return r;
	backing_ids_set_probe(s->fs.ids, s->fs.probe);
	r = o->local == LOCAL_PASSTHROUGH ? 0 : uring_new(&s->fs.uring);
	if (r < 0)
		log_debug("no io_uring: %s", strerror(-r));
	return 0;
}

static int start_probe(struct session *s)
{
	struct broker_fh root = request_broker_fh(&s->found.export.root);

	return probe_start(s->fs.probe, s->fs.passthrough ? fuse_session_fd(s->fs.session) : -1, &root);
}

static void want(struct fuse_conn_info *conn, uint64_t flag)
{
	(void)fuse_set_feature_flag(conn, flag);
}

/* libfuse sets the rings up after this. The environment could make it do so unasked (FUSE_URING_ENABLE). */
static void want_rings(struct fs *fs, struct fuse_conn_info *conn)
{
	if (fs->ring_reason != RING_REASON_NONE)
		fuse_unset_feature_flag(conn, FUSE_CAP_OVER_IO_URING);
	else if (!fuse_set_feature_flag(conn, FUSE_CAP_OVER_IO_URING))
		fs->ring_reason = kernel_ring_not_offered();
	if (fs->options->transport == FUSE_TRANSPORT_URING && fs->ring_reason != RING_REASON_NONE)
		log_warning("%s: requests do not come over io_uring: %s", fs->spec, ring_reason_text(fs->ring_reason));
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct session *s = CONTAINER_OF((struct fs *)userdata, struct session, fs);
	struct fs *fs = &s->fs;

	conn->max_write = fs->wsize;
	conn->max_read = fs->rsize;
	conn->max_readahead = kernel_mount_read_ahead(fs); /* at most; the mount has set what it got */
	conn->max_background = MAX_BACKGROUND;
	conn->time_gran = 1;
	/* The server clears set-id bits on write, chown and truncate. */
	want(conn, FUSE_CAP_HANDLE_KILLPRIV_V2);
	want(conn, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);
	fuse_unset_feature_flag(conn, FUSE_CAP_READDIRPLUS);
	fuse_unset_feature_flag(conn, FUSE_CAP_READDIRPLUS_AUTO);
	if (fs->options->readdirplus != READDIRPLUS_NONE)
		want(conn, FUSE_CAP_READDIRPLUS);
	if (fs->options->readdirplus == READDIRPLUS_AUTO)
		want(conn, FUSE_CAP_READDIRPLUS_AUTO);
	want(conn, FUSE_CAP_PARALLEL_DIROPS);
	want(conn, FUSE_CAP_ASYNC_READ);
	want(conn, FUSE_CAP_ASYNC_DIO);
	if (fs->nfsacl)
		want(conn, FUSE_CAP_DONT_MASK); /* default_acl.h */
	/* OPEN may be answered ESTALE and repeated, so it must change nothing: SETATTR truncates. */
	fuse_unset_feature_flag(conn, FUSE_CAP_ATOMIC_O_TRUNC);
	/* It would make the kernel ignore passthrough. */
	fuse_unset_feature_flag(conn, FUSE_CAP_WRITEBACK_CACHE);
	fs->forgets_names = conn->proto_minor >= FUSE_MINOR_INC_EPOCH;
	if (fs->probe && fs->options->local != LOCAL_URING && fuse_set_feature_flag(conn, FUSE_CAP_PASSTHROUGH)) {
		/* Backing files may lie on overlayfs, as a container's root does, or the kernel lets overlayfs lie on
		 * us. */
		conn->max_backing_stack_depth = fs->options->underlay ? 0 : 1;
		fs->passthrough = true;
	}
	want_rings(fs, conn);
	if (fs_may_be_local(fs) && start_probe(s) < 0)
		log_error("the probe cannot be started; the mount stays remote");
	/* Nobody waits for this mount any more: it was given up. */
	if (s->options->ready(s->options->arg) < 0)
		fuse_session_exit(fs->session);
}

static int mount_fuse(struct session *s, char *sentence, size_t size)
{
	struct fuse_lowlevel_ops ops = {.init = op_init};
	struct fs *fs = &s->fs;
	int r;

	names_set_operations(&ops);
	attributes_set_operations(&ops);
	acl_set_operations(&ops);
	directory_set_operations(&ops);
	open_set_operations(&ops);
	read_set_operations(&ops);
	write_set_operations(&ops);
	ranges_set_operations(&ops);
	lock_requests_set_operations(fs, &ops);
	status_set_operations(&ops);
	r = kernel_mount_new_session(fs, &ops, sentence, size);
	/* First, so that a signal that ends us takes away what is mounted next. */
	if (r == 0 && fuse_set_signal_handlers(fs->session) != 0)
		r = fail(sentence, size, -EIO, "cannot set signal handlers");
	if (r == 0)
		r = kernel_mount(fs, s->options->directory, sentence, size);
	if (r == 0)
		s->mounted = true;
	return r;
}

/*
 * Before the first thread, since capabilities are a thread's. Root keeps SYS_ADMIN to mount, and to
 * unmount when a signal ends the daemon, DAC_READ_SEARCH to reach the mount point, NET_BIND_SERVICE
 * to come from a reserved port. The NFS server decides about files, so nothing else is needed, but for the threads
 * that write to local files: these become uid -2 by SETUID, which the others may not use (io/uring.h).
 */
static void drop_privileges(void)
{
	(void)prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0); /* where CAP_SYS_RESOURCE allows it */
	if (geteuid() != 0)
		return;           /* has none; fusermount3 must stay able to gain its own */
	(void)setgroups(0, NULL); /* resgid= of ext4 may be one of root's */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	capng_get_caps_process();
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (cap != CAP_SYS_ADMIN && cap != CAP_DAC_READ_SEARCH && cap != CAP_NET_BIND_SERVICE)
			(void)capng_update(CAPNG_DROP,
				cap == CAP_SETUID ? CAPNG_EFFECTIVE | CAPNG_INHERITABLE
						  : CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE,
				cap);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		log_warning("capabilities that are not needed could not be dropped");
}

/*
 * A request's data is up to a megabyte that lives for a millisecond, in our memory and in libnfs's.
 * malloc would map it and give it back each time, and faulting its pages in costs more than copying.
 */
static void keep_buffers(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_MMAP_THRESHOLD, 4 * DATA_WRITE_MAX);
	(void)mallopt(M_TRIM_THRESHOLD, 16 * DATA_WRITE_MAX);
#endif
}

/* A file that the daemon reads locally is a descriptor, and 1024 is what many are started with. */
static void want_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void inode_freed(void *arg, struct inode *i)
{
	backing_ids_inode_freed(arg, i);
}

static int run_loop(struct session *s)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int r;

	if (!config)
		return -ENOMEM;
	/* No handler waits for anything, so more threads than CPUs would only contend. */
	fuse_loop_cfg_set_max_threads(config, (unsigned)MAX(cpus, 2));
	fuse_loop_cfg_set_idle_threads(config, (unsigned)MAX(cpus, 2));
	r = fuse_session_loop_mt(s->fs.session, config);
	fuse_loop_cfg_destroy(config);
	return r < 0 ? r : 0;
}

/* Errors that may be gone the next time: nobody has answered, or not the right one yet. */
static bool may_pass(int error)
{
	return error == -ETIMEDOUT || error == -ECONNREFUSED || error == -ECONNRESET || error == -EHOSTUNREACH ||
	       error == -ENETUNREACH || error == -EAGAIN || error == -ESTALE;
}

static int try_server(struct session *s, unsigned timeout_ms, char *sentence, size_t size)
{
	int r = find_export(s->options->mount, s->options->spec, s->name, timeout_ms, &s->found, sentence, size);

	if (r == 0) {
		(void)snprintf(s->fs.server_address, sizeof(s->fs.server_address), "%s", s->found.server_address);
		s->fs.server_port = s->found.server_port;
		r = connect_nfs(s, timeout_ms, sentence, size);
	}
	if (r == 0)
		r = learn_export(s, sentence, size);
	if (r < 0)
		s->fs.transport = transport_free(s->fs.transport);
	return r;
}

static void pause_for(uint64_t ms)
{
	const struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

	(void)nanosleep(&t, NULL);
}

/* Tries until the server answers, refuses, or the time is over; the last time at its very end. */
static int reach_server(struct session *s, char *sentence, size_t size)
{
	const struct mount_options *o = s->options->mount;
	uint64_t fg_ms = o->retry != RETRY_UNSET ? o->retry * 60000ULL : RETRY_FG_MS;
	uint64_t end = now_ms() + (o->timeout ? o->timeout * 1000ULL : fg_ms);
	bool waiting = false;

	for (uint64_t pause_ms = TRY_PAUSE_MS;; pause_ms = MIN(2 * pause_ms, (uint64_t)TRY_PAUSE_MAX_MS)) {
		uint64_t left = end - MIN(now_ms(), end);
		uint64_t timeout_ms =
			o->timeout && !waiting ? MIN(MAX(left, TRY_TIMEOUT_MIN_MS), TRY_TIMEOUT_MS) : TRY_TIMEOUT_MS;
		int r = try_server(s, (unsigned)timeout_ms, sentence, size);

		if (r == 0 || !may_pass(r))
			return r;
		if (o->bg && !waiting && o->retry != 0) {
			waiting = true;
			end = now_ms() + (o->retry != RETRY_UNSET ? o->retry : RETRY_BG_MIN) * 60000ULL;
			r = s->options->waiting(s->options->arg, sentence);
			if (r < 0)
				return r;
		}
		if (now_ms() >= end)
			return r;
		pause_for(MIN(pause_ms, end - now_ms()));
	}
}

static int start(struct session *s, char *sentence, size_t size)
{
	struct fs *fs = &s->fs;
	int r = inode_table_new(&fs->inodes);

	if (r == 0)
		r = backing_ids_new(fs->inodes, &fs->ids);
	if (r == 0)
		r = cache_new(KNOWN_NAMES, &fs->names);
	if (r == 0)
		r = cache_new(KNOWN_RIGHTS, &fs->rights);
	if (r == 0)
		r = locks_new(&fs->locks);
	fs->ring_waits = calloc(kernel_ring_queues(), sizeof(*fs->ring_waits));
	if (r == 0 && !fs->ring_waits)
		r = -ENOMEM;
	if (r < 0)
		return fail(sentence, size, r, "%s", strerror(-r));
	inode_table_on_free(fs->inodes, inode_freed, fs->ids);
	r = kernel_mount_check_device(sentence, size);
	if (r == 0)
		r = make_probe(s);
	if (r == 0)
		r = reach_server(s, sentence, size);
	if (r == 0)
		r = s->options->begin(s->options->arg, sentence, size);
	if (r == 0)
		r = mount_fuse(s, sentence, size);
	return r;
}

static void tell_mountd(struct session *s)
{
	struct nfs3_mount_options m = {.server = s->found.mount_address,
		.export_path = s->options->spec->path,
		.mount_port = s->options->mount->mountport,
		.timeout_ms = UNMOUNT_TIMEOUT_MS};

	nfs3_unmount(&m);
}

/*
 * Before the unmount, which closes the descriptor that replies and the probe use.
 * The transport stops first: whatever waits for a server that is away ends, the probe's thread
 * among it. Then the broker session: its ended calls go on over RPC and end there. Then the reads of local
 * files, and what all those used.
 */
static void quiesce(struct session *s)
{
	struct fs *fs = &s->fs;

	if (fs->transport && fs->root)
		silly_remove_all(fs, UNMOUNT_TIMEOUT_MS);
	if (fs->locks)
		locks_end_waits(fs->locks, -ENOTCONN);
	transport_stop(fs->transport);
	probe_stop(fs->probe);
	uring_stop(fs->uring);
}

static void release(struct session *s)
{
	struct fs *fs = &s->fs;

	fs->transport = transport_free(fs->transport);
	(void)inode_unref(fs->inodes, fs->root);
	fs->inodes = inode_table_free(fs->inodes);
	fs->names = cache_free(fs->names);
	fs->rights = cache_free(fs->rights);
	fs->probe = probe_free(fs->probe);
	fs->ids = backing_ids_free(fs->ids);
	fs->uring = uring_free(fs->uring);
	fs->locks = locks_free(fs->locks);
	if (fs->session)
		fuse_session_destroy(fs->session);
	free(fs->ring_waits);
	(void)sem_destroy(&s->connected);
}

int session_run(const struct session_options *options, char *sentence, size_t size)
{
	struct session s = {.options = options};
	struct fs *fs = &s.fs;
	int r;

	fs->options = options->mount;
	fs->owner = getuid();
	fs->allow_other = may_allow_other();
	(void)snprintf(fs->spec, sizeof(fs->spec), "%s", options->spec_text);
	(void)snprintf(s.name, sizeof(s.name), SHORT, SHORTEN(options->spec_text, 90));
	(void)sem_init(&s.connected, 0, 0);
	if (!fs->allow_other)
		log_debug("only uid %u can use this mount: user_allow_other is not in /etc/fuse.conf",
			(unsigned)fs->owner);
	drop_privileges();
	keep_buffers();
	want_descriptors();
	r = start(&s, sentence, size);
	if (r == 0) {
		r = run_loop(&s);
		r = r < 0 ? fail(sentence, size, r, "the FUSE loop ended: %s", strerror(-r)) : 0;
	}
	quiesce(&s);
	if (s.mounted) {
		fuse_session_unmount(fs->session);
		tell_mountd(&s);
	}
	if (fs->session)
		fuse_remove_signal_handlers(fs->session);
	release(&s);
	return r;
}
