/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/daemon.h"

#include <string.h>

#include "fuse/acl/acl.h"
#include "fuse/daemon_parts.h"
#include "fuse/kernel/kernel_mount.h"
#include "fuse/kernel/kernel_ring.h"
#include "fuse/files/handlers.h"
#include "fuse/known/cache.h"
#include "fuse/known/known.h"
#include "fuse/lease/lease.h"
#include "fuse/local/idle_ids.h"
#include "fuse/locks/lock_requests.h"
#include "fuse/locks/locks.h"
#include "fuse/listings/directory.h"
#include "fuse/names/handlers.h"
#include "fuse/names/silly_removal.h"
#include "fuse/open/handlers.h"
#include "fuse/operations/operations.h"
#include "fuse/control/control.h"
#include "fuse/control/settings.h"
#include "fuse/setter/setter.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/whole_io.h"
#include "metrics/exporter.h"

#define FUSE_MINOR_INC_EPOCH 44 /* the FUSE protocol's minor version with FUSE_NOTIFY_INC_EPOCH: Linux 6.16 */
#define UNMOUNT_TIMEOUT_MS   2000
#define MAX_BACKGROUND       128 /* requests without a waiting caller: aio, read-ahead, RELEASE. FUSE's default: 12 */

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

static void want(struct fuse_conn_info *conn, uint64_t flag)
{
	(void)fuse_set_feature_flag(conn, flag);
}

/* libfuse sets up the rings after this. The environment (FUSE_URING_ENABLE) may have set the flag, too. */
static void want_rings(struct fs *fs, struct fuse_conn_info *conn)
{
	if (fs->ring_reason != RING_REASON_NONE)
		fuse_unset_feature_flag(conn, FUSE_CAP_OVER_IO_URING);
	else if (!fuse_set_feature_flag(conn, FUSE_CAP_OVER_IO_URING))
		fs->ring_reason = kernel_ring_not_offered();
	if (fs->options->transport == FUSE_TRANSPORT_URING && fs->ring_reason != RING_REASON_NONE)
		log_warning("%s: requests do not come over io_uring: %s", fs->spec, ring_reason_text(fs->ring_reason));
}

/* With local=required the mount is ready when the first probe has found its server on this host. */
static void begin_probe(struct daemon *d)
{
	bool required = d->fs.options->local == LOCAL_REQUIRED, possible = fs_may_be_local(&d->fs);
	int r = possible ? probe_link_start(d) : 0;

	if (!possible && required)
		probe_link_refuse(d, reason_text(REASON_NO_PASSTHROUGH), "");
	else if (r < 0 && required)
		probe_link_refuse(d, strerror(-r), "");
	else if (r < 0)
		log_error("the probe cannot be started; the mount stays remote");
	if (!required)
		daemon_ready(d);
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct daemon *d = CONTAINER_OF((struct fs *)userdata, struct daemon, fs);
	struct fs *fs = &d->fs;

	conn->max_write = fs->wsize;
	conn->max_read = fs->rsize;
	conn->max_readahead = kernel_mount_read_ahead(fs); /* a limit; kernel_mount() has set the value */
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
	/* The target of a symbolic link never changes: a link with another target is another file. */
	want(conn, FUSE_CAP_CACHE_SYMLINKS);
	want(conn, FUSE_CAP_ASYNC_READ);
	want(conn, FUSE_CAP_ASYNC_DIO);
	if (fs->has_acls)
		want(conn, FUSE_CAP_DONT_MASK); /* default_acl.h */
	/* OPEN may be answered ESTALE and repeated, so it must not change the file: SETATTR truncates. */
	fuse_unset_feature_flag(conn, FUSE_CAP_ATOMIC_O_TRUNC);
	/* With this flag the kernel would ignore passthrough. */
	fuse_unset_feature_flag(conn, FUSE_CAP_WRITEBACK_CACHE);
	fs->forgets_names = conn->proto_minor >= FUSE_MINOR_INC_EPOCH;
	if (fs->probe && fs->options->local != LOCAL_URING && fuse_set_feature_flag(conn, FUSE_CAP_PASSTHROUGH)) {
		/*
		 * Depth 1 allows backing files on overlayfs, such as a container's root. Depth 0 allows overlayfs on
		 * top of this mount (underlay).
		 */
		conn->max_backing_stack_depth = fs->options->underlay ? 0 : 1;
		fs->passthrough = true;
	}
	want_rings(fs, conn);
	begin_probe(d);
}

