/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers of an NFS server that is honest, then of a server that is not: how the calls end. */
#include "base/util.h"
#include "base/whole_io.h"
#include "io/liar.h"

#include <stdio.h>
#include <sys/stat.h>

static void every_answer_is_decoded(void **state)
{
	for (int proc = NFS_GETATTR; proc < NFS_PROC_COUNT; proc++) {
		put_answer((enum nfs_proc)proc);
		assert_int_equal(tell(*state, (enum nfs_proc)proc), 0);
	}
}

static void look_at_attributes(const struct nfs_call *call)
{
	assert_true(call->has_attr);
	assert_int_equal(call->attr.mode, S_IFREG | 0640);
	assert_int_equal(call->attr.nlink, 2);
	assert_int_equal(call->attr.uid, 1000);
	assert_int_equal(call->attr.gid, 100);
	assert_int_equal(call->attr.size, 12345);
	assert_int_equal(call->attr.used, 16384);
	assert_int_equal(call->attr.rdev_major, 8);
	assert_int_equal(call->attr.rdev_minor, 1);
	assert_int_equal(call->attr.fsid, 77);
	assert_int_equal(call->attr.fileid, 4711);
	assert_int_equal(call->attr.atime.tv_sec, 1700000000);
	assert_int_equal(call->attr.mtime.tv_nsec, 6);
	assert_int_equal(call->attr.ctime.tv_sec, 1700000002);
}

static void look_at_entries(const struct nfs_call *call)
{
	assert_int_equal(call->res.dir.count, 2);
	assert_true(call->res.dir.eof);
	assert_string_equal(call->res.dir.entries[0].name, "one");
	assert_string_equal(call->res.dir.entries[1].name, "another name");
	assert_int_equal(call->res.dir.entries[1].cookie, 2);
	assert_int_equal(call->res.dir.entries[1].fh.len, 6);
	assert_memory_equal(call->res.dir.entries[1].fh.data, "handle", 6);
	assert_int_equal(call->res.dir.entries[1].attr.size, 12345);
}

static void look_at_acls(const struct nfs_call *call)
{
	const struct nfs_acls *acl = &call->res.acl;

	assert_int_equal(acl->access_count, 2);
	assert_int_equal(acl->access[1].tag, 2);
	assert_int_equal(acl->access[1].id, 4711);
	assert_int_equal(acl->access[1].perm, 5);
	assert_int_equal(acl->default_count, 1);
	assert_int_equal(acl->dflt[0].tag, NFS_ACE_DEFAULT | 0x20);
	assert_int_equal(call->attr.uid, 1000);
}

static void attributes_and_entries_arrive_as_they_were_sent(void **state)
{
	put_answer(NFS_GETATTR);
	assert_int_equal(lie(*state, NFS_GETATTR, out_size, look_at_attributes), 0);
	put_answer(NFS_READDIRPLUS);
	assert_int_equal(lie(*state, NFS_READDIRPLUS, out_size, look_at_entries), 0);
	put_answer(NFS_GETACL);
	assert_int_equal(lie(*state, NFS_GETACL, out_size, look_at_acls), 0);
}

/*
 * libnfs 6 and later writes READ's data into the caller's buffer as the data arrives, and waits for as many bytes as
 * the answer announces. A server that sends fewer has not answered yet, so there is no error until the connection ends.
 * The tests of READ need a libnfs that decodes complete answers.
 */
#ifdef LIBNFS_TASKS
#define READ_IS_DECODED_WHOLE false
#else
#define READ_IS_DECODED_WHOLE true
#endif

/* Each answer, cut after each of its words and within a word. */
static void an_answer_cut_short_is_an_error(void **state)
{
	for (int proc = NFS_GETATTR; proc < NFS_PROC_COUNT; proc++) {
		size_t whole;

		if (proc == NFS_READ && !READ_IS_DECODED_WHOLE)
			continue;
		put_answer((enum nfs_proc)proc);
		/* libnfs accepts data without its padding at the end. */
		whole = out_size - (proc == NFS_READ ? 3 : proc == NFS_READLINK ? 2 : 0);
		for (size_t size = 0; size < whole; size += size % 12 ? 3 : 1)
			assert_true(lie(*state, (enum nfs_proc)proc, size, NULL) < 0);
	}
}

