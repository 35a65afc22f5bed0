/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the NFS server is asked about a change whose reply never came, and what the caller hears. The server is a table
 * of names that the test fills in; it does what it is told.
 */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>

#include "fuse/shortcut/change.h"

#define NAMES_MAX 8
#define CALLS_MAX 8

struct name {
	struct nfs_fh dir, file;
	const char *text;
};

/* The server's names, and the calls that it got. */
struct model {
	struct server server;
	struct name names[NAMES_MAX];
	size_t count;
	enum nfs_proc calls[CALLS_MAX];
	size_t called;
	int error;              /* of each LOOKUP; 0: none */
	enum nfs_proc gives_up; /* the procedure during which the caller is killed */
};

#define DIR                             \
	{                               \
		.len = 3, .data = "dir" \
	}
#define OTHER_DIR                         \
	{                                 \
		.len = 5, .data = "other" \
	}
#define THE_FILE                         \
	{                                \
		.len = 4, .data = "file" \
	}

static const struct nfs_fh dir = DIR, other_dir = OTHER_DIR, file = THE_FILE, new_file = {.len = 8, .data = "new file"};
static unsigned ended, done;
static bool unwanted, remembers;

bool probe_server_remembers(const struct probe *p)
{
	return remembers;
}

void probe_wake(struct probe *p)
{
}

static struct name *find(struct model *m, const struct nfs_fh *in, const char *text)
{
	for (size_t n = 0; n < m->count; n++)
		if (nfs_fh_equal(&m->names[n].dir, in) && strcmp(m->names[n].text, text) == 0)
			return &m->names[n];
	return NULL;
}

static void add(struct model *m, const struct nfs_fh *in, const char *text, const struct nfs_fh *of)
{
	assert_true(m->count < NAMES_MAX && !find(m, in, text));
	m->names[m->count++] = (struct name){.dir = *in, .file = *of, .text = text};
}

static void drop(struct model *m, struct name *name)
{
	*name = m->names[--m->count];
}

static int look_up(struct model *m, struct nfs_call *call)
{
	const struct name *name = find(m, &call->fh, call->name);

	if (m->error < 0)
		return m->error;
	if (!name)
		return -ENOENT;
	call->new_fh = name->file;
	call->has_attr = true;
	call->attr = (struct nfs_attr){.mode = S_IFREG | 0640, .nlink = 7};
	return 0;
}

static int make(struct model *m, struct nfs_call *call)
{
	if (find(m, &call->fh, call->name))
		return -EEXIST;
	add(m, &call->fh, call->name, &new_file);
	return 0;
}

static int take_away(struct model *m, struct nfs_call *call)
{
	struct name *name = find(m, &call->fh, call->name);

	if (!name)
		return -ENOENT;
	drop(m, name);
	return 0;
}

static int move(struct model *m, struct nfs_call *call)
{
	struct name *old = find(m, &call->fh, call->name), *new;
	struct nfs_fh moved;

	if (!old)
		return -ENOENT;
	moved = old->file;
	drop(m, old);
	new = find(m, &call->fh2, call->name2);
	if (new)
		drop(m, new);
	add(m, &call->fh2, call->name2, &moved);
	return 0;
}

static int give_name(struct model *m, struct nfs_call *call)
{
	if (find(m, &call->fh2, call->name))
		return -EEXIST;
	add(m, &call->fh2, call->name, &call->fh);
	return 0;
}

static int answer(struct model *m, struct nfs_call *call)
{
	switch (call->proc) {
	case NFS_LOOKUP:
		return look_up(m, call);
	case NFS_REMOVE:
	case NFS_RMDIR:
		return take_away(m, call);
	case NFS_RENAME:
		return move(m, call);
	case NFS_LINK:
		return give_name(m, call);
	case NFS_SETATTR:
	case NFS_GETACL: /* the server looks */
		return 0;
	default:
		return make(m, call);
	}
}

static void submit(struct server *s, struct nfs_call *call)
{
	struct model *m = CONTAINER_OF(s, struct model, server);

	assert_true(m->called < CALLS_MAX);
	assert_false(call->by_sidecar);
	m->calls[m->called++] = call->proc;
	unwanted = unwanted || call->proc == m->gives_up;
	call->has_attr = false;
	call->error = call->given_up && call->given_up(call) ? -EINTR : answer(m, call);
	call->done(call);
}

static void stats(struct server *s, struct server_stats *ret)
{
	*ret = (struct server_stats){.connected = true};
}

static const struct server_ops ops = {.submit = submit, .create = submit, .stats = stats};

static void on_ended(struct doubt *d)
{
	assert_int_equal(done, 0);
	ended++;
}