void daemon_ready(struct daemon *d)
{
	struct fs *fs = &d->fs;

	if (d->exporter && exporter_run(d->exporter) < 0)
		log_error("no thread for the metrics; there are none");
	/* The parent process has ended and does not wait for this mount any more. */
	if (d->options->ready(d->options->arg) < 0)
		fuse_session_exit(fs->session);
}

static int mount_fuse(struct daemon *d, char *sentence, size_t size)
{
	struct fuse_lowlevel_ops ops = {.init = op_init};
	struct fs *fs = &d->fs;
	int r;

	names_set_operations(&ops);
	attributes_set_operations(&ops);
	acl_set_operations(&ops);
	directory_set_operations(&ops);
	readdir_set_operations(&ops);
	open_set_operations(&ops);
	read_set_operations(&ops);
	write_set_operations(&ops);
	sync_set_operations(&ops);
	ranges_set_operations(&ops);
	lock_requests_set_operations(fs, &ops);
	control_set_operations(&ops);
	operations_wrap(fs->operations, &ops);
	r = kernel_mount_new_session(fs, &ops, sentence, size);
	/* Before mounting, so that a signal that ends the daemon also unmounts. */
	if (r == 0 && fuse_set_signal_handlers(fs->session) != 0)
		r = sentence_fail(sentence, size, -EIO, "cannot set signal handlers");
	if (r == 0)
		r = d->options->fuse_fd < 0 ? kernel_mount(fs, d->options->directory, sentence, size)
					    : kernel_mount_take(fs, d->options->fuse_fd, sentence, size);
	if (r == 0)
		d->mounted = true;
	return r;
}

static void inode_freed(void *arg, struct inode *i)
{
	const struct fs *fs = arg;

	idle_ids_inode_freed(fs->idle, i);
}

static int run_loop(struct daemon *d)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int r;

	if (!config)
		return -ENOMEM;
	/* No handler waits, so more threads than CPUs would only contend. */
	fuse_loop_cfg_set_max_threads(config, (unsigned)MAX(cpus, 2));
	fuse_loop_cfg_set_idle_threads(config, (unsigned)MAX(cpus, 2));
	r = fuse_session_loop_mt(d->fs.session, config);
	fuse_loop_cfg_destroy(config);
	return r < 0 ? r : 0;
}

static int start(struct daemon *d, char *sentence, size_t size)
{
	struct fs *fs = &d->fs;
	int r = slots_init(&fs->opened);

	if (r == 0)
		r = namespaces_look(&fs->namespaces, fs->options->map == ID_MAP_OUTSIDE, d->options->foreign_users,
			d->options->foreign_pids);
	if (r == 0)
		r = inode_table_new(&fs->inodes);
	if (r == 0)
		r = backing_ids_new(&fs->ids);
	if (r == 0)
		r = idle_ids_new(fs->inodes, fs->ids, &fs->idle);
	if (r == 0)
		r = cache_new(KNOWN_NAMES, &fs->names);
	if (r == 0)
		r = cache_new(KNOWN_RIGHTS, &fs->rights);
	if (r == 0)
		r = cache_new(KNOWN_OWN, &fs->own_names);
	if (r == 0)
		r = locks_new(&fs->locks);
	if (r == 0)
		r = operations_new(&fs->operations);
	if (r == 0)
		r = settings_new(&fs->settings);
	fs->ring_waits = calloc(kernel_ring_queues(), sizeof(*fs->ring_waits));
	if (r == 0 && !fs->ring_waits)
		r = -ENOMEM;
	if (r < 0)
		return sentence_fail(sentence, size, r, "%s", strerror(-r));
	inode_table_on_free(fs->inodes, inode_freed, fs);
	if (d->options->fuse_fd < 0)
		r = kernel_mount_check_device(sentence, size);
	if (r == 0)
		r = probe_link_make(d);
	if (r == 0)
		r = connect_reach_server(d, sentence, size);
	if (r == 0)
		r = metrics_open(d, sentence, size);
	if (r == 0)
		r = d->options->begin(d->options->arg, sentence, size);
	if (r == 0)
		r = mount_fuse(d, sentence, size);
	return r;
}

