/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The judges of this machine: its kernel, FUSE, ports and rights. */
#include "ctl/doctor/doctor_checks.h"

void judge_proc(const struct doctor_facts *f, struct finding *ret)
{
	if (f->machine.proc_error == 0)
		finding_ok(ret, "/proc is mounted");
	else
		finding_bad(ret, CHECK_FAIL, "Without /proc no client can check the registry safely.",
			"Mount it: mount -t proc proc /proc", "/proc/self/mountinfo: %s",
			strerror(-f->machine.proc_error));
}

static bool kernel_since(const struct machine_facts *m, unsigned major, unsigned minor)
{
	return m->major > major || (m->major == major && m->minor >= minor);
}

void judge_kernel(const struct doctor_facts *f, struct finding *ret)
{
	const struct machine_facts *m = &f->machine;

	if (!kernel_since(m, 6, 9))
		finding_bad(ret, CHECK_FAIL, "FUSE passthrough came with Linux 6.9; older kernels mount remotely.",
			"Boot Linux 6.9 or later, better 6.14.", "Linux %s", m->release);
	else if (!kernel_since(m, 6, 14))
		finding_bad(ret, CHECK_ADVICE, "FUSE over io_uring, which makes names faster, came with Linux 6.14.",
			"Boot Linux 6.14 or later when convenient.", "Linux %s", m->release);
	else
		finding_ok(ret, "Linux %s", m->release);
}

void judge_fuse_device(const struct doctor_facts *f, struct finding *ret)
{
	const char *meaning = "localiofs cannot mount without /dev/fuse.";

	if (f->machine.device_error == 0)
		finding_ok(ret, "/dev/fuse can be opened");
	else if (f->machine.device_error == -EACCES || f->machine.device_error == -EPERM)
		finding_bad(ret, CHECK_FAIL, meaning,
			"As root: chmod 666 /dev/fuse. In a container: give it the device, or let localiofs-mounter "
			"mount.",
			"/dev/fuse: %s", strerror(-f->machine.device_error));
	else
		finding_bad(ret, CHECK_FAIL, meaning,
			"As root: modprobe fuse. In a container: give it the device (--device /dev/fuse).",
			"/dev/fuse: %s", strerror(-f->machine.device_error));
}

/* True if the mount that is asked about shows it. A trial may be forbidden where the mount is there all the same. */
static bool mount_passes_through(const struct doctor_facts *f)
{
	return json_is_true(json_object_get(json_object_get(f->mount.status, "kernel"), "passthrough"));
}

void judge_trial_mount(const struct doctor_facts *f, struct finding *ret)
{
	if (f->machine.mount_error == 0)
		finding_ok(ret, "the kernel mounts FUSE, and offers the features 0x%llx",
			(unsigned long long)f->machine.fuse_features);
	else if (mount_passes_through(f))
		finding_ok(ret, "a trial mount of FUSE is not allowed here, but the mount is there");
	else
		finding_bad(ret, CHECK_UNKNOWN, "The kernel's FUSE features are seen at a trial mount only.",
			"Run this command as root, or outside of the container.", "a trial mount of FUSE: %s",
			strerror(-f->machine.mount_error));
}

void judge_passthrough(const struct doctor_facts *f, struct finding *ret)
{
	if ((f->machine.fuse_features & DOCTOR_FUSE_PASSTHROUGH) || mount_passes_through(f))
		finding_ok(ret, "the kernel offers FUSE passthrough");
	else
		finding_bad(ret, CHECK_FAIL, "The kernel cannot move data past the daemon.",
			"Boot a kernel that has CONFIG_FUSE_PASSTHROUGH=y.",
			"the kernel does not offer FUSE passthrough");
}

void judge_fuse_uring(const struct doctor_facts *f, struct finding *ret)
{
	const char *meaning =
		"Requests about names go through /dev/fuse, which costs more; file data is not concerned.";

	if (f->machine.enable_uring == 'Y')
		finding_ok(ret, "the parameter enable_uring of the module fuse is Y");
	else if (f->machine.enable_uring)
		finding_bad(ret, CHECK_ADVICE, meaning,
			"At once, for new mounts: echo Y >/sys/module/fuse/parameters/enable_uring. For each boot: "
			"echo options fuse enable_uring=Y >/etc/modprobe.d/fuse.conf",
			"the parameter enable_uring of the module fuse is %c", f->machine.enable_uring);
	else
		finding_bad(ret, CHECK_ADVICE, meaning, "Boot Linux 6.14 or later with CONFIG_FUSE_IO_URING=y.",
			"this kernel has no FUSE over io_uring");
}

void judge_io_uring(const struct doctor_facts *f, struct finding *ret)
{
	if (f->machine.io_uring_error == 0)
		finding_ok(ret, "io_uring works");
	else
		finding_bad(ret, CHECK_ADVICE,
			"Files that the kernel cannot pass through go through the NFS server, and requests through "
			"/dev/fuse.",
			"Set sysctl kernel.io_uring_disabled=0, and allow io_uring in the container's seccomp filter.",
			"io_uring_setup: %s", strerror(-f->machine.io_uring_error));
}

void judge_user_namespaces(const struct doctor_facts *f, struct finding *ret)
{
	if (f->machine.user_namespaces != 0)
		finding_ok(ret, "user.max_user_namespaces is %lld", (long long)f->machine.user_namespaces);
	else
		finding_bad(ret, CHECK_ADVICE, "Containers of ordinary users cannot mount: they need user namespaces.",
			"Where users shall mount in containers: sysctl user.max_user_namespaces=15000",
			"user.max_user_namespaces is 0");
}

void judge_fusermount(const struct doctor_facts *f, struct finding *ret)
{
	if (f->machine.fusermount)
		finding_ok(ret, "fusermount3 is there");
	else if (f->machine.root)
		finding_bad(ret, CHECK_ADVICE, "Only root can mount: other users need fusermount3.",
			"Where other users shall mount: install the package fuse3.", "fusermount3 is not in PATH");
	else
		finding_bad(ret, CHECK_FAIL, "This user cannot mount without fusermount3.",
			"Install the package fuse3.", "fusermount3 is not in PATH");
}

void judge_reserved_port(const struct doctor_facts *f, struct finding *ret)
{
	if (f->machine.reserved_error == 0)
		finding_ok(ret, "this user may use source ports below 1024");
	else
		finding_bad(ret, CHECK_ADVICE,
			"Exports with the option secure (knfsd's default) or Privileged_Port refuse this user's "
			"mounts.",
			"Mount as root, give CAP_NET_BIND_SERVICE, set sysctl net.ipv4.ip_unprivileged_port_start=512, "
			"or "
			"export with insecure.",
			"a source port below 1024: %s (unprivileged ports begin at %lld)",
			strerror(-f->machine.reserved_error), (long long)f->machine.first_port);
}

void judge_callers(const struct doctor_facts *f, struct finding *ret)
{
	if (f->machine.sees_others)
		finding_ok(ret, "/proc shows the processes of other users, and so their groups");
	else
		finding_bad(ret, CHECK_ADVICE,
			"A daemon of this user cannot see the supplementary groups of other users, and the server gets "
			"none.",
			"Mount /proc without hidepid, or with gid= of a group of this user.",
			"/proc does not show the processes of other users");
}
