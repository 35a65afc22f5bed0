/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/nonce.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/xattr.h>

#include <uuid/uuid.h>

int boot_id_read(uint8_t ret[16])
{
	char text[64];
	ssize_t n = read_small_file("/proc/sys/kernel/random/boot_id", text, sizeof(text));

	if (n < 0)
		return (int)n;
	text[strcspn(text, "\n")] = '\0';
	return uuid_parse(text, ret) == 0 ? 0 : -EINVAL;
}

/* Who may not, or whose kernel has no such attributes on tmpfs, is believed less. */
static void give_proof(struct nonce *n, int fd)
{
	uint8_t proof[NONCE_PROOF_BYTES];

	if (getrandom(proof, sizeof(proof), 0) == sizeof(proof) &&
		fsetxattr(fd, NONCE_PROOF, proof, sizeof(proof), XATTR_CREATE) == 0)
		memcpy(n->proof, proof, sizeof(proof));
}

static int write_record(struct nonce *n, const char *asker)
{
	_cleanup_close_ int fd = -1;
	struct nonce_record record = {
		.version = NONCE_VERSION,
		.state = NONCE_ANNOUNCED,
		.pid = (uint32_t)getpid(),
		.uid = geteuid(),
	};
	int r;

	memcpy(record.magic, NONCE_MAGIC, sizeof(record.magic));
	memcpy(record.uuid, n->uuid, sizeof(record.uuid));
	(void)snprintf(record.asker, sizeof(record.asker), "%s", asker);
	r = boot_id_read(record.boot_id);
	if (r < 0)
		return r;
	fd = openat(n->dir, n->name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	give_proof(n, fd);
	r = write_all(fd, &record, sizeof(record));
	if (r < 0)
		(void)unlinkat(n->dir, n->name, 0);
	return r;
}

int nonce_make(int registry, const char *asker, struct nonce *ret, struct registry_fault *fault)
{
	struct nonce n = NONCE_NONE;
	int r;

	n.dir = registry_open_nonces(registry, fault);
	if (n.dir < 0)
		return n.dir;
	uuid_generate_random(n.uuid);
	uuid_unparse_lower(n.uuid, n.name);
	r = write_record(&n, asker);
	if (r < 0) {
		fault->reason = REASON_REGISTRY_FULL;
		(void)snprintf(fault->text, sizeof(fault->text),
			"cannot write a nonce into the registry: %s", strerror(-r));
		(void)close_fd(n.dir);
		return r;
	}
	*ret = n;
	return 0;
}

void nonce_drop(struct nonce *n)
{
	if (n->dir < 0)
		return;
	(void)unlinkat(n->dir, n->name, 0);
	n->dir = close_fd(n->dir);
}
