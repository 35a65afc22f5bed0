/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A nonce file of any content, under the name that the question has. */
#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "localiofs/nonce_record.h"
#include "probe/nonce.h"
#include "sidecar/nonce_match.h"

static char directory[] = "/dev/shm/localiofs-fuzz.XXXXXX";

static void clean_up(void)
{
	(void)rmdir(directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int nonces = -1;
	struct nonce_record rec = {
		.magic = NONCE_MAGIC, .version = NONCE_VERSION, .state = NONCE_ANNOUNCED, .uuid = {1, 2, 3}};
	uint8_t boot_id[16];
	char name[UUID_STR_LEN];
	int fd, r;
	bool good, trusted;

	if (nonces < 0) {
		CHECK(mkdtemp(directory));
		(void)atexit(clean_up);
		nonces = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	CHECK(boot_id_read(boot_id) == 0);
	memcpy(rec.boot_id, boot_id, sizeof(boot_id));
	uuid_unparse_lower(rec.uuid, name);
	fd = openat(nonces, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	/* The bytes change a good record where they are not 0, so that some come far. */
	for (size_t n = 0; n < sizeof(rec) && n < size; n++)
		((uint8_t *)&rec)[n] ^= data[n];
	CHECK(write(fd, &rec, sizeof(rec)) == (ssize_t)sizeof(rec));
	if (size > sizeof(rec))
		CHECK(write(fd, data + sizeof(rec), size - sizeof(rec)) == (ssize_t)(size - sizeof(rec)));
	(void)close(fd);
	good = size <= sizeof(rec);
	for (size_t n = 0; n < size && n < offsetof(struct nonce_record, pid); n++)
		good &= data[n] == 0;
	r = nonce_match(nonces, (const uint8_t[16]){1, 2, 3}, (const uint8_t[NONCE_PROOF_BYTES]){0}, getuid(), &trusted);
	CHECK((r == 0) == good);
	if (r != 0)
		(void)unlinkat(nonces, name, 0);
	return 0;
}