/* Without the guards these answers crash the daemon: libnfs_guard.h. */
static void a_length_beyond_the_answer_is_an_error(void **state)
{
	static const uint32_t lengths[] = {65, 200, 0x7ffffff0, 0x80000000, 0xffff0000, 0xfffffff0, 0xfffffffc,
		0xfffffffd, 0xffffffff};

	for (size_t n = 0; n < ARRAY_SIZE(lengths); n++) {
		begin();
		put_u32(0);
		put_u32(lengths[n]);
		put_bytes("not that much", 13);
		assert_int_equal(tell(*state, NFS_LOOKUP), -EIO);
		if (READ_IS_DECODED_WHOLE) {
			begin();
			put_u32(0);
			put_u32(false);
			put_u32(4096);
			put_u32(false);
			put_u32(lengths[n]);
			put_bytes("not that much", 13);
			assert_int_equal(tell(*state, NFS_READ), -EIO);
		}
		begin();
		put_u32(0);
		put_u32(false);
		put_u32(lengths[n]);
		put_bytes("not that much", 13);
		assert_int_equal(tell(*state, NFS_READLINK), -EIO);
		begin();
		put_u32(0);
		put_u32(false);
		put_u64(0);
		put_u32(true);
		put_u64(1);
		put_u32(lengths[n]);
		put_bytes("not that much", 13);
		assert_int_equal(tell(*state, NFS_READDIR), -EIO);
		begin();
		put_u32(0);
		put_u32(false);
		put_u32(EVERY_ACL);
		put_u32(lengths[n]);
		put_u32(lengths[n]);
		put_bytes("not that much", 13);
		assert_int_equal(tell(*state, NFS_GETACL), -EIO);
	}
}

static int tell_acls(struct liar *liar, uint32_t mask, uint32_t count, uint32_t length)
{
	begin();
	put_u32(0);
	put_u32(false);
	put_u32(mask);
	put_u32(count);
	put_u32(length);
	for (uint32_t n = 0; n < length; n++)
		put_ace(1, 0, 7);
	put_u32(0);
	put_u32(0);
	return tell(liar, NFS_GETACL);
}

static void impossible_acls_are_eio(void **state)
{
	assert_int_equal(tell_acls(*state, EVERY_ACL, 0, 0), 0);
	assert_int_equal(tell_acls(*state, EVERY_ACL, 600, 600), 0);
	assert_int_equal(tell_acls(*state, EVERY_ACL, 3, 2), -EIO);    /* fewer entries than its count */
	assert_int_equal(tell_acls(*state, EVERY_ACL, 2, 3), -EIO);    /* more entries than its count */
	assert_int_equal(tell_acls(*state, EVERY_ACL, 1025, 0), -EIO); /* more entries than allowed */
	assert_int_equal(tell_acls(*state, 0x0e, 3, 3), -EIO);         /* another mask than the call's */
}

/* A call may ask for a count without entries. */
static void look_at_count(const struct nfs_call *call)
{
	assert_int_equal(call->res.acl.access_count, 5);
}

static void a_count_alone_can_be_asked_for(void **state)
{
	struct liar *liar = *state;
	struct asked a = {.look = look_at_count,
		.client.call = {.args.acl.mask = NFS_ACL_ACCESS_COUNT, .done = asked_done}};
	struct request r;

	(void)sem_init(&a.client.done, 0, 0);
	a.client.call.proc = NFS_GETACL;
	a.client.call.fh.len = 4;
	server_submit(liar->t, &a.client.call);
	take_request(liar->fd, &r);
	assert_int_equal(r.call.program, 100227);
	assert_int_equal(r.call.version, 3);
	assert_int_equal(r.call.procedure, 1);
	assert_int_equal(load_u32(r.record + r.size - 4), NFS_ACL_ACCESS_COUNT);
	begin();
	put_u32(0);
	put_u32(false);
	put_u32(NFS_ACL_ACCESS_COUNT);
	put_u32(5);
	put_u32(0);
	put_u32(0);
	put_u32(0);
	answer(liar->fd, r.call.xid, out, out_size);
	await(&a.client);
	assert_int_equal(a.client.call.error, 0);
}