static void on_done(struct nfs_call *call)
{
	assert_int_equal(ended, 1);
	done++;
}

static bool on_given_up(struct nfs_call *call)
{
	return unwanted;
}

/*
 * Runs the doubt about a call, which the sidecar was to answer, to its end. behind: the server does not know of this.
 */
static struct nfs_call resolve_behind(struct model *m, struct nfs_call call, const struct nfs_fh *behind)
{
	static struct fs fs;
	struct memory memory;
	struct doubt d = {.memory = &memory, .call = &call, .child = file, .ended = on_ended};

	fs.probe = (struct probe *)&fs; /* there is one; its functions are above */
	remembers = behind != NULL;
	assert_int_equal(inode_table_new(&fs.inodes), 0);
	memory_init(&memory, &fs, &m->server);
	m->server.ops = &ops;
	ended = done = 0;
	unwanted = false;
	call.cred.uid = 1001;
	call.by_sidecar = true;
	call.has_attr = true;
	call.dir.has_after = call.dir2.has_before = true;
	call.done = on_done;
	call.given_up = on_given_up;
	if (behind)
		memory_changed(&memory, behind);
	doubt_begin(&d);
	assert_int_equal(done, 1);
	assert_false(call.by_sidecar);
	memory_done(&memory);
	fs.inodes = inode_table_free(fs.inodes);
	return call;
}

static struct nfs_call resolve(struct model *m, struct nfs_call call)
{
	return resolve_behind(m, call, NULL);
}

static void assert_called(const struct model *m, size_t count, const enum nfs_proc *calls)
{
	assert_int_equal(m->called, count);
	for (size_t n = 0; n < count; n++)
		assert_string_equal(nfs_proc_name(m->calls[n]), nfs_proc_name(calls[n]));
}

#define ASSERT_CALLED(m, ...)                                     \
	do {                                                      \
		const enum nfs_proc expected[] = {__VA_ARGS__};   \
		assert_called(m, ARRAY_SIZE(expected), expected); \
	} while (0)

static const struct nfs_call remove_call = {.proc = NFS_REMOVE, .fh = DIR, .name = "a"},
			     rmdir_call = {.proc = NFS_RMDIR, .fh = DIR, .name = "a"},
			     rename_call = {.proc = NFS_RENAME, .fh = DIR, .fh2 = OTHER_DIR, .name = "a", .name2 = "b"},
			     link_call = {.proc = NFS_LINK, .fh = THE_FILE, .fh2 = DIR, .name = "a"};

static void a_removal_that_was_made_is_not_repeated(void **state)
{
	struct model m = {0};
	struct nfs_call call = resolve(&m, remove_call);

	assert_int_equal(call.error, 0);
	assert_false(call.has_attr || call.dir.has_after || call.dir2.has_before);
	ASSERT_CALLED(&m, NFS_LOOKUP);
}

static void a_removal_that_was_not_made_is_repeated(void **state)
{
	for (int n = 0; n < 2; n++) {
		struct model m = {0};

		add(&m, &dir, "a", &file);
		assert_int_equal(resolve(&m, n == 0 ? remove_call : rmdir_call).error, 0);
		ASSERT_CALLED(&m, NFS_LOOKUP, n == 0 ? NFS_REMOVE : NFS_RMDIR);
		assert_null(find(&m, &dir, "a"));
	}
}

static void a_new_file_of_the_same_name_is_kept(void **state)
{
	for (int n = 0; n < 2; n++) {
		struct model m = {0};

		add(&m, &dir, "a", &new_file);
		assert_int_equal(resolve(&m, n == 0 ? remove_call : rmdir_call).error, 0);
		ASSERT_CALLED(&m, NFS_LOOKUP);
		assert_non_null(find(&m, &dir, "a"));
	}
}

static void a_rename_that_was_made_is_not_repeated(void **state)
{
	struct model m = {0};

	add(&m, &other_dir, "b", &file);
	add(&m, &dir, "a", &new_file);
	assert_int_equal(resolve(&m, rename_call).error, 0);
	ASSERT_CALLED(&m, NFS_LOOKUP);
	assert_true(nfs_fh_equal(&find(&m, &dir, "a")->file, &new_file));
}

static void a_rename_that_was_not_made_is_repeated(void **state)
{
	struct model m = {0};

	add(&m, &dir, "a", &file);
	add(&m, &other_dir, "b", &new_file);
	assert_int_equal(resolve(&m, rename_call).error, 0);
	ASSERT_CALLED(&m, NFS_LOOKUP, NFS_LOOKUP, NFS_RENAME);
	assert_true(nfs_fh_equal(&find(&m, &other_dir, "b")->file, &file));
}

