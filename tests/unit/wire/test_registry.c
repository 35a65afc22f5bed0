/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "localiofs/broker_protocol.h"
#include "wire/nonce.h"
#include "wire/owner_proof.h"
#include "wire/registry.h"
#include "sidecar/registry/nonces.h"
#include "sidecar/registry/owner_check.h"
#include "sidecar/registry/registry_make.h"
#include "base/util.h"
#include "base/whole_io.h"

#define USER 64207

static char path[64];
static struct registry_fault fault;

static bool is_root(void)
{
	char map[128];

	return geteuid() == 0 && read_small_file("/proc/self/uid_map", map, sizeof(map)) > 0 &&
	       strstr(map, "4294967295") != NULL;
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

static const char *in_registry(const char *name)
{
	static char text[128];

	(void)snprintf(text, sizeof(text), "%s/%s", path, name);
	return text;
}

/* A registry of this test's, without anybody who accepts on its socket. */
static struct registry_made made_registry(void)
{
	struct registry_made made;

	if (!is_root())
		skip();
	if (registry_make(path, USER, USER, &made, &fault) < 0)
		fail_msg("%s", fault.text);
	return made;
}

static void a_missing_registry_is_no_registry(void **state)
{
	assert_int_equal(registry_open("/dev/shm/localiofs-test-none", &fault), -ENOENT);
	assert_int_equal(fault.reason, REASON_NO_REGISTRY);
}

static void one_off_tmpfs_is_refused(void **state)
{
	assert_int_equal(registry_open("/proc", &fault), -EPERM);
	assert_int_equal(fault.reason, REASON_BAD_REGISTRY);
	assert_non_null(strstr(fault.text, "must be on tmpfs"));
}

static void the_way_to_it_leads_over_no_link_of_proc(void **state)
{
	struct registry_made made = made_registry();
	_cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY);
	char link[64];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d/.", fd);
	assert_int_equal(registry_open(link, &fault), -ELOOP);
	assert_int_equal(fault.reason, REASON_BAD_REGISTRY);
	(void)close_fd(made.listener);
}