/*
 * Stops all parts before the unmount, which closes the descriptor that replies and the probe use. struct server stops
 * first: all waits for an absent server end then, the probe thread's too. The broker session stops next: its ended
 * calls go on over RPC and fail there. The reads of local files stop last.
 */
static void quiesce(struct daemon *d)
{
	struct fs *fs = &d->fs;

	d->exporter = exporter_stop(d->exporter);
	if (fs->server && fs->root)
		silly_remove_all(fs, UNMOUNT_TIMEOUT_MS);
	if (fs->locks)
		locks_end_waits(fs->locks, -ENOTCONN);
	server_stop(fs->server);
	probe_stop(fs->probe);
	setter_stop(fs->setter);
	uring_stop(fs->uring);
}

static void release(struct daemon *d)
{
	struct fs *fs = &d->fs;

	fs->server = server_free(fs->server);
	fs->lease = lease_free(fs->lease);
	(void)inode_unref(fs->inodes, fs->root);
	fs->inodes = inode_table_free(fs->inodes);
	slots_done(&fs->opened);
	fs->names = cache_free(fs->names);
	fs->rights = cache_free(fs->rights);
	fs->own_names = cache_free(fs->own_names);
	fs->probe = probe_free(fs->probe);
	fs->setter = setter_free(fs->setter);
	batch_drop_kept(fs);
	fs->idle = idle_ids_free(fs->idle);
	fs->ids = backing_ids_free(fs->ids);
	fs->uring = uring_free(fs->uring);
	fs->locks = locks_free(fs->locks);
	if (fs->session)
		fuse_session_destroy(fs->session);
	fs->operations = operations_free(fs->operations);
	fs->settings = settings_free(fs->settings);
	free(fs->ring_waits);
	(void)sem_destroy(&d->connected);
}

int daemon_run(const struct daemon_options *options, char *sentence, size_t size)
{
	struct daemon d = {.options = options};
	struct fs *fs = &d.fs;
	int r;

	fs->options = options->mount;
	fs->defaults = options->defaults;
	fs->owner = getuid();
	fs->started = time(NULL);
	hash_key_make(&fs->listing_key);
	fs->allow_other = may_allow_other();
	/* A descriptor that was handed over may be of a mount for all users. */
	fs->one_user = !fs->allow_other && options->fuse_fd < 0;
	(void)snprintf(fs->spec, sizeof(fs->spec), "%s", options->spec_text);
	(void)snprintf(d.name, sizeof(d.name), SHORT, SHORTEN(options->spec_text, 90));
	(void)sem_init(&d.connected, 0, 0);
	if (!fs->allow_other && options->fuse_fd < 0)
		log_debug("only uid %u can use this mount: user_allow_other is not in /etc/fuse.conf",
			(unsigned)fs->owner);
	r = start(&d, sentence, size);
	if (r == 0) {
		r = run_loop(&d);
		r = r < 0 ? sentence_fail(sentence, size, r, "the FUSE loop ended: %s", strerror(-r)) : 0;
	}
	quiesce(&d);
	if (d.refusal[0])
		r = sentence_fail(sentence, size, -EOPNOTSUPP, "%s", d.refusal);
	if (d.mounted) {
		if (options->fuse_fd < 0)
			fuse_session_unmount(fs->session);
		else
			kernel_mount_give_up(fs);
		d.version->leave(&d.server, &d.place, UNMOUNT_TIMEOUT_MS);
	}
	if (fs->session)
		fuse_remove_signal_handlers(fs->session);
	release(&d);
	return r;
}