static void a_rename_of_a_file_that_has_neither_name_is_not_repeated(void **state)
{
	struct model m = {0};

	add(&m, &dir, "a", &new_file);
	assert_int_equal(resolve(&m, rename_call).error, -ENOENT);
	ASSERT_CALLED(&m, NFS_LOOKUP, NFS_LOOKUP);
	assert_non_null(find(&m, &dir, "a"));
}

static void a_link_that_was_made_is_not_repeated(void **state)
{
	struct model m = {0};
	struct nfs_call call;

	add(&m, &dir, "a", &file);
	call = resolve(&m, link_call);
	assert_int_equal(call.error, 0);
	assert_true(call.has_attr);
	assert_int_equal(call.attr.nlink, 7);
	ASSERT_CALLED(&m, NFS_LOOKUP);
}

static void a_link_that_was_not_made_is_repeated(void **state)
{
	struct model m = {0}, other = {0};

	assert_int_equal(resolve(&m, link_call).error, 0);
	ASSERT_CALLED(&m, NFS_LOOKUP, NFS_LINK);
	add(&other, &dir, "a", &new_file);
	assert_int_equal(resolve(&other, link_call).error, -EEXIST);
}

static void a_new_file_in_doubt_is_made_once(void **state)
{
	const enum nfs_proc makes[] = {NFS_CREATE, NFS_MKDIR, NFS_SYMLINK, NFS_MKNOD};

	for (size_t n = 0; n < ARRAY_SIZE(makes); n++) {
		const struct nfs_call call = {.proc = makes[n], .fh = dir, .name = "a"};
		struct model m = {0}, made = {0};

		assert_int_equal(resolve(&m, call).error, 0);
		ASSERT_CALLED(&m, makes[n]);
		add(&made, &dir, "a", &file);
		assert_int_equal(resolve(&made, call).error, -EEXIST);
		assert_true(nfs_fh_equal(&find(&made, &dir, "a")->file, &file));
	}
}

static void attributes_are_set_again(void **state)
{
	struct model m = {0};

	assert_int_equal(resolve(&m, (struct nfs_call){.proc = NFS_SETATTR, .fh = file}).error, 0);
	ASSERT_CALLED(&m, NFS_SETATTR);
}

static void a_server_that_remembers_looks_at_the_directory_first(void **state)
{
	struct model m = {0}, second = {0};

	assert_int_equal(resolve_behind(&m, remove_call, &dir).error, 0);
	ASSERT_CALLED(&m, NFS_GETACL, NFS_LOOKUP);
	assert_int_equal(resolve_behind(&second, (struct nfs_call){.proc = NFS_MKDIR, .fh = dir, .name = "a"}, &dir)
				 .error,
		0);
	ASSERT_CALLED(&second, NFS_GETACL, NFS_MKDIR);
}

static void without_an_answer_of_the_server_nothing_is_repeated(void **state)
{
	const struct nfs_call calls[] = {remove_call, rename_call, link_call};

	for (size_t n = 0; n < ARRAY_SIZE(calls); n++) {
		struct model m = {.error = -EACCES};

		add(&m, &dir, "a", &file);
		assert_int_equal(resolve(&m, calls[n]).error, -EACCES);
		ASSERT_CALLED(&m, NFS_LOOKUP);
	}
}

static void a_killed_caller_waits_for_no_answer(void **state)
{
	struct model m = {.gives_up = NFS_LOOKUP};

	add(&m, &dir, "a", &file);
	assert_int_equal(resolve(&m, remove_call).error, -EINTR);
	ASSERT_CALLED(&m, NFS_LOOKUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_removal_that_was_made_is_not_repeated),
		cmocka_unit_test(a_removal_that_was_not_made_is_repeated),
		cmocka_unit_test(a_new_file_of_the_same_name_is_kept),
		cmocka_unit_test(a_rename_that_was_made_is_not_repeated),
		cmocka_unit_test(a_rename_that_was_not_made_is_repeated),
		cmocka_unit_test(a_rename_of_a_file_that_has_neither_name_is_not_repeated),
		cmocka_unit_test(a_link_that_was_made_is_not_repeated),
		cmocka_unit_test(a_link_that_was_not_made_is_repeated),
		cmocka_unit_test(a_new_file_in_doubt_is_made_once),
		cmocka_unit_test(attributes_are_set_again),
		cmocka_unit_test(a_server_that_remembers_looks_at_the_directory_first),
		cmocka_unit_test(without_an_answer_of_the_server_nothing_is_repeated),
		cmocka_unit_test(a_killed_caller_waits_for_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
