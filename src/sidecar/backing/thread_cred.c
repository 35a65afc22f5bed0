/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/backing/thread_cred.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "base/util.h"
#include "base/whole_io.h"

static const struct {
	unsigned cap;
	const char *name, *why;
	bool optional; /* without it, some changes of an unsquashed root are left to the NFS server */
} kept[] = {
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN",
		"FUSE_DEV_IOC_BACKING_OPEN and _CLOSE, open_tree, mount_setattr, the registry's marks, proofs of "
		"owners, change notices"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "open_by_handle_at; what nfsd leaves an unsquashed root"},
	{CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "what nfsd leaves an unsquashed root"},
	{CAP_SETUID, "CAP_SETUID", "setfsuid to the squashed uid"},
	{CAP_SETGID, "CAP_SETGID", "setfsgid and setgroups to the squashed groups"},
	{CAP_CHOWN, "CAP_CHOWN", "what nfsd leaves an unsquashed root", true},
	{CAP_FOWNER, "CAP_FOWNER", "what nfsd leaves an unsquashed root", true},
};

/* The capabilities of a thread that registers: no FSETID, SYS_RESOURCE, DAC_OVERRIDE, DAC_READ_SEARCH. */
static const unsigned registrar[] = {CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID};

int thread_cred_check(char *ret_missing, size_t size)
{
	size_t used = 0;
	char map[256];
	unsigned inside, outside, count;

	ret_missing[0] = '\0';
	if (read_small_file("/proc/self/uid_map", map, sizeof(map)) <= 0 ||
		sscanf(map, "%u %u %u", &inside, &outside, &count) != 3 || inside != 0 || outside != 0 ||
		count != UINT32_MAX) {
		(void)snprintf(ret_missing, size, "the initial user namespace");
		return -EPERM;
	}
	/* With no_setuid_fixup, the filesystem capabilities would stay when the uid changes. */
	if (prctl(PR_GET_SECUREBITS) & SECBIT_NO_SETUID_FIXUP) {
		(void)snprintf(ret_missing, size, "secure bits without no_setuid_fixup, capabilities(7)");
		return -EPERM;
	}
	(void)!capng_get_caps_process(); /* cannot fail for the process itself */
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (kept[i].optional || capng_have_capability(CAPNG_EFFECTIVE, kept[i].cap))
			continue;
		used += (size_t)snprintf(ret_missing + used, size - used, "%s%s (%s)", used > 0 ? ", " : "",
			kept[i].name, kept[i].why);
		if (used >= size)
			break;
	}
	return used > 0 ? -EPERM : 0;
}

int thread_cred_confine(bool bind_reserved)
{
	bool bounds = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) != 0, has[ARRAY_SIZE(kept)];

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		has[i] = capng_have_capability(CAPNG_EFFECTIVE, kept[i].cap) != 0;
	capng_clear(CAPNG_SELECT_BOTH);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (has[i])
			(void)capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, kept[i].cap);
	if (bind_reserved) /* probeport= below 1024 */
		(void)capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_NET_BIND_SERVICE);
	/*
	 * libcap-ng logs a failure. The service manager may have removed CAP_SETPCAP, and has bounded the set itself
	 * then.
	 */
	if (bounds)
		(void)!capng_apply(CAPNG_SELECT_BOUNDS);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return -EPERM;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

typedef struct __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3];

/* The thread's present credentials, so that calls without an effect are left out. */
static _Thread_local struct {
	struct broker_cred cred;
	bool known;             /* cred is valid; false until the thread's first change */
	bool reduced;           /* the effective capabilities are the registrar's by set_effective() */
	bool read;              /* permitted is valid */
	capabilities permitted; /* as capget(2) fills it; no function below changes the permitted set */
	bool dropped;           /* the kernel leaves exactly the registrar's capabilities when fsuid is not 0 */
} now;

static int get_capabilities(capabilities ret)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, ret) < 0 ? -errno : 0;
}

