/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/libnfs/nfs3_mount.h"

#include "base/clock.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw-portmap.h>

#include "io/libnfs/libnfs_guard.h"

#ifdef LIBNFS_TASKS
#define SEND_MOUNT(proc, ...) (rpc_mount3_##proc##_task(__VA_ARGS__) ? 0 : -ENOMEM)
#define SEND_GETPORT(...)     (rpc_pmap2_getport_task(__VA_ARGS__) ? 0 : -ENOMEM)
#else
#define SEND_MOUNT(proc, ...) (rpc_mount3_##proc##_async(__VA_ARGS__) == 0 ? 0 : -ENOMEM)
#define SEND_GETPORT(...)     (rpc_pmap2_getport_async(__VA_ARGS__) == 0 ? 0 : -ENOMEM)
#endif

struct asking {
	struct nfs_context *nfs;
	struct rpc_context *rpc;
	uint64_t until; /* ms */
	bool answered;
	int error;
	char sentence[192];
	struct nfs3_export *export;
	unsigned port;
};

static void answered(struct asking *a, int status, void *data)
{
	a->answered = true;
	a->error = 0;
	if (status == RPC_STATUS_SUCCESS)
		return;
	a->error = -ECONNREFUSED;
	(void)snprintf(a->sentence, sizeof(a->sentence), "%s",
		status == RPC_STATUS_ERROR && data ? (const char *)data : "no answer");
}

static void connect_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct asking *a = private_data;

	if (!a->answered)
		answered(a, status, data);
}

static const char *mount_error_text(mountstat3 status)
{
	switch (status) {
	case MNT3ERR_PERM:
	case MNT3ERR_ACCES:
		return "access denied by server, or there is no such export";
	case MNT3ERR_NOENT:
		return "there is no such export";
	case MNT3ERR_NOTDIR:
		return "the export is not a directory";
	case MNT3ERR_NAMETOOLONG:
		return "the export's name is too long for the server";
	case MNT3ERR_NOTSUPP:
		return "the server does not support mounting it";
	default:
		return "the server failed to mount it";
	}
}

static int mount_error(mountstat3 status)
{
	switch (status) {
	case MNT3ERR_PERM:
	case MNT3ERR_ACCES:
		return -EACCES;
	case MNT3ERR_NOENT:
		return -ENOENT;
	case MNT3ERR_NOTDIR:
		return -ENOTDIR;
	case MNT3ERR_NAMETOOLONG:
		return -ENAMETOOLONG;
	default:
		return -EIO;
	}
}

static void mnt_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct asking *a = private_data;
	mountres3 *res = data;
	const mountres3_ok *ok;

	if (a->answered)
		return;
	answered(a, status, data);
	if (a->error < 0)
		return;
	if (res->fhs_status != MNT3_OK) {
		a->error = mount_error(res->fhs_status);
		(void)snprintf(a->sentence, sizeof(a->sentence), "%s", mount_error_text(res->fhs_status));
		return;
	}
	ok = &res->mountres3_u.mountinfo;
	if (ok->fhandle.fhandle3_len == 0 || ok->fhandle.fhandle3_len > NFS_FH_MAX) {
		a->error = -EPROTO;
		(void)snprintf(a->sentence, sizeof(a->sentence),
			"the server sent a file handle of %u bytes, expected 1 to %d", ok->fhandle.fhandle3_len,
			NFS_FH_MAX);
		return;
	}
	a->export->root.len = ok->fhandle.fhandle3_len;
	memcpy(a->export->root.data, ok->fhandle.fhandle3_val, a->export->root.len);
	a->export->auth_unix = ok->auth_flavors.auth_flavors_len == 0;
	for (unsigned i = 0; i < ok->auth_flavors.auth_flavors_len; i++)
		a->export->auth_unix |= ok->auth_flavors.auth_flavors_val[i] == AUTH_UNIX;
}

static void umnt_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct asking *a = private_data;

	if (!a->answered)
		answered(a, status, data);
}

static void port_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct asking *a = private_data;

	if (a->answered)
		return;
	answered(a, status, data);
	if (a->error == 0)
		a->port = *(uint32_t *)data;
}

static int asking_init(struct asking *a, uint64_t until)
{
	int r = libnfs_guard();

	memset(a, 0, sizeof(*a));
	if (r < 0)
		return r;
	a->until = until;
	a->nfs = nfs_init_context();
	if (!a->nfs)
		return -ENOMEM;
	a->rpc = nfs_get_rpc_context(a->nfs);
	nfs_set_autoreconnect(a->nfs, 0);
	return 0;
}

static void asking_done(struct asking *a)
{
	a->answered = true;
	nfs_destroy_context(a->nfs);
}

/* Returns the kernel's error of the connection. libnfs's own text only names the event of poll(2). */
static int socket_error(int fd)
{
	int error = 0;
	socklen_t length = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? 0 : -error;
}

