/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The jobs of sessions, with an fsync(2) that lasts until as many are under way as the test wants. */
#include "cmocka_setup.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "sidecar/session/file_jobs.h"

#define SESSIONS (FILE_JOBS_SHARED / (FILE_JOBS_WORKERS - FILE_JOBS_OWN) + 2)
#define LONG_MS  60000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned under_way, wanted;
static struct file_jobs sessions[SESSIONS];
static int pairs[SESSIONS][2];
static struct counters counters;

/* In place of libc's. The sync of a file of an odd size fails. */
int fsync(int fd)
{
	struct stat st;

	(void)pthread_mutex_lock(&lock);
	under_way++;
	(void)pthread_cond_broadcast(&changed);
	while (under_way < wanted)
		(void)pthread_cond_wait(&changed, &lock);
	(void)pthread_mutex_unlock(&lock);
	errno = EIO;
	return fstat(fd, &st) < 0 || st.st_size % 2 != 0 ? -1 : 0;
}

static void want(unsigned number)
{
	LOCKED(&lock);
	wanted = number;
	(void)pthread_cond_broadcast(&changed);
}

/* Waits until so many syncs are under way, or have been. False if they do not come. */
static bool come(unsigned number)
{
	for (uint64_t end = now_ms() + LONG_MS; now_ms() < end; (void)usleep(1000)) {
		LOCKED(&lock);
		if (under_way >= number)
			return true;
	}
	return false;
}

static struct own_threads own[SESSIONS];

static int make(void **state)
{
	(void)state;
	under_way = wanted = 0;
	for (unsigned n = 0; n < SESSIONS; n++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[n]), 0);
		file_jobs_init(&sessions[n], pairs[n][0], &own[n], &counters, NULL, NULL);
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	want(0);
	for (unsigned n = 0; n < SESSIONS; n++) {
		file_jobs_done(&sessions[n]);
		(void)close(pairs[n][0]);
		(void)close(pairs[n][1]);
	}
	return 0;
}

/* Commits a file whose size is the number. */
static void commit(unsigned session, unsigned number)
{
	struct file_job job = {.type = BROKER_COMMIT, .request = number, .target = -1};

	job.fd = memfd_create("file", MFD_CLOEXEC);
	assert_true(job.fd >= 0);
	assert_int_equal(ftruncate(job.fd, number), 0);
	assert_int_equal(file_jobs_add(&sessions[session], &job), 0);
	(void)close(job.fd);
}

/* Takes a reply. Returns the number of its commit. */
static unsigned replied(unsigned session)
{
	struct {
		struct broker_header header;
		struct broker_status status;
	} reply;

	assert_int_equal(recv(pairs[session][1], &reply, sizeof(reply), 0), sizeof(reply));
	assert_int_equal(reply.status.error, reply.header.id % 2 != 0 ? -EIO : 0);
	return (unsigned)reply.header.id;
}

static void files_are_synced_together_and_each_has_its_own_result(void **state)
{
	bool seen[FILE_JOBS_WORKERS] = {0};

	(void)state;
	want(FILE_JOBS_WORKERS);
	for (unsigned n = 0; n < FILE_JOBS_WORKERS; n++)
		commit(0, n);
	assert_true(come(FILE_JOBS_WORKERS));
	for (unsigned n = 0; n < FILE_JOBS_WORKERS; n++) {
		unsigned number = replied(0);

		assert_false(seen[number]);
		seen[number] = true;
	}
	assert_int_equal(counters.requests[BROKER_COMMIT][COUNTERS_ANSWER_DONE], FILE_JOBS_WORKERS / 2);
	assert_int_equal(counters.requests[BROKER_COMMIT][COUNTERS_ANSWER_ERROR], FILE_JOBS_WORKERS / 2);
}

static void idle(unsigned session)
{
	for (;; (void)usleep(1000)) {
		LOCKED(&sessions[session].lock);
		if (sessions[session].idle == sessions[session].nworkers)
			return;
	}
}

static void one_file_after_another_takes_one_worker(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 20; n++) {
		commit(0, n);
		assert_int_equal(replied(0), n);
		idle(0);
	}
	assert_int_equal(sessions[0].nworkers, 1);
}

static void busy_sessions_leave_some_workers_to_each_other_session(void **state)
{
	unsigned all = 0;

	(void)state;
	want(UINT32_MAX);
	for (unsigned n = 0; n < SESSIONS; n++) {
		for (unsigned file = 0; file < FILE_JOBS_WORKERS; file++)
			commit(n, file);
		assert_true(sessions[n].nworkers >= FILE_JOBS_OWN);
		all += sessions[n].nworkers;
	}
	assert_int_equal(all, SESSIONS * FILE_JOBS_OWN + FILE_JOBS_SHARED);
	assert_true(come(all));
	(void)end(NULL);
	assert_int_equal(make(NULL), 0);
	for (unsigned file = 0; file < FILE_JOBS_WORKERS; file++)
		commit(0, file);
	for (unsigned file = 0; file < FILE_JOBS_WORKERS; file++)
		(void)replied(0);
	want(UINT32_MAX);
	for (unsigned file = 0; file < 2 * FILE_JOBS_WORKERS; file++)
		commit(0, file);
	assert_int_equal(sessions[0].nworkers, FILE_JOBS_WORKERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_are_synced_together_and_each_has_its_own_result, make, end),
		cmocka_unit_test_setup_teardown(one_file_after_another_takes_one_worker, make, end),
		cmocka_unit_test_setup_teardown(busy_sessions_leave_some_workers_to_each_other_session, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