/* SETACL carries both lists with their counts, up to NFS_ACL_SETTABLE entries. */
static void acls_are_sent_as_they_are(void **state)
{
	static struct nfs_ace many[NFS_ACL_SETTABLE + 1];
	struct liar *liar = *state;
	const uint8_t *at;
	struct request r;

	for (uint32_t n = 0; n < ARRAY_SIZE(many); n++)
		many[n] = (struct nfs_ace){.tag = 2, .id = n, .perm = n & 7};
	for (uint32_t dflt = 0; dflt <= 2; dflt++) {
		uint32_t access = NFS_ACL_SETTABLE - dflt + dflt / 2; /* in the last round one entry too many */
		struct client c = {.call = {.args.acl = {.mask = 5,
						    .access_count = access,
						    .access = many,
						    .default_count = dflt,
						    .dflt = many}}};

		submit(liar->t, &c, NFS_SETACL);
		if (access + dflt <= NFS_ACL_SETTABLE) {
			take_request(liar->fd, &r);
			assert_int_equal(r.call.procedure, 2);
			at = r.record + r.size - 4 * (5 + 3 * (size_t)(access + dflt));
			assert_int_equal(load_u32(at), 5);
			assert_int_equal(load_u32(at + 4), access);
			assert_int_equal(load_u32(at + 8), access);
			assert_int_equal(load_u32(at + 12 + 12 * 7), 2);
			assert_int_equal(load_u32(at + 12 + 12 * 7 + 4), 7);
			assert_int_equal(load_u32(at + 12 + 12 * (size_t)access), dflt);
			put_answer(NFS_SETACL);
			answer(liar->fd, r.call.xid, out, out_size);
		}
		await(&c);
		assert_int_equal(c.call.error, access + dflt <= NFS_ACL_SETTABLE ? 0 : -ENOSPC);
	}
}

/* ---- COMPOUND: looks ---- */

static struct nfs_look seen[2];

static void look_at_looks(const struct nfs_call *call)
{
	memcpy(seen, call->args.looks.looks, call->args.looks.count * sizeof(*seen));
}

static const struct nfs_look *look_told(struct liar *liar)
{
	memset(seen, 0xff, sizeof(seen));
	assert_int_equal(lie(liar, NFS_COMPOUND, out_size, look_at_looks), 0);
	return seen;
}

static const struct nfs_look *look_with(struct liar *liar, uint32_t acl_word, uint32_t mtime_word, size_t size)
{
	begin();
	put_u32(0);
	put_u32(0);
	put_u32(2);
	put_looked(acl_word, mtime_word, LOOK_TIME LOOK_TIME, size);
	return look_told(liar);
}

static void a_look_tells_the_mtime_or_that_there_are_acls(void **state)
{
	const struct nfs_look *look;

	put_answer(NFS_COMPOUND);
	look = look_told(*state);
	assert_int_equal(look->error, 0);
	assert_false(look->has_acl);
	assert_true(look->has_mtime);
	assert_int_equal(look->mtime.tv_sec, 1700000000);
	assert_int_equal(look->mtime.tv_nsec, 7);
	look = look_with(*state, LOOK_ACL, LOOK_MTIME, 24);
	assert_int_equal(look->error, 0);
	assert_true(look->has_acl);
	assert_false(look->has_mtime);
	look = look_with(*state, 0, 0, 0);
	assert_int_equal(look->error, 0);
	assert_false(look->has_mtime);
}

