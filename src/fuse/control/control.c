/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/control/control.h"

#include <string.h>

#include "fuse/control/settings.h"
#include "fuse/control/status.h"
#include "fuse/kernel/caller.h"
#include "fuse/operations/operations.h"
#include "fuse/shortcut/shortcut.h"
#include "localiofs/control.h"

static void reply_status(fuse_req_t req, struct fs *fs)
{
	_cleanup_free_ struct control_status *reply = calloc(1, sizeof(*reply));
	_cleanup_free_ char *text = NULL;
	struct status_view view;

	status_view_init(&view, fs, fuse_req_is_uring(req));
	text = status_text(&view);
	/* The answer of an ioctl has less than 16 KiB (_IOC_SIZEBITS). No mount has come near that. */
	if (text && strlen(text) >= sizeof(reply->json)) {
		view.with_latency = false;
		free(text);
		text = status_text(&view);
	}
	if (!reply || !text || strlen(text) >= sizeof(reply->json)) {
		operation_refuse(req, ENOMEM);
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
		operation_refuse(req, -r);
	else
		(void)fuse_reply_ioctl(req, 0, &reply, sizeof(reply));
}

static void probe_now(fuse_req_t req, struct fs *fs)
{
	if (fs_may_be_local(fs) && fs->options->local != LOCAL_OFF) {
		probe_kick(fs->probe);
		shortcut_try_again(fs->shortcut);
		(void)fuse_reply_ioctl(req, 0, NULL, 0);
	} else {
		operation_refuse(req, EOPNOTSUPP);
	}
}

/* True if the caller may change the mount, and see what others do on it. */
static bool is_trusted(const struct fs *fs, fuse_req_t req)
{
	bool same_user = fuse_req_ctx(req)->uid == fs->owner;

	/* In the initial user namespace a process with uid 0 may be a container's, and have no rights. */
	return (same_user && (fs->owner != 0 || !fs->namespaces.plain)) || caller_is_admin(fs_caller_pid(fs, req));
}

static void set_options(fuse_req_t req, struct fs *fs, const struct control_setting *asked)
{
	struct control_setting reply = {0};
	char list[sizeof(asked->list)];

	(void)snprintf(list, sizeof(list), "%.*s", (int)sizeof(asked->list) - 1, asked->list);
	reply.error = settings_change(fs, list, reply.sentence, sizeof(reply.sentence));
	(void)fuse_reply_ioctl(req, 0, &reply, sizeof(reply));
}

static void reply_trace(fuse_req_t req, struct fs *fs, const struct control_trace *question)
{
	_cleanup_free_ struct control_trace *reply = malloc(sizeof(*reply));
	int r = -ENOMEM;

	if (reply) {
		*reply = *question;
		r = operations_trace(fs->operations, reply);
	}
	if (r < 0)
		operation_refuse(req, -r);
	else
		(void)fuse_reply_ioctl(req, 0, reply, sizeof(*reply));
}

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg, struct fuse_file_info *fi, unsigned flags,
	const void *in_buf, size_t in_bufsz, size_t out_bufsz)
{
	struct fs *fs = fuse_req_userdata(req);
	uid_t uid = fuse_req_ctx(req)->uid;

	/* The kernel takes the sizes of question and answer from the ioctl number, so that they need no check. */
	if (ino != FUSE_ROOT_ID)
		operation_refuse(req, ENOTTY);
	else if (uid != 0 && uid != fs->owner)
		operation_refuse(req, EPERM);
	else if (cmd == (unsigned)CONTROL_GET_STATUS)
		reply_status(req, fs);
	else if (cmd == (unsigned)CONTROL_GET_OPTIONS)
		reply_options(req, fs);
	else if (cmd == (unsigned)CONTROL_PROBE)
		probe_now(req, fs);
	else if (cmd != (unsigned)CONTROL_SET_OPTIONS && cmd != (unsigned)CONTROL_GET_TRACE)
		operation_refuse(req, ENOTTY);
	else if (!is_trusted(fs, req))
		operation_refuse(req, EPERM);
	else if (cmd == (unsigned)CONTROL_SET_OPTIONS)
		set_options(req, fs, in_buf);
	else
		reply_trace(req, fs, in_buf);
}

void control_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->ioctl = op_ioctl;
}
