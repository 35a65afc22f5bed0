/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "localiofs/nonce_record.h"
#include "probe/nonce.h"
#include "probe/registry.h"
#include "sidecar/nonce_match.h"
#include "util.h"

#include <uuid/uuid.h>

static char path[64];

static void need_root(void)
{
	if (geteuid() != 0 || registry_root_uid() != 0)
		skip();
}

static int make(void **state)
{
	static unsigned n;

	(void)snprintf(path, sizeof(path), "/dev/shm/localiofs-test-%d-%u", getpid(), n++);
	return 0;
}

static int clean(void **state)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", path);
	return system(command);
}

static void roots_uid_follows_the_user_namespace(void **state)
{
	assert_int_equal(registry_root_uid_of("         0          0 4294967295\n", 65534), 0);
	assert_int_equal(registry_root_uid_of("         0       1000          1\n", 65534), 65534);
	assert_int_equal(
		registry_root_uid_of("0 100000 1000\n1000 0 1\n", 65534), 1000);
	assert_int_equal(registry_root_uid_of("", 4000), 4000);
}

static void a_missing_registry_is_no_registry(void **state)
{
	struct registry_fault fault;

	assert_int_equal(registry_open("/dev/shm/localiofs-test-none", &fault), -ENOENT);
	assert_int_equal(fault.reason, REASON_NO_REGISTRY);
}

static void the_sidecar_makes_what_both_accept(void **state)
{
	struct registry_fault fault;
	struct sockaddr_un address;
	_cleanup_close_ int fd = -1, nonces = -1;

	need_root();
	(void)umask(077);
	fd = registry_make(path, &fault);
	assert_true(fd >= 0);
	nonces = registry_open_nonces(fd, &fault);
	assert_true(nonces >= 0);
	assert_int_equal(registry_broker_address(fd, &address, &fault), -ENOENT);
	assert_int_equal(fault.reason, REASON_NO_BROKER);
	fd = close_fd(fd);
	fd = registry_make(path, &fault); /* again: it is there already */
	assert_true(fd >= 0);
}

static void a_foreign_registry_is_refused(void **state)
{
	struct registry_fault fault;
	char nonces[80];

	need_root();
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chown(path, 1000, 1000), 0);
	assert_int_equal(registry_make(path, &fault), -EPERM);
	assert_int_equal(fault.reason, REASON_BAD_REGISTRY);
	assert_non_null(strstr(fault.text, "uid 1000"));
	(void)snprintf(nonces, sizeof(nonces), "%s/nonces", path);
	assert_int_equal(access(nonces, F_OK), -1); /* nothing was made in it */
}