static void an_impossible_look_is_not_answered(void **state)
{
	assert_int_equal(look_with(*state, 0, LOOK_MTIME, 8)->error, -EAGAIN);      /* less than a time */
	assert_int_equal(look_with(*state, 2, LOOK_MTIME, 12)->error, -EAGAIN);     /* more than was asked for */
	assert_int_equal(look_with(*state, 0, LOOK_MTIME | 1, 12)->error, -EAGAIN); /* the same */
	begin();
	put_u32(0);
	put_u32(0);
	put_u32(2);
	put_u32(22);
	put_u32(0);
	put_u32(9);
	put_u32(0);
	put_u32(3);
	put_u64(0);
	put_u32(0);
	put_u32(0);
	assert_int_equal(look_told(*state)->error, -EAGAIN); /* three words of attributes */
	begin();
	put_u32(0);
	put_u32(0);
	put_u32(2);
	put_u32(22);
	put_u32(0);
	put_u32(22);
	put_u32(0);
	assert_int_equal(look_told(*state)->error, -EAGAIN); /* of another operation */
}

/* The COMPOUND ends at PUTFH or at the GETATTR behind it, with this status. */
static int look_that_ends(struct liar *liar, bool at_getattr, uint32_t status)
{
	begin();
	put_u32(status);
	put_u32(0);
	put_u32(at_getattr ? 2 : 1);
	put_u32(22);
	if (at_getattr) {
		put_u32(0);
		put_u32(9);
	}
	put_u32(status);
	return look_told(liar)->error;
}

static void a_file_without_a_place_is_gone(void **state)
{
	for (int at_getattr = 0; at_getattr < 2; at_getattr++) {
		assert_int_equal(look_that_ends(*state, at_getattr != 0, 70), -ESTALE);
		assert_int_equal(look_that_ends(*state, at_getattr != 0, 13), -EAGAIN);
		assert_int_equal(look_that_ends(*state, at_getattr != 0, 10001), -EAGAIN);
	}
}

/* NFSv4 refuses the bytes that pad a handle of Ganesha in NFSv3. Other handles are sent as they are. */
static void looks_have_handles_of_nfsv4(void **state)
{
	static const struct nfs_fh padded = {.len = 32, .data = {0x43, 0, 0, 78, 26}},
				   exact = {.len = 32, .data = {0x43, 0, 0, 78, 27}},
				   other = {.len = 32, .data = {1, 0, 0, 78, 26}};
	const struct nfs_fh *const fhs[] = {&padded, &exact, &other};
	const uint32_t lengths[] = {31, 32, 32};
	struct liar *liar = *state;
	struct nfs_look looks[3] = {{.fh = fhs[0]}, {.fh = fhs[1]}, {.fh = fhs[2]}};
	struct client c = {.call = {.args.looks = {.looks = looks, .count = 3}}};
	const uint8_t *at;
	struct request r;

	submit(liar->t, &c, NFS_COMPOUND);
	take_request(liar->fd, &r);
	assert_int_equal(r.call.program, 100003);
	assert_int_equal(r.call.version, 4);
	assert_int_equal(r.call.procedure, 1);
	at = r.record + r.size - 3 * (8 + 32 + 16);
	assert_int_equal(load_u32(at - 12), 0); /* no tag; minor version 0; number of operations */
	assert_int_equal(load_u32(at - 8), 0);
	assert_int_equal(load_u32(at - 4), 6);
	for (size_t n = 0; n < 3; n++, at += 8 + 32 + 16) {
		assert_int_equal(load_u32(at), 22);
		assert_int_equal(load_u32(at + 4), lengths[n]);
		assert_memory_equal(at + 8, fhs[n]->data, 32);
		assert_int_equal(load_u32(at + 40), 9);
		assert_int_equal(load_u32(at + 44), 2);
		assert_int_equal(load_u32(at + 48), LOOK_ACL);
		assert_int_equal(load_u32(at + 52), LOOK_MTIME);
	}
	put_answer(NFS_COMPOUND);
	answer(liar->fd, r.call.xid, out, out_size);
	await(&c);
	assert_int_equal(looks[0].error, 0);
	assert_int_equal(looks[1].error, -EAGAIN); /* the answer has one of three */
	assert_int_equal(looks[2].error, -EAGAIN);
}

