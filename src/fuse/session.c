/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/session.h"

#include <netdb.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cap-ng.h>

#include "fuse/fs.h"
#include "fuse/silly.h"
#include "io/nfs3.h"
#include "log.h"

#define IO_SIZE_MAX (1U << 20) /* what one FUSE request can carry */
#define UNMOUNT_TIMEOUT_MS 2000
#define FUSE_STACK_DEPTH 1 /* backing files may lie on overlayfs, a container's root for one */

struct session {
	struct fs fs;
	const struct session_options *options;
	struct nfs3_export export;
	unsigned port;
	bool allow_other;
	sem_t connected;
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

/* Asks mountd at each address of the server in turn, and finds the NFS port. */
static int find_export(struct session *s, char *sentence, size_t size)
{
	const struct mount_options *o = s->options->mount;
	const struct mount_spec *spec = s->options->spec;
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	char why[256] = "";
	int r = getaddrinfo(spec->host, NULL, &hints, &list);

	if (r != 0)
		return fail(sentence, size, -EHOSTUNREACH, "%s: cannot resolve the server's name: %s",
			spec->host, gai_strerror(r));
	r = -EHOSTUNREACH;
	for (const struct addrinfo *a = list; a && r < 0; a = a->ai_next) {
		struct nfs3_mount_options m = {.server = s->fs.server_address,
			.export_path = spec->path,
			.mount_port = o->mountport,
			.timeout_ms = o->timeout * 1000};

		if (getnameinfo(a->ai_addr, a->ai_addrlen, s->fs.server_address,
			    sizeof(s->fs.server_address), NULL, 0, NI_NUMERICHOST) != 0)
			continue;
		r = nfs3_mount(&m, &s->export, why, sizeof(why));
		/* A server that answered has decided. */
		if (r == -EACCES || r == -ENOENT || r == -ENOTDIR)
			break;
	}
	freeaddrinfo(list);
	if (r < 0)
		return fail(sentence, size, r, "%s: %s (mountd at %s%s%s)", s->options->spec_text,
			why[0] ? why : "cannot be mounted",
			s->fs.server_address[0] ? s->fs.server_address : "no address",
			o->mountport ? ", port " : "", o->mountport ? "given" : "");
	if (!s->export.auth_unix)
		return fail(sentence, size, -EACCES,
			"%s: the server does not offer sec=sys for this export, and localiofs speaks no other",
			s->options->spec_text);
	s->port = o->port;
	if (s->port == 0 && nfs3_query_port(s->fs.server_address, 5000, &s->port) < 0)
		s->port = NFS3_PORT;
	return 0;
}

static void connection_changed(void *arg, bool up)
{
	struct session *s = arg;

	if (!up)
		return;
	(void)sem_post(&s->connected);
	if (s->fs.probe)
		probe_kick(s->fs.probe);
}

static int connect_nfs(struct session *s, char *sentence, size_t size)
{
	struct nfs3_options o = {.server = s->fs.server_address,
		.port = s->port,
		.connection_changed = connection_changed,
		.arg = s};
	struct timespec until;
	int r = nfs3_new(&o, &s->fs.transport);

	if (r < 0)
		return fail(sentence, size, r, "cannot start the NFS connection: %s", strerror(-r));
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += s->options->mount->timeout;
	do
		r = sem_timedwait(&s->connected, &until) < 0 ? -errno : 0;
	while (r == -EINTR);
	if (r < 0)
		return fail(sentence, size, r, "%s: the NFS server at %s does not answer on port %u",
			s->options->spec_text, s->fs.server_address, s->port);
	return 0;
}

/* The root and the sizes that the server likes. */
static int learn_export(struct session *s, char *sentence, size_t size)
{
	const struct mount_options *o = s->options->mount;
	struct fs *fs = &s->fs;
	struct nfs_cred cred = {.uid = geteuid(), .gid = getegid()};
	struct nfs_call attr = {.proc = NFS_GETATTR, .cred = cred, .fh = s->export.root};
	struct nfs_call info = {.proc = NFS_FSINFO, .cred = cred, .fh = s->export.root};
	int r = transport_call(fs->transport, &attr);

	if (r < 0)
		return fail(sentence, size, r, "%s: the server does not say what the export's root is: %s",
			s->options->spec_text, strerror(-r));
	if (!S_ISDIR(attr.attr.mode))
		return fail(sentence, size, -ENOTDIR, "%s: the export is not a directory", s->options->spec_text);
	r = inode_table_get(fs->inodes, &s->export.root, &attr.attr, &fs->root);
	if (r < 0)
		return r;
	fs->fsid = attr.attr.fsid;
	fs->rsize = fs->wsize = 65536;
	if (transport_call(fs->transport, &info) == 0) {
		fs->rsize = info.res.fsinfo.rtmax ? info.res.fsinfo.rtmax : fs->rsize;
		fs->wsize = info.res.fsinfo.wtmax ? info.res.fsinfo.wtmax : fs->wsize;
	}
	fs->rsize = MIN(fs->rsize, IO_SIZE_MAX);
	fs->wsize = MIN(fs->wsize, IO_SIZE_MAX);
	if (o->rsize)
		fs->rsize = MIN(fs->rsize, o->rsize);
	if (o->wsize)
		fs->wsize = MIN(fs->wsize, o->wsize);
	fs->rsize = MAX(fs->rsize & ~4095U, 4096U);
	fs->wsize = MAX(fs->wsize & ~4095U, 4096U);
	return 0;
}

/* The probe's questions. */
static int probe_root_attr(void *arg, struct broker_attr *ret)
{
	struct session *s = arg;
	struct nfs_call call = {.proc = NFS_GETATTR,
		.cred = {.uid = geteuid(), .gid = getegid()},
		.fh = s->export.root};
	int r = transport_call(s->fs.transport, &call);

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
	if (r == 0)
		backing_ids_set_probe(s->fs.ids, s->fs.probe);
	return r;
}

static int start_probe(struct session *s)
{
	struct broker_fh root = {.length = s->export.root.len};

	memcpy(root.data, s->export.root.data, s->export.root.len);
	return probe_start(s->fs.probe, fuse_session_fd(s->fs.session), &root);
}

static void want(struct fuse_conn_info *conn, uint64_t flag)
{
	(void)fuse_set_feature_flag(conn, flag);
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct session *s = CONTAINER_OF((struct fs *)userdata, struct session, fs);
	struct fs *fs = &s->fs;

	conn->max_write = fs->wsize;
	conn->max_read = fs->rsize;
	conn->max_readahead = MIN(conn->max_readahead, IO_SIZE_MAX);
	conn->time_gran = 1;
	/* The server clears set-id bits on write, chown and truncate. */
	want(conn, FUSE_CAP_HANDLE_KILLPRIV_V2);
	want(conn, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);
	want(conn, FUSE_CAP_READDIRPLUS);
	want(conn, FUSE_CAP_READDIRPLUS_AUTO);
	want(conn, FUSE_CAP_PARALLEL_DIROPS);
	want(conn, FUSE_CAP_ASYNC_READ);
	want(conn, FUSE_CAP_ASYNC_DIO);
	/* OPEN may be answered ESTALE and repeated, so it must change nothing: SETATTR truncates. */
	fuse_unset_feature_flag(conn, FUSE_CAP_ATOMIC_O_TRUNC);
	/* It would make the kernel ignore passthrough. */
	fuse_unset_feature_flag(conn, FUSE_CAP_WRITEBACK_CACHE);
	if (fs->probe && fuse_set_feature_flag(conn, FUSE_CAP_PASSTHROUGH)) {
		conn->max_backing_stack_depth = FUSE_STACK_DEPTH;
		fs->passthrough = true;
	}
	if (fs->passthrough && start_probe(s) < 0)
		log_error("the probe cannot be started; the mount stays remote");
	s->options->ready(s->options->arg);
}

/* mount(8) escapes: libfuse's option parser takes a comma in a value only behind a backslash. */
static void add_escaped(char *to, size_t size, const char *text)
{
	size_t n = strlen(to);

	for (; *text && n + 2 < size; text++) {
		if (*text == ',' || *text == '\\')
			to[n++] = '\\';
		to[n++] = *text;
	}
	to[n] = '\0';
}

static int mount_fuse(struct session *s, char *sentence, size_t size)
{
	const struct mount_options *o = s->options->mount;
	struct fuse_lowlevel_ops ops = {.init = op_init};
	struct fs *fs = &s->fs;
	char list[4096];
	char *argv[] = {(char *)"localiofs", (char *)"-o", list, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	bool root = geteuid() == 0;

	names_set_operations(&ops);
	attributes_set_operations(&ops);
	directory_set_operations(&ops);
	open_set_operations(&ops);
	data_set_operations(&ops);
	status_set_operations(&ops);

	(void)snprintf(list, sizeof(list), "subtype=localiofs,max_read=%u%s%s%s%s%s%s,fsname=", fs->rsize,
		fs->allow_other ? ",allow_other" : "", o->ro ? ",ro" : "",
		root && !o->nosuid ? ",suid" : "", root && !o->nodev ? ",dev" : "",
		o->noexec ? ",noexec" : "", o->noatime ? ",noatime" : "");
	add_escaped(list, sizeof(list), fs->spec);
	fs->session = fuse_session_new(&args, &ops, sizeof(ops), fs);
	fuse_opt_free_args(&args);
	if (!fs->session)
		return fail(sentence, size, -EINVAL, "libfuse refused the mount options %s", list);
	if (fuse_session_mount(fs->session, s->options->directory) != 0)
		return fail(sentence, size, -EPERM, "%s: the kernel or fusermount3 refused the mount",
			s->options->directory);
	return 0;
}

/*
 * Before the first thread, since capabilities are a thread's. Root keeps SYS_ADMIN to mount, and to
 * unmount when a signal ends the daemon, DAC_READ_SEARCH to reach the mount point, NET_BIND_SERVICE
 * to come from a reserved port. The NFS server decides about files, so nothing else is needed.
 */
static void drop_privileges(void)
{
	(void)prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0); /* where CAP_SYS_RESOURCE allows it */
	if (geteuid() != 0)
		return; /* has none; fusermount3 must stay able to gain its own */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	capng_get_caps_process();
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (cap != CAP_SYS_ADMIN && cap != CAP_DAC_READ_SEARCH && cap != CAP_NET_BIND_SERVICE)
			(void)capng_update(
				CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE, cap);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		log_warning("capabilities that are not needed could not be dropped");
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

static int start(struct session *s, char *sentence, size_t size)
{
	struct fs *fs = &s->fs;
	int r = inode_table_new(&fs->inodes);

	if (r == 0)
		r = backing_ids_new(fs->inodes, &fs->ids);
	if (r < 0)
		return fail(sentence, size, r, "%s", strerror(-r));
	inode_table_on_free(fs->inodes, inode_freed, fs->ids);
	r = find_export(s, sentence, size);
	if (r == 0)
		r = make_probe(s);
	if (r == 0)
		r = connect_nfs(s, sentence, size);
	if (r == 0)
		r = learn_export(s, sentence, size);
	if (r == 0)
		r = mount_fuse(s, sentence, size);
	return r;
}

static void tell_mountd(struct session *s)
{
	struct nfs3_mount_options m = {.server = s->fs.server_address,
		.export_path = s->options->spec->path,
		.mount_port = s->options->mount->mountport,
		.timeout_ms = UNMOUNT_TIMEOUT_MS};

	nfs3_unmount(&m);
}

/*
 * Before the unmount, which closes the descriptor that replies and the probe use.
 * The transport stops first: whatever waits for a server that is away ends, the probe's thread
 * among it. Then the broker session: its ended calls go on over RPC and end there. Then what those
 * used.
 */
static void quiesce(struct session *s)
{
	struct fs *fs = &s->fs;

	if (fs->transport && fs->root)
		silly_remove_all(fs, UNMOUNT_TIMEOUT_MS);
	transport_stop(fs->transport);
	probe_stop(fs->probe);
}

static void release(struct session *s)
{
	struct fs *fs = &s->fs;

	fs->transport = transport_free(fs->transport);
	(void)inode_unref(fs->inodes, fs->root);
	fs->inodes = inode_table_free(fs->inodes);
	fs->probe = probe_free(fs->probe);
	fs->ids = backing_ids_free(fs->ids);
	if (fs->session)
		fuse_session_destroy(fs->session);
	(void)sem_destroy(&s->connected);
}

int session_run(const struct session_options *options, char *sentence, size_t size)
{
	struct session s = {.options = options};
	struct fs *fs = &s.fs;
	bool mounted = false;
	int r;

	fs->options = options->mount;
	fs->owner = getuid();
	fs->allow_other = may_allow_other();
	fs->over_io_uring = false;
	(void)snprintf(fs->spec, sizeof(fs->spec), "%s", options->spec_text);
	(void)sem_init(&s.connected, 0, 0);
	if (!fs->allow_other)
		log_info("only uid %u can use this mount: user_allow_other is not in /etc/fuse.conf",
			(unsigned)fs->owner);
	drop_privileges();
	r = start(&s, sentence, size);
	if (r == 0) {
		mounted = true;
		if (fuse_set_signal_handlers(fs->session) != 0)
			r = fail(sentence, size, -EIO, "cannot set signal handlers");
	}
	if (r == 0) {
		r = run_loop(&s);
		fuse_remove_signal_handlers(fs->session);
		r = r < 0 ? fail(sentence, size, r, "the FUSE loop ended: %s", strerror(-r)) : 0;
	}
	quiesce(&s);
	if (mounted) {
		fuse_session_unmount(fs->session);
		tell_mountd(&s);
	}
	release(&s);
	return r;
}