static void one_that_others_may_write_is_refused(void **state)
{
	struct registry_fault fault;

	need_root();
	(void)close_fd(registry_make(path, &fault));
	assert_int_equal(chmod(path, 0775), 0);
	assert_int_equal(registry_open(path, &fault), -EPERM);
	assert_int_equal(chmod(path, 0755), 0);
	(void)close_fd(registry_open(path, &fault));
	(void)strcat(path, "/nonces");
	assert_int_equal(chmod(path, 0777), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(registry_open(path, &fault), -EPERM);
	assert_non_null(strstr(fault.text, "1733"));
}

static void one_off_tmpfs_is_refused(void **state)
{
	struct registry_fault fault;

	assert_int_equal(registry_open("/proc", &fault), -EPERM);
	assert_int_equal(fault.reason, REASON_BAD_REGISTRY);
	assert_non_null(strstr(fault.text, "tmpfs"));
}

/* What a client writes; one test each changes one thing. */
static int write_nonce(int nonces, const uuid_t uuid, void (*change)(struct nonce_record *))
{
	struct nonce_record rec = {.version = NONCE_VERSION, .state = NONCE_ANNOUNCED};
	char name[UUID_STR_LEN], boot[64];
	int fd;

	memcpy(rec.magic, NONCE_MAGIC, sizeof(rec.magic));
	memcpy(rec.uuid, uuid, sizeof(rec.uuid));
	assert_true(read_small_file("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) > 0);
	boot[strcspn(boot, "\n")] = '\0';
	assert_int_equal(uuid_parse(boot, rec.boot_id), 0);
	if (change != NULL)
		change(&rec);
	uuid_unparse_lower(uuid, name);
	fd = openat(nonces, name, O_CREAT | O_EXCL | O_RDWR, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, &rec, sizeof(rec)), 0);
	return fd;
}

static void other_boot(struct nonce_record *r)
{
	r->boot_id[0] ^= 1;
}

static void other_uuid(struct nonce_record *r)
{
	r->uuid[0] ^= 1;
}

static void used_already(struct nonce_record *r)
{
	r->state = NONCE_MATCHED;
}

static const uint8_t no_proof[NONCE_PROOF_BYTES];

static int match(int nonces, const uuid_t uuid, uid_t announcer)
{
	bool trusted;

	return nonce_match(nonces, uuid, no_proof, announcer, &trusted);
}

static void a_nonce_matches_once(void **state)
{
	struct registry_fault fault;
	struct nonce_record rec;
	_cleanup_close_ int fd = -1, nonces = -1, file = -1;
	uuid_t uuid;

	need_root();
	fd = registry_make(path, &fault);
	nonces = registry_open_nonces(fd, &fault);
	uuid_generate_random(uuid);
	file = write_nonce(nonces, uuid, NULL);
	assert_int_equal(match(nonces, uuid, 1000), -EPERM); /* announced by another user */
	assert_int_equal(match(nonces, uuid, 0), 0);
	assert_int_equal(match(nonces, uuid, 0), -ENOENT);
	assert_int_equal(pread(file, &rec, sizeof(rec), 0), sizeof(rec));
	assert_int_equal(rec.state, NONCE_MATCHED);
}

/* Of a fresh nonce with these bytes in its attribute, if any, announced with those. */
static bool is_trusted(int nonces, const uint8_t *there, size_t size, const uint8_t proof[NONCE_PROOF_BYTES])
{
	_cleanup_close_ int file = -1;
	bool trusted = false;
	uuid_t uuid;

	uuid_generate_random(uuid);
	file = write_nonce(nonces, uuid, NULL);
	if (there)
		assert_int_equal(fsetxattr(file, NONCE_PROOF, there, size, XATTR_CREATE), 0);
	assert_int_equal(nonce_match(nonces, uuid, proof, 0, &trusted), 0);
	return trusted;
}

static void who_knows_the_proof_is_trusted(void **state)
{
	const uint8_t proof[NONCE_PROOF_BYTES + 1] = "sixteen bytes 16", other[NONCE_PROOF_BYTES + 1] = "sixteen bytes 17";
	const uint8_t longer[NONCE_PROOF_BYTES + 2] = "sixteen bytes 160";
	struct registry_fault fault;
	_cleanup_close_ int fd = -1, nonces = -1;

	need_root();
	fd = registry_make(path, &fault);
	nonces = registry_open_nonces(fd, &fault);
	assert_true(is_trusted(nonces, proof, NONCE_PROOF_BYTES, proof));
	assert_false(is_trusted(nonces, proof, NONCE_PROOF_BYTES, other));
	assert_false(is_trusted(nonces, proof, NONCE_PROOF_BYTES, no_proof));
	assert_false(is_trusted(nonces, no_proof, NONCE_PROOF_BYTES, no_proof));
	assert_false(is_trusted(nonces, NULL, 0, no_proof));
	assert_false(is_trusted(nonces, NULL, 0, proof));
	assert_false(is_trusted(nonces, proof, NONCE_PROOF_BYTES - 1, proof));
	assert_false(is_trusted(nonces, longer, NONCE_PROOF_BYTES + 1, proof));
}

static void the_machines_owner_gives_a_proof(void **state)
{
	struct registry_fault fault;
	_cleanup_close_ int fd = -1;
	struct nonce n;
	bool trusted = false;

	need_root();
	fd = registry_make(path, &fault);
	assert_int_equal(nonce_make(fd, "test", &n, &fault), 0);
	assert_int_equal(nonce_match(n.dir, n.uuid, n.proof, 0, &trusted), 0);
	assert_true(trusted);
	nonce_drop(&n);
}

static void a_wrong_nonce_never_matches(void **state)
{
	struct registry_fault fault;
	_cleanup_close_ int fd = -1, nonces = -1;
	char name[UUID_STR_LEN];
	uuid_t uuid;

	need_root();
	fd = registry_make(path, &fault);
	nonces = registry_open_nonces(fd, &fault);
	uuid_generate_random(uuid);
	(void)close_fd(write_nonce(nonces, uuid, other_boot));
	assert_int_equal(match(nonces, uuid, 0), -ESTALE);
	uuid_generate_random(uuid);
	(void)close_fd(write_nonce(nonces, uuid, other_uuid));
	assert_int_equal(match(nonces, uuid, 0), -EBADMSG);
	uuid_generate_random(uuid);
	(void)close_fd(write_nonce(nonces, uuid, used_already));
	assert_int_equal(match(nonces, uuid, 0), -ESTALE);
	/* another length, a second name, no file at all */
	uuid_generate_random(uuid);
	{
		_cleanup_close_ int file = write_nonce(nonces, uuid, NULL);

		assert_int_equal(ftruncate(file, sizeof(struct nonce_record) - 1), 0);
		assert_int_equal(match(nonces, uuid, 0), -EBADMSG);
	}
	uuid_generate_random(uuid);
	(void)close_fd(write_nonce(nonces, uuid, NULL));
	uuid_unparse_lower(uuid, name);
	assert_int_equal(linkat(nonces, name, nonces, "second", 0), 0);
	assert_int_equal(match(nonces, uuid, 0), -EBADMSG);
	uuid_generate_random(uuid);
	uuid_unparse_lower(uuid, name);
	assert_int_equal(symlinkat("/etc/passwd", nonces, name), 0);
	assert_int_equal(match(nonces, uuid, 0), -ELOOP);
	uuid_generate_random(uuid);
	uuid_unparse_lower(uuid, name);
	assert_int_equal(mkfifoat(nonces, name, 0600), 0);
	assert_int_equal(match(nonces, uuid, 0), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_uid_follows_the_user_namespace),
		cmocka_unit_test(a_missing_registry_is_no_registry),
		cmocka_unit_test_setup_teardown(the_sidecar_makes_what_both_accept, make, clean),
		cmocka_unit_test_setup_teardown(a_foreign_registry_is_refused, make, clean),
		cmocka_unit_test_setup_teardown(one_that_others_may_write_is_refused, make, clean),
		cmocka_unit_test(one_off_tmpfs_is_refused),
		cmocka_unit_test_setup_teardown(a_nonce_matches_once, make, clean),
		cmocka_unit_test_setup_teardown(who_knows_the_proof_is_trusted, make, clean),
		cmocka_unit_test_setup_teardown(the_machines_owner_gives_a_proof, make, clean),
		cmocka_unit_test_setup_teardown(a_wrong_nonce_never_matches, make, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
