/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The judges of the NFS server, and of what server and sidecar say about this client. */
#include <linux/magic.h>

#include "ctl/doctor/doctor_checks.h"

#define AS_REASON "The sidecar gives no local path for this mount."

void judge_server_name(const struct doctor_facts *f, struct finding *ret)
{
	if (f->server.find_error != -EINVAL && f->server.find_error != -EAGAIN)
		finding_ok(ret, "%s has an address", f->spec.host);
	else
		finding_bad(ret, CHECK_FAIL, "The server cannot be found.",
			"Correct the name, or /etc/hosts and the name servers in /etc/resolv.conf.", "%s",
			f->server.sentence);
}

static bool is_refusal(int error)
{
	return error == -EACCES || error == -ENOENT || error == -ENOTDIR || error == -ENAMETOOLONG;
}

void judge_mount_daemon(const struct doctor_facts *f, struct finding *ret)
{
	if (f->server.find_error == 0 || is_refusal(f->server.find_error))
		finding_ok(ret, "the server's mount daemon answers");
	else
		finding_bad(ret, CHECK_FAIL, "The server does not run, or a firewall is in between.",
			"Start the NFS server and its port mapper, or name the ports: port= and mountport=", "%s",
			f->server.sentence);
}

void judge_server_export(const struct doctor_facts *f, struct finding *ret)
{
	if (f->server.find_error == 0)
		finding_ok(ret, "the server exports %s to this client", f->spec.path);
	else
		finding_bad(ret, CHECK_FAIL, "The server refuses the mount.",
			"Correct the path (showmount -e lists the exports), or export it to this client.", "%s",
			f->server.sentence);
}

void judge_nfs_answers(const struct doctor_facts *f, struct finding *ret)
{
	if (f->server.connect_error == 0 && f->server.root_error == 0)
		finding_ok(ret, "NFSv3 at %s, port %u", f->server.address, f->server.port);
	else
		finding_bad(ret, CHECK_FAIL, "The server has no NFSv3 over TCP with sec=sys, or hangs.",
			"Allow NFS version 3 and TCP in the server's configuration, and look at its log.", "%s",
			f->server.sentence);
}

void judge_squash(const struct doctor_facts *f, struct finding *ret)
{
	const uint32_t bits = NFS_ACCESS_READ | NFS_ACCESS_LOOKUP | NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND;

	if ((f->server.root.mode & 07) == 07)
		finding_ok(ret, "not visible: every user may write to the export's root");
	else if ((f->server.root_access & bits) == bits)
		finding_ok(ret, "root is root on this export");
	else
		finding_bad(ret, CHECK_ADVICE,
			"root is another user on this export (root_squash), or the export is read-only; local files "
			"obey "
			"the same rule.",
			"Nothing, if that is meant. Otherwise export with no_root_squash and rw.",
			"the server gives uid 0 the rights 0x%x on the export's root, of 0x%x",
			f->server.root_access & bits, bits);
}

/* ---- the steps of the probe ---- */

/* The step at which the probe's reason stands; the steps before it have succeeded. */
enum probe_step {
	STEP_PORT,
	STEP_HOST,
	STEP_LIMITS,
	STEP_SERVING,
	STEP_HANDLES,
	STEP_EXPORT,
	STEP_CLIENT,
	STEP_OPTIONS,
	STEP_SAME_EXPORT,
	STEP_SESSION,
	STEP_DONE,
};

static enum probe_step step_of(const struct probe_status *p)
{
	if (p->state == PROBE_STATE_LOCAL)
		return STEP_DONE;
	switch (p->reason) {
	case REASON_PROBE_REFUSED:
	case REASON_PROBE_TIMEOUT:
	case REASON_PROBE_DENIED:
		return STEP_PORT;
	case REASON_NOT_MATCHED:
		return STEP_HOST;
	case REASON_LIMIT:
	case REASON_REGISTRY_FULL:
	case REASON_CLAIMS:
		return STEP_LIMITS;
	case REASON_NOT_SERVING:
	case REASON_NOT_CONNECTED:
		return STEP_SERVING;
	case REASON_BAD_HANDLE:
		return STEP_HANDLES;
	case REASON_NOT_EXPORTED:
		return STEP_EXPORT;
	case REASON_CLIENT_DENIED:
		return STEP_CLIENT;
	case REASON_EXPORT_OPTIONS:
	case REASON_SUBTREE_CHECK:
		return STEP_OPTIONS;
	case REASON_WRONG_EXPORT:
		return STEP_SAME_EXPORT;
	default:
		return STEP_SESSION;
	}
}

static void judge_step(const struct doctor_facts *f, struct finding *ret, enum probe_step step, const char *good,
	const char *meaning, const char *todo)
{
	const struct probe_status *p = &f->server.probe;

	if (step_of(p) != step)
		finding_ok(ret, "%s", good);
	else if (p->reason == REASON_PROBING)
		finding_bad(ret, CHECK_UNKNOWN, meaning, "Try again.", "the probe has not ended in time");
	else
		finding_bad(ret, CHECK_FAIL, meaning, todo, "%s: %s", reason_code(p->reason), p->detail);
}

void judge_probe_port(const struct doctor_facts *f, struct finding *ret)
{
	judge_step(f, ret, STEP_PORT, "the sidecar's port on the server's host answers",
		"A probe over the network does not arrive at a sidecar.",
		"Let the port through (TCP 20122, or probeport=): in the firewall of the server's host, and into the "
		"container of the sidecar.");
}