static void the_sidecar_makes_what_both_accept(void **state)
{
	struct registry_made made = made_registry(), again;
	struct registry_mark mark;
	struct registry_slot slot;
	_cleanup_close_ int dir = registry_open(path, &fault), socket_fd = -1;
	struct stat st;

	assert_true(dir >= 0);
	socket_fd = registry_open_socket(dir, &mark, &fault);
	assert_true(socket_fd >= 0);
	assert_memory_equal(&mark, &made.socket, sizeof(mark));
	assert_int_equal(registry_read_slot(dir, REGISTRY_SLOTS - 1, &slot, &fault), 0);
	assert_int_equal(slot.state, REGISTRY_SLOT_FREE);
	assert_int_equal(registry_read_slot(dir, REGISTRY_SLOTS, &slot, &fault), -EBADMSG);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, USER);
	assert_int_equal(st.st_mode & 07777, 0711);
	assert_int_equal(stat(in_registry("broker.sock"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0666);
	assert_int_equal(stat(in_registry("registry"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(st.st_size, sizeof(struct registry_file));
	/* While it listens there is no other; then the directory is kept, and the rest made anew. */
	assert_int_equal(registry_make(path, USER, USER, &again, &fault), -EADDRINUSE);
	(void)close_fd(made.listener);
	assert_int_equal(registry_make(path, USER, USER, &again, &fault), 0);
	assert_memory_not_equal(&again.socket, &made.socket, sizeof(again.socket));
	assert_int_equal(stat(path, &st), 0);
	(void)close_fd(again.listener);
}

static void a_directory_of_somebody_elses_is_refused(void **state)
{
	struct registry_made made;

	if (!is_root())
		skip();
	assert_int_equal(mkdir(path, 0711), 0);
	assert_int_equal(chown(path, 1000, 1000), 0);
	assert_int_equal(registry_make(path, USER, USER, &made, &fault), -EPERM);
	assert_non_null(strstr(fault.text, "belongs to uid 1000, must belong to uid 64207"));
	assert_int_equal(access(in_registry("registry"), F_OK), -1); /* nothing was made in it */
	assert_int_equal(registry_open(path, &fault), -EPERM);
	assert_non_null(strstr(fault.text, "no sidecar has marked it"));
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(registry_open(path, &fault), -EPERM);
	assert_non_null(strstr(fault.text, "belongs to uid 0"));
	assert_int_equal(chown(path, USER, USER), 0);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(registry_make(path, USER, USER, &made, &fault), -EPERM);
	assert_non_null(strstr(fault.text, "mode 0755, must be 0711"));
}

static void one_that_others_may_write_is_refused(void **state)
{
	struct registry_made made = made_registry();

	assert_int_equal(chmod(path, 0731), 0);
	assert_int_equal(registry_open(path, &fault), -EPERM);
	assert_non_null(strstr(fault.text, "mode 0731 lets others write"));
	assert_int_equal(chmod(path, 0713), 0);
	assert_int_equal(registry_open(path, &fault), -EPERM);
	(void)close_fd(made.listener);
}

static void a_mark_is_worth_something_on_its_own_inode_only(void **state)
{
	struct registry_made made = made_registry();
	_cleanup_close_ int dir = registry_open(path, &fault);
	struct registry_mark mark, copied = made.socket;
	struct registry_slot slot;

	assert_int_equal(rename(in_registry("broker.sock"), "/dev/shm/localiofs-test-sock"), 0);
	assert_int_equal(registry_open_socket(dir, &mark, &fault), -ENOENT);
	assert_int_equal(fault.reason, REASON_NO_BROKER);
	(void)unlink("/dev/shm/localiofs-test-sock");
	assert_int_equal(mknod(in_registry("broker.sock"), S_IFSOCK | 0666, 0), 0);
	assert_int_equal(registry_open_socket(dir, &mark, &fault), -EPERM);
	assert_int_equal(fault.reason, REASON_BAD_BROKER);
	assert_non_null(strstr(fault.text, "no sidecar has marked it"));
	assert_int_equal(setxattr(in_registry("broker.sock"), REGISTRY_MARK, &copied, sizeof(copied), 0), 0);
	assert_int_equal(registry_open_socket(dir, &mark, &fault), -EPERM);
	assert_non_null(strstr(fault.text, "was copied from elsewhere"));
	assert_int_equal(unlink(in_registry("broker.sock")), 0);
	assert_int_equal(symlink("registry", in_registry("broker.sock")), 0);
	assert_true(registry_open_socket(dir, &mark, &fault) < 0);
	assert_int_equal(unlink(in_registry("registry")), 0);
	assert_int_equal(mkfifo(in_registry("registry"), 0644), 0);
	assert_int_equal(registry_read_slot(dir, 0, &slot, &fault), -EPERM);
	assert_non_null(strstr(fault.text, "must be a regular file"));
	(void)close_fd(made.listener);
}

static void a_file_of_another_boot_or_version_is_refused(void **state)
{
	struct registry_made made = made_registry();
	_cleanup_close_ int dir = registry_open(path, &fault);
	struct registry_slot slot;

	made.file->header.boot_id[3] ^= 1;
	assert_int_equal(registry_read_slot(dir, 0, &slot, &fault), -ESTALE);
	made.file->header.boot_id[3] ^= 1;
	made.file->header.version++;
	assert_int_equal(registry_read_slot(dir, 0, &slot, &fault), -EPROTONOSUPPORT);
	assert_int_equal(fault.reason, REASON_VERSION);
	(void)close_fd(made.listener);
}

/* ---- names that change meanwhile ---- */

#define LOOKS  3000
#define STARTS 800

/* What another thread does with the names until it is told to end. */
struct swapper {
	pthread_t thread;
	void (*swap)(void);
	atomic_bool ends;
	atomic_uint done;
	uid_t uid;
};

static void *swap_names(void *arg)
{
	struct swapper *s = arg;

	/* Of this thread alone. */
	if (syscall(SYS_setresuid, s->uid, s->uid, s->uid) < 0)
		return s;
	while (!s->ends) {
		s->swap();
		s->done++;
	}
	return NULL;
}

static void start_swapping(struct swapper *s)
{
	assert_int_equal(pthread_create(&s->thread, NULL, swap_names, s), 0);
	while (s->done == 0)
		(void)sched_yield();
}

static void end_swapping(struct swapper *s)
{
	void *failed;

	s->ends = true;
	assert_int_equal(pthread_join(s->thread, &failed), 0);
	assert_null(failed);
}

static char place[96], true_one[128], false_one[128], link_name[128];

/* A directory that USER + 1 owns, with what he is to exchange in it. */
static void make_place(void)
{
	(void)snprintf(place, sizeof(place), "%s/place", path);
	(void)snprintf(true_one, sizeof(true_one), "%s/localiofs", place);
	(void)snprintf(false_one, sizeof(false_one), "%s/other", place);
	(void)snprintf(link_name, sizeof(link_name), "%s/link", place);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(mkdir(place, 0777), 0);
	assert_int_equal(chmod(place, 0777), 0);
}

static void exchange(void)
{
	(void)renameat2(AT_FDCWD, true_one, AT_FDCWD, false_one, RENAME_EXCHANGE);
}

/* Another's directory, as like a registry as he can make it. */
static void make_false_one(void)
{
	char name[160];
	int fd;

	assert_int_equal(mkdir(false_one, REGISTRY_DIR_MODE), 0);
	(void)snprintf(name, sizeof(name), "%s/" REGISTRY_FILE_NAME, false_one);
	fd = open(name, O_CREAT | O_RDWR, 0644);
	assert_int_equal(ftruncate(fd, sizeof(struct registry_file)), 0);
	(void)close_fd(fd);
	(void)snprintf(name, sizeof(name), "%s/" BROKER_SOCKET_NAME, false_one);
	assert_int_equal(mknod(name, S_IFSOCK | 0666, 0), 0);
}

/* Who takes the directory takes its own socket, or none; the socket of another is never taken. */
static void a_look_while_names_are_exchanged_finds_the_registry_or_none(void **state)
{
	struct swapper swapper = {.swap = exchange, .uid = USER + 1};
	struct registry_made made;
	unsigned found = 0, refused = 0;

	if (!is_root())
		skip();
	make_place();
	assert_int_equal(registry_make(true_one, USER, USER, &made, &fault), 0);
	make_false_one();
	/* The places where the directories lie belong to whoever exchanges them. */
	start_swapping(&swapper);
	for (unsigned n = 0; n < LOOKS || found == 0 || refused == 0; n++) {
		_cleanup_close_ int dir = registry_open(true_one, &fault), socket_fd = -1;
		struct registry_mark mark;

		refused += dir < 0;
		if (dir < 0)
			continue;
		found++;
		socket_fd = registry_open_socket(dir, &mark, &fault);
		assert_true(socket_fd >= 0);
		assert_memory_equal(&mark, &made.socket, sizeof(mark));
	}
	end_swapping(&swapper);
	(void)close_fd(made.listener);
}

static atomic_uint strangers_marked;

/* All that a stranger can put in turn where a sidecar is about to make its directory; true if the sidecar took it. */
static void put_something(void)
{
	static __thread unsigned turn;
	struct stat st;

	switch (turn++ % 6) {
	case 0:
		(void)mkdir(true_one, REGISTRY_DIR_MODE);
		break;
	case 1:
		(void)!symlink(false_one, true_one);
		break;
	case 2:
		(void)mknod(true_one, S_IFSOCK | 0666, 0);
		break;
	case 3: /* the sidecar's own, moved away, and back */
		(void)rename(true_one, link_name);
		break;
	case 4:
		(void)rename(link_name, true_one);
		break;
	default:
		exchange();
		break;
	}
	(void)usleep(300);
	if (lstat(true_one, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == USER + 1 &&
		getxattr(true_one, REGISTRY_MARK, NULL, 0) >= 0)
		strangers_marked++;
	(void)rmdir(true_one);
	if (turn % 2 == 0)
		(void)unlink(true_one);
}

static void what_is_put_there_while_a_sidecar_starts_is_not_its_own(void **state)
{
	struct swapper swapper = {.swap = put_something, .uid = USER + 1};
	unsigned made_one = 0;

	if (!is_root())
		skip();
	make_place();
	assert_int_equal(mkdir(false_one, REGISTRY_DIR_MODE), 0);
	assert_int_equal(chown(false_one, USER + 1, USER + 1), 0);
	start_swapping(&swapper);
	for (unsigned n = 0; n < STARTS || made_one == 0; n++) {
		struct registry_made made;
		int r = registry_make(true_one, USER, USER, &made, &fault);

		if (r < 0) {
			assert_true(fault.text[0] != '\0');
			continue;
		}
		made_one++;
		assert_int_equal(made.file->header.version, REGISTRY_VERSION);
		(void)close_fd(made.listener);
		(void)munmap(made.file, sizeof(*made.file));
	}
	end_swapping(&swapper);
	assert_int_equal(strangers_marked, 0);
}

/* ---- nonces ---- */

static struct registry_slot slots[REGISTRY_SLOTS];
static struct nonces nonces;
static int alice, bob;

static uint32_t announce(void *owner, uint8_t ret_nonce[NONCE_BYTES])
{
	uint8_t mine[NONCE_BYTES], theirs[NONCE_BYTES], hash[NONCE_BYTES];
	uint32_t slot;

	nonce_half(mine);
	assert_int_equal(nonces_announce(&nonces, owner, mine, theirs, &slot), 0);
	nonce_make(mine, theirs, ret_nonce);
	nonce_hash(ret_nonce, hash);
	assert_memory_equal(slots[slot].hash, hash, sizeof(hash));
	assert_int_equal(slots[slot].state, REGISTRY_SLOT_ANNOUNCED);
	return slot;
}

static void a_nonce_serves_once(void **state)
{
	uint8_t nonce[NONCE_BYTES], other[NONCE_BYTES];
	uint32_t slot;

	nonces_init(&nonces, slots);
	slot = announce(&alice, nonce);
	assert_ptr_equal(nonces_find(&nonces, nonce), &alice);
	memcpy(other, nonce, sizeof(other));
	other[7] ^= 1;
	assert_null(nonces_use(&nonces, other));
	assert_null(nonces_use(&nonces, slots[slot].hash)); /* what everybody can read */
	assert_ptr_equal(nonces_use(&nonces, nonce), &alice);
	assert_int_equal(slots[slot].state, REGISTRY_SLOT_USED);
	assert_null(nonces_use(&nonces, nonce));
}

static void a_nonce_ends_with_its_owner_and_with_the_next_one(void **state)
{
	uint8_t first[NONCE_BYTES], second[NONCE_BYTES], bobs[NONCE_BYTES];
	uint32_t slot;

	nonces_init(&nonces, slots);
	(void)announce(&alice, first);
	(void)announce(&bob, bobs);
	slot = announce(&alice, second);
	assert_null(nonces_find(&nonces, first));
	assert_ptr_equal(nonces_find(&nonces, second), &alice);
	nonces_forget(&nonces, &alice);
	assert_int_equal(slots[slot].state, REGISTRY_SLOT_FREE);
	assert_null(nonces_find(&nonces, second));
	assert_ptr_equal(nonces_find(&nonces, bobs), &bob);
}

static void a_nonce_grows_old(void **state)
{
	uint8_t nonce[NONCE_BYTES];
	uint32_t slot;

	nonces_init(&nonces, slots);
	slot = announce(&alice, nonce);
	nonces.entries[slot].announced_ms -= NONCE_LIFETIME_S * 1000 + 1;
	assert_null(nonces_use(&nonces, nonce));
}

static void the_same_half_makes_another_nonce_each_time(void **state)
{
	static const uint8_t half[NONCE_BYTES] = "sixteen bytes 1";
	uint8_t one[NONCE_BYTES], two[NONCE_BYTES], first[NONCE_BYTES], second[NONCE_BYTES];
	uint32_t slot;

	nonces_init(&nonces, slots);
	assert_int_equal(nonces_announce(&nonces, &alice, half, one, &slot), 0);
	assert_int_equal(nonces_announce(&nonces, &bob, half, two, &slot), 0);
	nonce_make(half, one, first);
	nonce_make(half, two, second);
	assert_memory_not_equal(first, second, sizeof(first));
	assert_ptr_equal(nonces_find(&nonces, first), &alice);
	assert_ptr_equal(nonces_find(&nonces, second), &bob);
}

static void all_slots_may_be_taken(void **state)
{
	static char owners[REGISTRY_SLOTS + 1];
	uint8_t half[NONCE_BYTES] = {0}, answer[NONCE_BYTES];
	uint32_t slot;

	nonces_init(&nonces, slots);
	for (unsigned i = 0; i < REGISTRY_SLOTS; i++)
		assert_int_equal(nonces_announce(&nonces, &owners[i], half, answer, &slot), 0);
	assert_int_equal(nonces_announce(&nonces, &owners[REGISTRY_SLOTS], half, answer, &slot), -EUSERS);
	assert_int_equal(nonces_announce(&nonces, &owners[0], half, answer, &slot), 0);
}

/* ---- proofs ---- */

static void a_proof_is_of_this_challenge_and_this_socket(void **state)
{
	const struct owner_proof proof = {.challenge = "sixteen bytes 1", .device = 5, .inode = 7};
	struct owner_proof other = proof;
	_cleanup_close_ int fd = owner_proof_make(&proof), bare = memfd_create("bare", MFD_CLOEXEC);
	dev_t device;

	if (!is_root())
		skip();
	assert_true(fd >= 0);
	assert_int_equal(owner_check_device(&device), 0);
	assert_true(owner_check(fd, device, &proof));
	assert_false(owner_check(fd, device + 1, &proof));
	assert_false(owner_check(bare, device, &proof));
	other.challenge[15] ^= 1;
	assert_false(owner_check(fd, device, &other));
	other = proof;
	other.inode++;
	assert_false(owner_check(fd, device, &other));
	other = proof;
	other.device++;
	assert_false(owner_check(fd, device, &other));
}

/* The attribute of a file on a mounted tmpfs, which may be a user namespace's, is no proof. */
static void a_proof_lies_on_the_kernels_own_tmpfs(void **state)
{
	const struct owner_proof proof = {.challenge = "sixteen bytes 1"};
	_cleanup_close_ int fd = -1;
	dev_t device;

	if (!is_root())
		skip();
	fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fsetxattr(fd, OWNER_PROOF, &proof, sizeof(proof), 0), 0);
	assert_int_equal(owner_check_device(&device), 0);
	assert_false(owner_check(fd, device, &proof));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_registry_is_no_registry),
		cmocka_unit_test(one_off_tmpfs_is_refused),
		cmocka_unit_test_setup_teardown(the_way_to_it_leads_over_no_link_of_proc, make, clean),
		cmocka_unit_test_setup_teardown(the_sidecar_makes_what_both_accept, make, clean),
		cmocka_unit_test_setup_teardown(a_directory_of_somebody_elses_is_refused, make, clean),
		cmocka_unit_test_setup_teardown(one_that_others_may_write_is_refused, make, clean),
		cmocka_unit_test_setup_teardown(a_mark_is_worth_something_on_its_own_inode_only, make, clean),
		cmocka_unit_test_setup_teardown(a_file_of_another_boot_or_version_is_refused, make, clean),
		cmocka_unit_test_setup_teardown(a_look_while_names_are_exchanged_finds_the_registry_or_none, make,
			clean),
		cmocka_unit_test_setup_teardown(what_is_put_there_while_a_sidecar_starts_is_not_its_own, make, clean),
		cmocka_unit_test(a_nonce_serves_once),
		cmocka_unit_test(a_nonce_ends_with_its_owner_and_with_the_next_one),
		cmocka_unit_test(a_nonce_grows_old),
		cmocka_unit_test(the_same_half_makes_another_nonce_each_time),
		cmocka_unit_test(all_slots_may_be_taken),
		cmocka_unit_test(a_proof_is_of_this_challenge_and_this_socket),
		cmocka_unit_test(a_proof_lies_on_the_kernels_own_tmpfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