static void a_read_that_claims_more_than_it_brings_is_eio(void **state)
{
	begin();
	put_u32(0);
	put_u32(false);
	put_u32(6); /* count */
	put_u32(false);
	put_opaque("data!", 5);
	assert_int_equal(tell(*state, NFS_READ), -EIO);
	begin();
	put_u32(0);
	put_u32(false);
	put_u32(4097); /* more bytes than the call asked for */
	put_u32(false);
	memset(out + out_size + 4, 0, 4100);
	put_u32(4097);
	out_size += 4100;
	assert_int_equal(tell(*state, NFS_READ), -EIO);
	begin();
	put_u32(0);
	put_wcc();
	put_u32(4097);
	put_u32(NFS_FILE_SYNC);
	put_u64(0);
	assert_int_equal(tell(*state, NFS_WRITE), -EIO);
}

static int lookup_with_handle(struct liar *liar, size_t length)
{
	static const uint8_t handle[128];

	begin();
	put_u32(0);
	put_opaque(handle, length);
	put_u32(false);
	put_u32(false);
	return tell(liar, NFS_LOOKUP);
}

static void handles_have_1_to_64_bytes(void **state)
{
	assert_int_equal(lookup_with_handle(*state, 0), -EIO);
	assert_int_equal(lookup_with_handle(*state, 1), 0);
	assert_int_equal(lookup_with_handle(*state, 64), 0);
	assert_int_equal(lookup_with_handle(*state, 65), -EIO);
}

static int list_with_name(struct liar *liar, const char *name, size_t length)
{
	begin();
	put_u32(0);
	put_u32(false);
	put_u64(0);
	put_u32(true);
	put_u64(1);
	put_opaque(name, length);
	put_u64(1);
	put_u32(false);
	put_u32(true);
	return tell(liar, NFS_READDIR);
}

static void impossible_names_are_eio(void **state)
{
	char longest[256];

	memset(longest, 'n', sizeof(longest));
	assert_int_equal(list_with_name(*state, "good", 4), 0);
	assert_int_equal(list_with_name(*state, longest, 255), 0);
	assert_int_equal(list_with_name(*state, longest, 256), -EIO);
	assert_int_equal(list_with_name(*state, "", 0), -EIO);
	assert_int_equal(list_with_name(*state, "../x", 4), -EIO);
	assert_int_equal(list_with_name(*state, "/", 1), -EIO);
	assert_int_equal(list_with_name(*state, "\0a", 2), -EIO);
}

static void a_status_becomes_an_errno(void **state)
{
	static const struct {
		uint32_t status;
		int error;
	} known[] = {{1, -EPERM}, {2, -ENOENT}, {17, -EEXIST}, {63, -ENAMETOOLONG}, {66, -ENOTEMPTY}, {69, -EDQUOT},
		{70, -ESTALE}, {10001, -ESTALE}, {10004, -EOPNOTSUPP}, {10006, -EIO}, {11, -EIO}, {0xffffffff, -EIO}};

	for (size_t n = 0; n < ARRAY_SIZE(known); n++) {
		begin();
		put_u32(known[n].status);
		assert_int_equal(tell(*state, NFS_GETATTR), known[n].error);
	}
}

static void look_at_everything(const struct nfs_call *call)
{
	size_t sum = 0;

	if (call->proc == NFS_READDIR || call->proc == NFS_READDIRPLUS)
		for (size_t n = 0; n < call->res.dir.count; n++)
			sum += strlen(call->res.dir.entries[n].name);
	if (call->proc == NFS_READ)
		for (uint32_t n = 0; n < call->res.io.count; n++)
			sum += ((const uint8_t *)call->res.io.data)[n];
	if (call->proc == NFS_GETACL) {
		for (uint32_t n = 0; n < call->res.acl.access_count; n++)
			sum += call->res.acl.access[n].perm;
		for (uint32_t n = 0; n < call->res.acl.default_count; n++)
			sum += call->res.acl.dflt[n].perm;
	}
	if (call->proc == NFS_READLINK)
		sum += strlen(call->res.target);
	assert_true(sum < SIZE_MAX);
}