/* The capabilities of the list that the thread may have. */
static int effective_of(const unsigned *caps, size_t n, capabilities ret)
{
	int r = now.read ? 0 : get_capabilities(now.permitted);

	if (r < 0)
		return r;
	now.read = true;
	memcpy(ret, now.permitted, sizeof(now.permitted));
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		ret[i].effective = 0;
	for (size_t i = 0; i < n; i++)
		ret[CAP_TO_INDEX(caps[i])].effective |= CAP_TO_MASK(caps[i]);
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		ret[i].effective &= ret[i].permitted;
	return 0;
}

static int set_effective(const unsigned *caps, size_t n)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	capabilities data;
	int r = effective_of(caps, n, data);

	if (r < 0)
		return r;
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* True if the effective capabilities are now those of the list. */
static bool has_effective(const unsigned *caps, size_t n)
{
	capabilities want, have;

	if (effective_of(caps, n, want) < 0 || get_capabilities(have) < 0)
		return false;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if (want[i].effective != have[i].effective)
			return false;
	return true;
}

static bool same_groups(const struct broker_cred *cred)
{
	return now.known && now.cred.ngroups == cred->ngroups &&
	       memcmp(now.cred.groups, cred->groups, cred->ngroups * sizeof(cred->groups[0])) == 0;
}

static int set_groups(const struct broker_cred *cred)
{
	gid_t groups[BROKER_MAX_GROUPS];

	for (uint32_t i = 0; i < cred->ngroups; i++)
		groups[i] = cred->groups[i];
	now.known = false;
	if (syscall(SYS_setgroups, (size_t)cred->ngroups, groups) < 0)
		return -errno;
	now.cred.ngroups = cred->ngroups;
	memcpy(now.cred.groups, cred->groups, sizeof(cred->groups));
	now.known = true;
	return 0;
}

/* setfsuid() and setfsgid() report no errors; a call with -1 changes nothing and returns the present value. */
static int become_user(uint32_t uid)
{
	(void)setfsuid(uid);
	now.cred.uid = (uid_t)setfsuid((uid_t)-1);
	return now.cred.uid == uid ? 0 : -EPERM;
}

int thread_cred_become(const struct broker_cred *cred)
{
	bool known = now.known;
	int r = 0;

	if (cred->ngroups > BROKER_MAX_GROUPS)
		return -EINVAL;
	if (!same_groups(cred))
		r = set_groups(cred);
	if (r < 0)
		return r;
	if (!known || now.cred.gid != cred->gid) {
		(void)setfsgid(cred->gid);
		now.cred.gid = (gid_t)setfsgid((gid_t)-1);
	}
	if (!known || now.cred.uid != cred->uid)
		r = become_user(cred->uid);
	return r < 0 || now.cred.gid == cred->gid ? r : -EPERM;
}

int thread_cred_become_registrar(const struct broker_cred *cred)
{
	int r = thread_cred_become(cred);

	if (r < 0 || (cred->uid != 0 && now.dropped))
		return r;
	/* The thread's first look is valid for later ones: the kernel's rule and the permitted set do not change. */
	now.dropped = cred->uid != 0 && has_effective(registrar, ARRAY_SIZE(registrar));
	if (now.dropped)
		return 0;
	now.reduced = true;
	return set_effective(registrar, ARRAY_SIZE(registrar));
}

bool thread_cred_allows(int fd, int mode)
{
	return syscall(SYS_faccessat2, fd, "", mode, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

void thread_cred_restore(void)
{
	unsigned caps[ARRAY_SIZE(kept) + 1];
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		caps[i] = kept[i].cap;
	caps[ARRAY_SIZE(kept)] = CAP_NET_BIND_SERVICE;
	/* CAP_SETUID and CAP_SETGID stayed effective; uid 0 gives the others back, capabilities(7). */
	if (!now.known || now.cred.uid != 0)
		r = become_user(0);
	if (r >= 0 && now.reduced)
		r = set_effective(caps, ARRAY_SIZE(caps));
	now.reduced = false;
	if (r < 0) {
		log_error("credentials cannot be restored: %s", strerror(-r));
		abort();
	}
}
