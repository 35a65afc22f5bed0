/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ioctl on the mount's root by which localioctl and a remount ask the daemon (control.h): the status as JSON, made
 * from the table in status_keys.h, the mount options, and a probe at once. Any thread; no state of its own.
 */
#include "fuse/kernel/kernel_ring.h"
#include "fuse/known/known.h"
#include "fuse/local/idle_ids.h"
#include "fuse/locks/locks.h"
#include "fuse/status.h"

#include <netdb.h>
#include <string.h>

#include <jansson.h>

#include "localiofs/control.h"
#include "localiofs/status_keys.h"
#include "mount/mountinfo.h"

static const char *const state_names[] =
	{[PROBE_STATE_PROBING] = "probing", [PROBE_STATE_LOCAL] = "local", [PROBE_STATE_REMOTE] = "remote"};

/* The state of the mount at one moment: the values that the status keys name. */
struct status_view {
	struct fs *fs;
	struct fs_counters *counters;
	struct server_stats server;
	struct probe_status probe;
	size_t ids_held, ids_idle, ids_left_over;
	size_t locks_held, locks_waiting;
	bool over_io_uring; /* the status request itself came over io_uring */
	enum ring_reason ring_reason;
	char address[NI_MAXHOST];
};

/* ---- values that need a computation ---- */

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

static void view_init(struct status_view *v, struct fs *fs, bool over_io_uring)
{
	v->fs = fs;
	v->counters = &fs->counters;
	server_stats(fs->server, &v->server);
	view_probe(fs, &v->probe);
	backing_ids_counts(fs->ids, &v->ids_held, &v->ids_left_over);
	v->ids_idle = idle_ids_count(fs->idle);
	locks_count(fs->locks, &v->locks_held, &v->locks_waiting);
	v->over_io_uring = over_io_uring;
	v->ring_reason = view_ring_reason(fs, over_io_uring);
	view_address(fs, &v->server, v->address, sizeof(v->address));
}

static uint64_t opens_direct(struct fs_counters *c)
{
	return c->opens[OPEN_PATH_DIRECT] + c->opens[OPEN_PATH_DIRECT_MAPPABLE];
}

static uint64_t opens_remote(struct fs_counters *c)
{
	return c->opens[OPEN_PATH_CACHED] + opens_direct(c) + c->opens[OPEN_PATH_PASSTHROUGH_DIRECT] - c->opens_uring;
}

static int take_read_only(const struct mountinfo *m, void *arg)
{
	const struct fs *fs = arg;

	if (strcmp(m->device, fs->device) != 0)
		return 0;
	return strncmp(m->super_options, "ro", 2) == 0 ? 1 : 2;
}

/*
 * True if the mount is read-only now. The daemon does not learn of a remount, so the kernel's table tells. After a lazy
 * unmount the table does not have the mount, and the mount option counts.
 */
static bool is_read_only(struct fs *fs)
{
	int r = mountinfo_each(take_read_only, fs);

	return r > 0 ? r == 1 : fs->options->ro;
}

/* ---- the JSON of the keys ---- */

static json_t *json_of_CODE(const char *code)
{
	return json_string(code);
}

/* Text from outside may not be UTF-8, but JSON must be. Then all bytes that are not ASCII become '?'. */
static json_t *json_of_TEXT(const char *text)
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

static json_t *json_of_FLAG(bool flag)
{
	return json_boolean(flag);
}

static json_t *json_of_NUMBER(int64_t number)
{
	return json_integer(number);
}

static json_t *json_of_COUNTER(uint64_t number)
{
	return json_integer((json_int_t)number);
}

static json_t *json_of_TIME(int64_t seconds)
{
	return json_integer(seconds);
}

static json_t *json_of_TREE(json_t *tree)
{
	return tree;
}

/* Puts a value at a path of at most two words into the tree; takes the value. */
static void put(json_t *root, const char *path, json_t *value)
{
	const char *dot = strchr(path, '.');
	char group[32];
	json_t *object;

	if (!dot) {
		(void)json_object_set_new(root, path, value);
		return;
	}
	(void)snprintf(group, sizeof(group), "%.*s", (int)(dot - path), path);
	object = json_object_get(root, group);
	if (!object) {
		object = json_object();
		(void)json_object_set_new(root, group, object);
	}
	(void)json_object_set_new(object, dot + 1, value);
}

static json_t *connections_json(const struct server_stats *stats)
{
	json_t *all = json_array();

	for (unsigned n = 0; n < stats->nconnections; n++) {
		const struct connection_stats *c = &stats->connections[n];
		json_t *one = json_object();

#define X(key, type, unit, value, meaning) put(one, key, json_of_##type(value));
		STATUS_CONNECTION_KEYS(X)
#undef X
		(void)json_array_append_new(all, one);
	}
	return all;
}

/* Procedures that were never called are left out. */
static json_t *calls_json(const struct server_stats *stats)
{
	json_t *calls = json_object();

	for (int n = 0; n < NFS_PROC_COUNT; n++)
		if (stats->calls[n] > 0)
			(void)json_object_set_new(calls, nfs_proc_name((enum nfs_proc)n),
				json_integer((json_int_t)stats->calls[n]));
	return calls;
}

/* The JSON text of all keys, which the caller frees; NULL without memory. */
static char *status_text(const struct status_view *v)
{
	json_t *root = json_object();
	char *text;

#define X(key, type, unit, value, meaning) put(root, key, json_of_##type(value));
	STATUS_KEYS(X)
#undef X
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return text;
}

/* ---- the ioctl ---- */

static void reply_status(fuse_req_t req, struct fs *fs)
{
	_cleanup_free_ struct control_status *reply = calloc(1, sizeof(*reply));
	_cleanup_free_ char *text = NULL;
	struct status_view view;

	view_init(&view, fs, fuse_req_is_uring(req));
	text = status_text(&view);
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

	/* The kernel takes the size of the answer from the ioctl number, so that needs no check. */
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