/* Runs the context until the answer, an error or the deadline. */
static int wait_for_answer(struct asking *a)
{
	int r;

	while (!a->answered) {
		struct pollfd fd = {.fd = rpc_get_fd(a->rpc), .events = (short)rpc_which_events(a->rpc)};
		uint64_t now = now_ms();
		int n = now >= a->until ? 0 : poll(&fd, 1, (int)(a->until - now));

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0) {
			(void)snprintf(a->sentence, sizeof(a->sentence), "no answer in time");
			return -ETIMEDOUT;
		}
		r = (fd.revents & (POLLERR | POLLHUP)) != 0 ? socket_error(fd.fd) : 0;
		if (rpc_service(a->rpc, fd.revents) < 0 && !a->answered) {
			(void)snprintf(a->sentence, sizeof(a->sentence), "%s", rpc_get_error(a->rpc));
			a->error = -ECONNREFUSED;
			a->answered = true;
		}
		if (r < 0 && a->error < 0) {
			(void)snprintf(a->sentence, sizeof(a->sentence), "%s", strerror(-r));
			a->error = r;
		}
	}
	return a->error;
}

static int connect_to(struct asking *a, const char *server, unsigned port, int program, int version)
{
	int r;

	if (rpc_connect_port_async(a->rpc, server, (int)port, program, version, connect_answered, a) != 0) {
		(void)snprintf(a->sentence, sizeof(a->sentence), "%s", rpc_get_error(a->rpc));
		return -ECONNREFUSED;
	}
	r = wait_for_answer(a);
	a->answered = false;
	return r;
}

/* Asks the port mapper for the program's port. Returns -ENOENT if the port mapper answers and knows none. */
static int query_port(const char *server, int program, int version, uint64_t until, unsigned *ret, char *sentence,
	size_t size)
{
	struct asking a;
	int r = asking_init(&a, until);

	if (r < 0)
		return r;
	r = connect_to(&a, server, PMAP_PORT, PMAP_PROGRAM, PMAP_V2);
	if (r == 0)
		r = SEND_GETPORT(a.rpc, program, version, 6 /* TCP */, port_answered, &a);
	if (r == 0)
		r = wait_for_answer(&a);
	if (r < 0)
		(void)snprintf(sentence, size, "the server's port mapper does not answer on port %d of %s: %s",
			PMAP_PORT, server, a.sentence);
	if (r == 0 && (a.port == 0 || a.port > 65535))
		r = -ENOENT;
	if (r == 0)
		*ret = a.port;
	asking_done(&a);
	return r;
}

static int find_mountd(const struct nfs3_mount_options *o, uint64_t until, unsigned *ret, char *sentence, size_t size)
{
	int r = 0;

	*ret = o->mount_port;
	if (*ret == 0)
		r = query_port(o->server, MOUNT_PROGRAM, MOUNT_V3, until, ret, sentence, size);
	if (r != -ENOENT)
		return r;
	(void)snprintf(sentence, size, "the port mapper of %s knows no mount daemon (MOUNT version 3 over TCP)",
		o->server);
	return -ECONNREFUSED;
}

int nfs3_mount(const struct nfs3_mount_options *options, struct nfs3_export *ret, char *sentence, size_t size)
{
	uint64_t until = now_ms() + options->timeout_ms;
	struct asking a;
	unsigned port;
	int r = find_mountd(options, until, &port, sentence, size);

	if (r < 0)
		return r;
	r = asking_init(&a, until);
	if (r < 0)
		return r;
	a.export = ret;
	r = connect_to(&a, options->server, port, MOUNT_PROGRAM, MOUNT_V3);
	if (r == 0)
		r = SEND_MOUNT(mnt, a.rpc, mnt_answered, (char *)options->export_path, &a);
	else
		(void)snprintf(sentence, size, "the mount daemon does not answer on port %u of %s: %s", port,
			options->server, a.sentence);
	if (r == 0) {
		r = wait_for_answer(&a);
		(void)snprintf(sentence, size, "%s (mountd at %s)", a.sentence, options->server);
	}
	asking_done(&a);
	return r;
}

void nfs3_unmount(const struct nfs3_mount_options *options)
{
	uint64_t until = now_ms() + options->timeout_ms;
	char sentence[256];
	struct asking a;
	unsigned port;

	if (find_mountd(options, until, &port, sentence, sizeof(sentence)) < 0 || asking_init(&a, until) < 0)
		return;
	if (connect_to(&a, options->server, port, MOUNT_PROGRAM, MOUNT_V3) == 0 &&
		SEND_MOUNT(umnt, a.rpc, umnt_answered, (char *)options->export_path, &a) == 0)
		(void)wait_for_answer(&a);
	asking_done(&a);
}

int nfs3_query_port(const char *server, unsigned timeout_ms, unsigned *ret)
{
	char sentence[256];

	return query_port(server, NFS_PROGRAM, NFS_V3, now_ms() + timeout_ms, ret, sentence, sizeof(sentence));
}
