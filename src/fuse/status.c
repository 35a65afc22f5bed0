/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a mount says of itself: the ioctl behind localioctl, and its JSON. */
#include "fuse/kernel/kernel_ring.h"
#include "fuse/known/known.h"
#include "fuse/local/backing_ids.h"
#include "fuse/locks/locks.h"
#include "fuse/status.h"

#include <netdb.h>
#include <string.h>

#include <jansson.h>

#include "localiofs/control.h"
#include "mount/mountinfo.h"

static const char *const state_names[] =
	{[PROBE_STATE_PROBING] = "probing", [PROBE_STATE_LOCAL] = "local", [PROBE_STATE_REMOTE] = "remote"};

/* Text from outside may be no UTF-8, which JSON must be: then its other bytes become '?'. */
static json_t *text_json(const char *text)
{
	json_t *json = json_string(text);
	char copy[1024];
	size_t n = 0;

	if (json)
		return json;
	for (; text[n] != '\0' && n + 1 < sizeof(copy); n++)
		copy[n] = (unsigned char)text[n] < 0x80 ? text[n] : '?';
	copy[n] = '\0';
	return json_string(copy);
}

static void probe_or_why_not(struct fs *fs, struct probe_status *ret)
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

static json_t *opens_json(struct fs_counters *c)
{
	uint64_t direct = c->opens[OPEN_PATH_DIRECT] + c->opens[OPEN_PATH_DIRECT_MAPPABLE];

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",   /* */
		"passthrough", (json_int_t)c->opens[OPEN_PATH_PASSTHROUGH], /* */
		"uring", (json_int_t)c->opens_uring,                        /* */
		"remote",
		(json_int_t)(c->opens[OPEN_PATH_CACHED] + direct + c->opens[OPEN_PATH_PASSTHROUGH_DIRECT] -
			     c->opens_uring),                                             /* */
		"direct", (json_int_t)direct,                                             /* */
		"passthrough_direct", (json_int_t)c->opens[OPEN_PATH_PASSTHROUGH_DIRECT], /* */
		"hot", (json_int_t)c->opens_hot,                                          /* */
		"shared", (json_int_t)c->opens_shared,                                    /* */
		"retired", (json_int_t)c->opens_retired,                                  /* */
		"walked", (json_int_t)c->opens_walked);
}

static json_t *calls_json(const struct transport_stats *stats)
{
	json_t *calls = json_object();

	for (int n = 0; n < NFS_PROC_COUNT; n++)
		if (stats->calls[n] > 0)
			(void)json_object_set_new(calls, nfs_proc_name((enum nfs_proc)n),
				json_integer((json_int_t)stats->calls[n]));
	return calls;
}

static int take_read_only(const struct mountinfo *m, void *arg)
{
	const struct fs *fs = arg;

	if (strcmp(m->device, fs->device) != 0)
		return 0;
	return strncmp(m->super_options, "ro", 2) == 0 ? 1 : 2;
}

/* A remount does not come by here, so it is looked up. Lazily unmounted: as it was mounted. */
static bool is_read_only(struct fs *fs)
{
	int r = mountinfo_each(take_read_only, fs);

	return r > 0 ? r == 1 : fs->options->ro;
}

static json_t *connections_json(const struct transport_stats *stats)
{
	json_t *all = json_array();

	for (unsigned n = 0; n < stats->nconnections; n++)
		(void)json_array_append_new(all, json_pack("{s:b, s:i, s:I}",                          /* */
							 "connected", stats->connections[n].connected, /* */
							 "port", (int)stats->connections[n].port,      /* */
							 "answered", (json_int_t)stats->connections[n].answered));
	return all;
}

/* Where the server is now: its name may lead elsewhere than when it was mounted. */
static const char *server_address(const struct fs *fs, const struct transport_stats *stats, char *buf, size_t size)
{
	if (getnameinfo((const struct sockaddr *)&stats->peer, sizeof(stats->peer), buf, (socklen_t)size, NULL, 0,
		    NI_NUMERICHOST) != 0)
		return fs->server_address;
	return buf;
}

/* It is how the question itself came. */
static void add_transport(json_t *root, const struct fs *fs, bool over_io_uring)
{
	enum ring_reason reason = fs->ring_reason;

	if (over_io_uring)
		reason = RING_REASON_NONE;
	else if (reason == RING_REASON_NONE)
		reason = RING_REASON_FAILED;
	(void)json_object_set_new(root, "transport", json_string(over_io_uring ? "io_uring" : "/dev/fuse"));
	(void)json_object_set_new(root, "transport_reason", json_string(ring_reason_code(reason)));
	(void)json_object_set_new(root, "transport_detail", json_string(ring_reason_text(reason)));
}