void judge_same_host(const struct doctor_facts *f, struct finding *ret)
{
	judge_step(f, ret, STEP_HOST, "the sidecar that writes this registry got the probe",
		"The NFS server is on another host than this client, so there is no local path.",
		"Nothing, if the server is elsewhere. Otherwise let client and server use the same registry, and let "
		"no "
		"proxy stand between them.");
}

void judge_sidecar_limits(const struct doctor_facts *f, struct finding *ret)
{
	judge_step(f, ret, STEP_LIMITS, "the sidecar has room for one more session", AS_REASON,
		"Raise the limit that the sidecar's log names; localiofs-sidecar(8) lists them.");
}

void judge_server_serving(const struct doctor_facts *f, struct finding *ret)
{
	judge_step(f, ret, STEP_SERVING, "the sidecar sees the server listen, and this client's connection to it",
		AS_REASON, "Let the sidecar run in the network namespace of the NFS server, with the right --server.");
}

void judge_handles(const struct doctor_facts *f, struct finding *ret)
{
	judge_step(f, ret, STEP_HANDLES,
		f->server.remembers ? "the sidecar decodes the file handles of this server, which is like NFS-Ganesha"
				    : "the sidecar decodes the file handles of this server, which is like knfsd",
		AS_REASON, "Name the kind of server: localiofs-sidecar --server=ganesha or --server=knfsd.");
}

void judge_export_known(const struct doctor_facts *f, struct finding *ret)
{
	judge_step(f, ret, STEP_EXPORT, "the sidecar knows the export", AS_REASON,
		"Compare localiofs-sidecar --check with the server's exports, and give --config= the server's file.");
}

void judge_client_matched(const struct doctor_facts *f, struct finding *ret)
{
	judge_step(f, ret, STEP_CLIENT, "the export's options are for this client", AS_REASON,
		"Add the client to the export in the server's configuration, with sec=sys; with secure, mount as "
		"root.");
}

void judge_export_options(const struct doctor_facts *f, struct finding *ret)
{
	judge_step(f, ret, STEP_OPTIONS, "the sidecar can honour the export's options", AS_REASON,
		"Take the option out that localiofs-sidecar --check names, for example subtree_check.");
}

void judge_same_export(const struct doctor_facts *f, struct finding *ret)
{
	judge_step(f, ret, STEP_SAME_EXPORT, "sidecar and server have the same root under the handle", AS_REASON,
		"Let the sidecar see the same mounts as the server, and allow open_by_handle_at in its container.");
}

void judge_session(const struct doctor_facts *f, struct finding *ret)
{
	char good[200];

	(void)snprintf(good, sizeof(good), "local: the sidecar exports %s", f->server.probe.export_path);
	judge_step(f, ret, STEP_SESSION, good, AS_REASON,
		"Do what the reason says; localiofs-status(7) lists the reasons.");
}

/* ---- with a session ---- */

void judge_address(const struct doctor_facts *f, struct finding *ret)
{
	const struct probe_status *p = &f->server.probe;

	if (strcmp(p->detail, reason_text(REASON_LOCAL)) == 0)
		finding_ok(ret, "the sidecar sees this client at %s", p->peer);
	else
		finding_bad(ret, CHECK_ADVICE, "The server and the sidecar judge this client by another address.",
			"Export to the address that the sidecar sees.", "%s", p->detail);
}

void judge_owner_proof(const struct doctor_facts *f, struct finding *ret)
{
	if (f->server.trusted)
		finding_ok(ret, "the sidecar believes that this user owns the machine");
	else
		finding_bad(ret, CHECK_ADVICE,
			"Where the kernel cannot pass a file through, only reads are local: a client without "
			"CAP_SYS_ADMIN gets no descriptors for writing.",
			"Nothing, for an ordinary user. Otherwise mount as root, outside of containers.",
			"the sidecar takes this process for an ordinary user's");
}

/* The filesystems under which localiofs is tested. */
static const char *tested_filesystem(unsigned long type)
{
	switch (type) {
	case EXT4_SUPER_MAGIC:
		return "ext4";
	case XFS_SUPER_MAGIC:
		return "xfs";
	case BTRFS_SUPER_MAGIC:
		return "btrfs";
	case OVERLAYFS_SUPER_MAGIC:
		return "overlayfs";
	default:
		return NULL;
	}
}

static void judge_filesystem(const struct doctor_facts *f, unsigned long type, struct finding *ret)
{
	const char *name = tested_filesystem(type);

	if (type == FUSE_SUPER_MAGIC)
		finding_bad(ret, CHECK_FAIL, "The kernel passes no files of a FUSE filesystem through FUSE.",
			"Export a directory of ext4, xfs, btrfs or overlayfs.", "the export lies on FUSE");
	else if (type == OVERLAYFS_SUPER_MAGIC && f->options.underlay)
		finding_bad(ret, CHECK_ADVICE,
			"Filesystems may be stacked two deep only: the daemon reads and writes the files.",
			"Mount without underlay, if no overlayfs is to lie on this mount.",
			"the export lies on overlayfs, and the mount has underlay");
	else if (name)
		finding_ok(ret, "the export lies on %s", name);
	else
		finding_bad(ret, CHECK_ADVICE, "localiofs is tested with ext4, xfs, btrfs and overlayfs.",
			"Check that opens.passthrough of localioctl status rises when files are read.",
			"the export lies on a filesystem of type 0x%lx", type);
}

void judge_backing(const struct doctor_facts *f, struct finding *ret)
{
	if (f->server.backing_type)
		judge_filesystem(f, f->server.backing_type, ret);
	else
		finding_ok(ret, "not visible from here (%s); ask for a file", strerror(-f->server.backing_error));
}

void judge_file_backing(const struct doctor_facts *f, struct finding *ret)
{
	judge_filesystem(f, f->file.type, ret);
}
