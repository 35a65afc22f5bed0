/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/whole_io.h"
#include "ctl/facts/doctor_facts.h"
#include "mount/mountinfo.h"

#define PARAMETER  "/sys/module/fuse/parameters/enable_uring"
#define NAMESPACES "/proc/sys/user/max_user_namespaces"
#define FIRST_PORT "/proc/sys/net/ipv4/ip_unprivileged_port_start"
#define LAST_TRIED 512 /* tcp.c and libnfs choose from the same ports */

/* ---- the trial mount ---- */

struct trial {
	int error;
	uint64_t features;
};

static int write_text(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : write_all(fd, text, strlen(text));
}

/* A mount namespace for a trial; users other than root need a user namespace, too. */
static int enter_namespace(void)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];
	int r;

	if (unshare(CLONE_NEWNS) < 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			return -errno;
		(void)write_text("/proc/self/setgroups", "deny");
		(void)snprintf(map, sizeof(map), "0 %u 1", uid);
		r = write_text("/proc/self/uid_map", map);
		(void)snprintf(map, sizeof(map), "0 %u 1", gid);
		if (r == 0)
			r = write_text("/proc/self/gid_map", map);
		if (r < 0)
			return r;
	}
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

/* Mounts FUSE in a namespace of this process alone, and reads the kernel's first request, INIT. */
static int try_mount(uint64_t *ret_features)
{
	_cleanup_close_ int device = -1;
	struct {
		struct fuse_in_header header;
		struct fuse_init_in init;
		char rest[FUSE_MIN_READ_BUFFER];
	} request = {0};
	char data[100];
	struct pollfd p = {.events = POLLIN};
	int r = enter_namespace();

	if (r < 0)
		return r;
	/* The kernel demands that the device was opened in the user namespace that mounts (fs/fuse/inode.c). */
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (device < 0)
		return -errno;
	p.fd = device;
	(void)snprintf(data, sizeof(data), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", device, geteuid(), getegid());
	if (mount("localioctl", "/", "fuse", MS_NOSUID | MS_NODEV, data) < 0)
		return -errno;
	if (poll(&p, 1, DOCTOR_QUESTION_SECONDS * 1000) <= 0)
		return -ETIMEDOUT;
	if (read(device, &request, sizeof(request)) < (ssize_t)(sizeof(request.header) + sizeof(request.init)))
		return -EPROTO;
	*ret_features = request.init.flags | (uint64_t)request.init.flags2 << 32;
	return 0;
}

static void run_trial(int to, const void *arg)
{
	struct trial t = {0};

	t.error = try_mount(&t.features);
	(void)write_all(to, &t, sizeof(t));
}

/* ---- single facts ---- */

static int64_t number_in(const char *path)
{
	char text[32];
	uint64_t value;

	if (read_small_file(path, text, sizeof(text)) < 0)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, 0, INT64_MAX, &value) == 0 ? (int64_t)value : -1;
}

static int try_device(void)
{
	_cleanup_close_ int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : 0;
}

static int try_io_uring(void)
{
	struct io_uring_params p = {0};
	_cleanup_close_ int fd = (int)syscall(__NR_io_uring_setup, 2, &p);

	return fd < 0 ? -errno : 0;
}

/* 0 if a port below 1024 can be bound, or all of them are in use. */
static int try_reserved_port(void)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -errno : -EADDRINUSE;

	for (uint16_t port = IPPORT_RESERVED - 1; r == -EADDRINUSE && port >= LAST_TRIED; port--) {
		struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

		r = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	}
	return r == -EADDRINUSE ? 0 : r;
}

static bool has_fusermount(void)
{
	_cleanup_free_ char *path = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	char *save = NULL, file[4096];

	for (char *dir = path ? strtok_r(path, ":", &save) : NULL; dir; dir = strtok_r(NULL, ":", &save)) {
		(void)snprintf(file, sizeof(file), "%s/fusermount3", dir);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

static int no_line(const struct mountinfo *m, void *arg)
{
	return 0;
}

/* With hidepid, the last mount on /proc shows it in its options. */
static int look_at_proc(const struct mountinfo *m, void *arg)
{
	const char *hide = strstr(m->super_options, "hidepid=");

	if (strcmp(m->target, "/proc") == 0 && strcmp(m->type, "proc") == 0)
		*(bool *)arg = !hide || strncmp(hide, "hidepid=0", 9) == 0 || strncmp(hide, "hidepid=off", 11) == 0;
	return 0;
}

void facts_of_machine(struct machine_facts *m)
{
	struct utsname name;
	struct trial trial = {0};
	char text[16];
	ssize_t r;

	if (uname(&name) == 0) {
		(void)snprintf(m->release, sizeof(m->release), "%s", name.release);
		(void)sscanf(name.release, "%u.%u", &m->major, &m->minor);
	}
	m->proc_error = mountinfo_each(no_line, NULL);
	m->device_error = try_device();
	r = m->device_error < 0 ? m->device_error : in_child(run_trial, NULL, &trial, sizeof(trial));
	m->mount_error = r == sizeof(trial) ? trial.error : r < 0 ? (int)r : -EPROTO;
	m->fuse_features = trial.features;
	if (read_small_file(PARAMETER, text, sizeof(text)) > 0)
		m->enable_uring = text[0];
	m->io_uring_error = try_io_uring();
	m->user_namespaces = number_in(NAMESPACES);
	m->reserved_error = try_reserved_port();
	m->first_port = number_in(FIRST_PORT);
	m->root = geteuid() == 0;
	m->fusermount = has_fusermount();
	m->sees_others = true;
	(void)mountinfo_each(look_at_proc, &m->sees_others);
	m->sees_others = m->sees_others || m->root;
}