static void an_answer_of_random_bytes_does_no_harm(void **state)
{
	const char *seed = getenv("LOCALIOFS_SEED");
	bool many = getenv("LOCALIOFS_LONG");
	unsigned random = seed ? (unsigned)strtoul(seed, NULL, 10) : 1;

	(void)printf("# LOCALIOFS_SEED=%u\n", random);
	srand(random);
	for (int n = 0; n < (many ? 100000 : 5000); n++) {
		enum nfs_proc proc = (enum nfs_proc)(1 + rand() % (NFS_PROC_COUNT - 1));

		/* A good answer with a few changed bytes gets further in the decoder than random bytes. */
		put_answer(proc);
		for (int change = rand() % 4; change >= 0; change--)
			out[(size_t)rand() % out_size] = (uint8_t)(rand() % 3 ? rand() : 0xff);
		if (rand() % 2)
			memset(out, 0, 4); /* NFS3_OK */
		if (load_u32(out) == 10008)
			continue; /* JUKEBOX: it would take 5 s */
		(void)lie(*state, proc, out_size - (size_t)rand() % 8 % out_size, look_at_everything);
	}
}

/* An entry has at least 24 bytes. An answer full of entries is the deepest recursion of libnfs. */
static void a_listing_may_have_as_many_entries_as_an_answer_holds(void **state)
{
	struct liar *liar = *state;
	size_t entries = ((1U << 20) - 200) / 28, size = 28 + 20 + 4 + entries * 28;
	uint8_t *record = calloc(1, size), *at;
	struct asked a = {.client.call = {.name = "name"}};
	struct request r;

	assert_non_null(record);
	(void)sem_init(&a.client.done, 0, 0);
	a.client.call.proc = NFS_READDIR;
	a.client.call.fh.len = 4;
	a.client.call.done = asked_done;
	server_submit(liar->t, &a.client.call);
	take_request(liar->fd, &r);
	(void)oncrpc_encode_reply(r.call.xid, ONCRPC_SUCCESS, 0, record, size);
	store_u32(record, (uint32_t)(size - 4) | 0x80000000U);
	at = record + 28 + 16; /* status, no attributes, verifier */
	for (size_t n = 0; n < entries; n++, at += 28) {
		store_u32(at, true);
		store_u32(at + 8, (uint32_t)n);
		store_u32(at + 12, 1);
		at[16] = 'n';
		store_u32(at + 24, (uint32_t)n + 1);
	}
	store_u32(at, false);
	store_u32(at + 4, true);
	assert_int_equal(write_all(liar->fd, record, size), 0);
	free(record);
	await(&a.client);
	assert_int_equal(a.client.call.error, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, liar_setup, liar_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_answer_is_decoded),
		TEST(attributes_and_entries_arrive_as_they_were_sent),
		TEST(an_answer_cut_short_is_an_error),
		TEST(a_length_beyond_the_answer_is_an_error),
		TEST(impossible_acls_are_eio),
		TEST(a_look_tells_the_mtime_or_that_there_are_acls),
		TEST(an_impossible_look_is_not_answered),
		TEST(a_file_without_a_place_is_gone),
		TEST(looks_have_handles_of_nfsv4),
		TEST(a_count_alone_can_be_asked_for),
		TEST(acls_are_sent_as_they_are),
		TEST(a_read_that_claims_more_than_it_brings_is_eio),
		TEST(handles_have_1_to_64_bytes),
		TEST(impossible_names_are_eio),
		TEST(a_status_becomes_an_errno),
		TEST(an_answer_of_random_bytes_does_no_harm),
		TEST(a_listing_may_have_as_many_entries_as_an_answer_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
