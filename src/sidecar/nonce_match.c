/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/nonce_match.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <uuid/uuid.h>

#include "probe/nonce.h"
#include "util.h"

static int open_nonce(int nonces, const char *name)
{
	struct open_how how = {
		.flags = O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	long fd = syscall(SYS_openat2, nonces, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int check_file(int fd, uid_t announcer)
{
	struct timespec now;
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &stx) < 0)
		return -errno;
	if (!S_ISREG(stx.stx_mode) || stx.stx_nlink != 1 ||
		stx.stx_size != sizeof(struct nonce_record))
		return -EBADMSG;
	if (stx.stx_uid != announcer)
		return -EPERM;
	if ((stx.stx_mask & STATX_BTIME) == 0)
		return -EOPNOTSUPP;
	/* The kernel stamps files with its coarse clock, which may be one tick behind this one. */
	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec - stx.stx_btime.tv_sec > NONCE_LIFETIME_S ||
		stx.stx_btime.tv_sec > now.tv_sec)
		return -ESTALE;
	return 0;
}

static int check_record(int fd, const uint8_t uuid[16])
{
	struct nonce_record rec;
	uint8_t boot_id[16];
	ssize_t n = pread(fd, &rec, sizeof(rec), 0);
	int r;

	if (n < 0)
		return -errno;
	if (n != sizeof(rec) || memcmp(rec.magic, NONCE_MAGIC, sizeof(rec.magic)) != 0 ||
		rec.version != NONCE_VERSION || memcmp(rec.uuid, uuid, sizeof(rec.uuid)) != 0)
		return -EBADMSG;
	r = boot_id_read(boot_id);
	if (r < 0)
		return r;
	if (rec.state != NONCE_ANNOUNCED || memcmp(rec.boot_id, boot_id, sizeof(boot_id)) != 0)
		return -ESTALE;
	return 0;
}

/* Who knows what only the machine's owner can have written there, and read, is he. */
static bool is_proven(int fd, const uint8_t proof[NONCE_PROOF_BYTES])
{
	static const uint8_t none[NONCE_PROOF_BYTES];
	uint8_t there[NONCE_PROOF_BYTES];

	return fgetxattr(fd, NONCE_PROOF, there, sizeof(there)) == sizeof(there) &&
		memcmp(there, none, sizeof(none)) != 0 && memcmp(there, proof, sizeof(there)) == 0;
}

int nonce_match(int nonces, const uint8_t uuid[16], const uint8_t proof[NONCE_PROOF_BYTES], uid_t announcer,
	bool *ret_trusted)
{
	const uint32_t matched = NONCE_MATCHED;
	char name[UUID_STR_LEN];
	_cleanup_close_ int fd = -1;
	int r;

	uuid_unparse_lower(uuid, name);
	fd = open_nonce(nonces, name);
	if (fd < 0)
		return fd;
	r = check_file(fd, announcer);
	if (r >= 0)
		r = check_record(fd, uuid);
	if (r < 0)
		return r;
	*ret_trusted = is_proven(fd, proof);
	/* Single use: whoever cannot take the name away does not believe the file. */
	if (unlinkat(nonces, name, 0) < 0)
		return -errno;
	if (pwrite(fd, &matched, sizeof(matched), offsetof(struct nonce_record, state)) !=
		sizeof(matched))
		return -EIO;
	return 0;
}