static char *status_text(struct fs *fs, bool over_io_uring)
{
	struct fs_counters *c = &fs->counters;
	struct transport_stats stats;
	struct probe_status probe;
	size_t held, idle, left_over, locked, waiting;
	char *text, address[64];
	json_t *root;

	transport_stats(fs->transport, &stats);
	probe_or_why_not(fs, &probe);
	backing_ids_counts(fs->ids, &held, &idle, &left_over);
	locks_count(fs->locks, &locked, &waiting);
	root = json_pack("{s:s, s:o, s:s, s:s, s:o, s:i}", /* */
		"version", LOCALIOFS_VERSION,              /* */
		"spec", text_json(fs->spec),               /* */
		"state", state_names[probe.state],         /* */
		"reason", reason_code(probe.reason),       /* */
		"detail", text_json(probe.detail),         /* */
		"pid", (int)getpid());
	if (!root)
		return NULL;
	add_transport(root, fs, over_io_uring);
	(void)json_object_set_new(root, "options",
		json_pack("{s:s, s:b, s:i, s:i, s:b}", "local", local_mode_name(fs->options->local), /* */
			"ro", is_read_only(fs), "rsize", (int)fs->rsize, "wsize", (int)fs->wsize,    /* */
			"allow_other", fs->allow_other));
	(void)json_object_set_new(root, "server",
		json_pack("{s:s, s:b, s:b, s:I, s:o, s:o}", "address",
			server_address(fs, &stats, address, sizeof(address)), /* */
			"connected", stats.connected, "acl", fs->nfsacl, "reconnects",
			(json_int_t)stats.reconnects,            /* */
			"connections", connections_json(&stats), /* */
			"calls", calls_json(&stats)));
	(void)json_object_set_new(root, "sidecar",
		json_pack("{s:o, s:i, s:b, s:o, s:o}", "registry", text_json(fs->options->registry),       /* */
			"pid", (int)probe.sidecar_pid, "trusts", fs->probe && probe_is_trusted(fs->probe), /* */
			"peer", text_json(probe.peer),                                                     /* */
			"export", text_json(probe.export_path)));
	(void)json_object_set_new(root, "probe",
		json_pack("{s:I, s:I}", "last", (json_int_t)probe.last_probe, /* */
			"attempts", (json_int_t)probe.attempts));
	(void)json_object_set_new(root, "kernel",
		json_pack("{s:b, s:b}", "passthrough", fs->passthrough, /* */
			"libfuse_io_uring", LOCALIOFS_FUSE_IO_URING));
	(void)json_object_set_new(root, "opens", opens_json(c));
	(void)json_object_set_new(root, "requests",
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "read", (json_int_t)c->requests_read, /* */
			"write", (json_int_t)c->requests_write,                                        /* */
			"astray", (json_int_t)c->requests_astray,                                      /* */
			"flush", (json_int_t)c->requests_flush,                                        /* */
			"xattr", (json_int_t)c->requests_xattr,                                        /* */
			"bytes_read", (json_int_t)c->bytes_read,                                       /* */
			"bytes_written", (json_int_t)c->bytes_written));
	(void)json_object_set_new(root, "lookups", json_pack("{s:I}", "known", (json_int_t)c->lookups_known));
	(void)json_object_set_new(root, "refreshes",
		json_pack("{s:b, s:I, s:I}", "needed", fs_server_remembers(fs), "done", (json_int_t)c->refreshes, /* */
			"failed", (json_int_t)c->refreshes_failed));
	(void)json_object_set_new(root, "backing_ids",
		json_pack("{s:I, s:I, s:I}", "held", (json_int_t)held, "idle", (json_int_t)idle, /* */
			"left_over", (json_int_t)left_over));
	(void)json_object_set_new(root, "grants",
		json_pack("{s:I, s:s}", "denied", (json_int_t)c->grants_denied, /* */
			"last_denial", reason_code(c->last_denial)));
	(void)json_object_set_new(root, "locks",
		json_pack("{s:I, s:I, s:b}", "locked", (json_int_t)locked, "waiting", (json_int_t)waiting, /* */
			"noticed", (bool)fs->has_locked));
	(void)json_object_set_new(root, "groups_unknown", json_integer((json_int_t)c->groups_unknown));
	(void)json_object_set_new(root, "inodes", json_integer((json_int_t)inode_table_count(fs->inodes)));
	(void)json_object_set_new(root, "open_files", json_integer((json_int_t)fs->open_files));
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return text;
}

static void reply_status(fuse_req_t req, struct fs *fs)
{
	_cleanup_free_ struct control_status *reply = calloc(1, sizeof(*reply));
	_cleanup_free_ char *text = status_text(fs, fuse_req_is_uring(req));

	if (!reply || !text || strlen(text) >= sizeof(reply->json)) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	memcpy(reply->json, text, strlen(text) + 1);
	(void)fuse_reply_ioctl(req, 0, reply, sizeof(*reply));
}

static void reply_options(fuse_req_t req, const struct fs *fs)
{
	struct control_options reply = {0};
	int r = options_text(fs->options, reply.given, sizeof(reply.given));

	(void)snprintf(reply.agreed, sizeof(reply.agreed), "rsize=%u,wsize=%u,port=%u", fs->rsize, fs->wsize,
		fs->server_port);
	if (r < 0)
		(void)fuse_reply_err(req, -r);
	else
		(void)fuse_reply_ioctl(req, 0, &reply, sizeof(reply));
}

static void probe_now(fuse_req_t req, struct fs *fs)
{
	if (fs_may_be_local(fs)) {
		probe_kick(fs->probe);
		(void)fuse_reply_ioctl(req, 0, NULL, 0);
	} else {
		(void)fuse_reply_err(req, EOPNOTSUPP);
	}
}

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg, struct fuse_file_info *fi, unsigned flags,
	const void *in_buf, size_t in_bufsz, size_t out_bufsz)
{
	struct fs *fs = fuse_req_userdata(req);
	uid_t uid = fuse_req_ctx(req)->uid;

	/* The kernel takes the size of the answer from the number. */
	if (ino != FUSE_ROOT_ID || (cmd != (unsigned)CONTROL_GET_STATUS && cmd != (unsigned)CONTROL_GET_OPTIONS &&
					   cmd != (unsigned)CONTROL_PROBE))
		(void)fuse_reply_err(req, ENOTTY);
	else if (uid != 0 && uid != fs->owner)
		(void)fuse_reply_err(req, EPERM);
	else if (cmd == (unsigned)CONTROL_GET_STATUS)
		reply_status(req, fs);
	else if (cmd == (unsigned)CONTROL_PROBE)
		probe_now(req, fs);
	else
		reply_options(req, fs);
}

void status_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->ioctl = op_ioctl;
}
