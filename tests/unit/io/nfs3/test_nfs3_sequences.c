/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations of several procedures, on a table of operations that the test fills in. */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "io/nfs3/nfs3_sequences.h"

/* An answer of the server, and its procedure. */
struct step {
	enum nfs_proc proc;
	int error;
	uint32_t new_fh_length;
	bool no_attr;
	bool marked;   /* the file has the time of access that the first call has set */
	mode_t type;   /* 0: a regular file */
	uint32_t size; /* FSINFO: of a READ; GETACL: entries */
};

struct fake_server {
	struct server server;
	const struct step *steps; /* the steps that are still to come */
	size_t left;
	struct nfs_call seen[4]; /* the calls as they were submitted */
	size_t count;
	bool ask; /* ask the caller before the answer whether to give up */
};

static const struct nfs_fh file = {.len = 4, .data = "file"}, dir = {.len = 3, .data = "dir"};
static unsigned made, done;
static bool unwanted;

static void fake_submit(struct server *s, struct nfs_call *call)
{
	struct fake_server *f = CONTAINER_OF(s, struct fake_server, server);
	const struct step *step = f->steps;

	assert_true(f->left > 0 && f->count < ARRAY_SIZE(f->seen));
	f->steps++;
	f->left--;
	f->seen[f->count++] = *call;
	assert_int_equal(call->proc, step->proc);
	call->error = step->error;
	if (f->ask && call->given_up && call->given_up(call))
		call->error = -EINTR;
	call->has_attr = call->error == 0 && !step->no_attr;
	if (call->has_attr)
		call->attr =
			(struct nfs_attr){.mode = (step->type ? step->type : S_IFREG) | 0640, .size = 1000 + f->left};
	if (step->marked)
		call->attr.atime = f->seen[0].args.sattr.atime;
	call->new_fh = file;
	call->new_fh.len = step->new_fh_length;
	memset(&call->dir, 0, sizeof(call->dir));
	call->dir.has_after = call->proc == NFS_CREATE;
	memset(&call->res, 0, sizeof(call->res));
	if (step->proc == NFS_FSINFO)
		call->res.fsinfo.rtmax = step->size;
	if (step->proc == NFS_GETACL)
		call->res.acl.access_count = step->size;
	call->done(call);
}

static const struct server_ops fake_ops = {.submit = fake_submit};

static void fake_server_init(struct fake_server *f, const struct step *steps, size_t count)
{
	*f = (struct fake_server){.server.ops = &fake_ops, .steps = steps, .left = count};
	made = done = 0;
	unwanted = false;
}

static bool on_given_up(struct nfs_call *call)
{
	return unwanted;
}

static void on_made(struct nfs_call *call)
{
	assert_int_equal(call->error, 0);
	assert_true(call->dir.has_after);
	assert_int_equal(done, 0);
	made++;
}

static void on_done(struct nfs_call *call)
{
	done++;
}

static struct nfs_call create_call(bool exclusive)
{
	return (struct nfs_call){.proc = NFS_CREATE,
		.fh = dir,
		.name = "name",
		.exclusive = exclusive,
		.args.sattr = {.set_mode = true, .mode = 0640},
		.given_up = on_given_up,
		.made = on_made,
		.done = on_done};
}

static struct nfs_call run(struct fake_server *f, struct nfs_call call, const struct step *steps, size_t count)
{
	fake_server_init(f, steps, count);
	nfs3_create(&f->server, &call);
	assert_int_equal(done, 1);
	assert_int_equal(f->left, 0);
	assert_memory_equal(&call.fh, &dir, sizeof(dir));
	return call;
}

/* Runs the call on a server that answers with these steps. */
static struct nfs_call create(struct fake_server *f, bool exclusive, const struct step *steps, size_t count)
{
	return run(f, create_call(exclusive), steps, count);
}

/* The same as an exclusive create on a server of this host. */
static struct nfs_call create_near(struct fake_server *f, const struct step *steps, size_t count)
{
	struct nfs_call call = create_call(true);

	call.same_clock = true;
	return run(f, call, steps, count);
}

static void an_exclusive_create_on_this_host_is_one_call(void **state)
{
	static const struct step steps[] = {{NFS_CREATE, .new_fh_length = 4}};
	struct timespec before, now;
	const struct nfs_sattr *s;
	struct fake_server f, g;
	struct nfs_call call;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &before);
	call = create_near(&f, steps, 1);
	(void)create_near(&g, steps, 1);
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	s = &f.seen[0].args.sattr;
	assert_int_equal(call.error, 0);
	assert_int_equal(made, 0);
	assert_false(f.seen[0].exclusive);
	assert_true(call.dir.has_after && call.has_attr);
	assert_memory_equal(&call.new_fh, &file, sizeof(file));
	assert_true(s->set_mode && s->set_atime && !s->atime_now && !s->set_mtime);
	assert_in_range(s->atime.tv_nsec, 0, 999999999);
	assert_true((now.tv_sec - s->atime.tv_sec) * 1000000000 + now.tv_nsec - s->atime.tv_nsec >= 0);
	assert_true((s->atime.tv_sec - before.tv_sec) * 1000000000 + s->atime.tv_nsec - before.tv_nsec > -1000000);
	assert_memory_not_equal(&s->atime, &g.seen[0].args.sattr.atime, sizeof(s->atime));
}

/* The server was restarted after it had made the file, or another client has made it. */
static void a_file_that_exists_is_ones_own_by_its_mark_alone(void **state)
{
	static const struct step own[] = {{NFS_CREATE, -EEXIST}, {NFS_LOOKUP, .new_fh_length = 4, .marked = true}};
	static const struct step other[] = {{NFS_CREATE, -EEXIST}, {NFS_LOOKUP, .new_fh_length = 4}};
	static const struct step gone[] = {{NFS_CREATE, -EEXIST}, {NFS_LOOKUP, -ENOENT, .marked = true}};
	static const struct step pipe[] = {{NFS_CREATE, -EEXIST},
		{NFS_LOOKUP, .new_fh_length = 4, .marked = true, .type = S_IFIFO}};
	struct fake_server f;
	struct nfs_call call = create_near(&f, own, 2);

	assert_int_equal(call.error, 0);
	assert_memory_equal(&call.new_fh, &file, sizeof(file));
	assert_true(call.has_attr);
	assert_false(call.dir.has_after); /* so what is known of the directory ends */
	assert_memory_equal(&f.seen[1].fh, &dir, sizeof(dir));
	assert_string_equal(f.seen[1].name, "name");
	assert_int_equal(create_near(&f, other, 2).error, -EEXIST);
	assert_int_equal(create_near(&f, gone, 2).error, -EEXIST);
	assert_int_equal(create_near(&f, pipe, 2).error, -EEXIST);
}

static void a_plain_create_is_one_guarded_call(void **state)
{
	static const struct step steps[] = {{NFS_CREATE, .new_fh_length = 4}};
	struct fake_server f;
	struct nfs_call call = create(&f, false, steps, 1);

	assert_int_equal(call.error, 0);
	assert_false(f.seen[0].exclusive);
	assert_int_equal(made, 0);
}

static void attributes_follow_an_exclusive_create(void **state)
{
	static const struct step steps[] = {{NFS_CREATE, .new_fh_length = 4}, {NFS_SETATTR}};
	static const struct nfs_verf none;
	struct fake_server f;
	struct nfs_call call = create(&f, true, steps, 2);

	assert_int_equal(call.error, 0);
	assert_int_equal(made, 1);
	assert_true(f.seen[0].exclusive);
	assert_memory_not_equal(&f.seen[0].create_verf, &none, sizeof(none));
	assert_memory_equal(&f.seen[1].fh, &file, sizeof(file));
	assert_true(f.seen[1].args.sattr.set_mode);
	assert_int_equal(f.seen[1].args.sattr.mode, 0640);
	assert_true(f.seen[1].args.sattr.set_atime && f.seen[1].args.sattr.atime_now);
	assert_true(f.seen[1].args.sattr.set_mtime && f.seen[1].args.sattr.mtime_now);
	/* The directory has the attributes of CREATE's answer, the file those of SETATTR's. */
	assert_true(call.dir.has_after);
	assert_memory_equal(&call.new_fh, &file, sizeof(file));
	assert_int_equal(call.attr.size, 1000);
}

static void attributes_that_setattr_leaves_out_are_not_those_of_create(void **state)
{
	static const struct step steps[] = {{NFS_CREATE, .new_fh_length = 4}, {NFS_SETATTR, .no_attr = true}};
	struct fake_server f;
	struct nfs_call call = create(&f, true, steps, 2);

	assert_int_equal(call.error, 0);
	assert_false(call.has_attr);
}

static void a_handle_that_create_leaves_out_is_looked_up(void **state)
{
	static const struct step steps[] = {{NFS_CREATE}, {NFS_LOOKUP, .new_fh_length = 4}, {NFS_SETATTR}};
	struct fake_server f;
	struct nfs_call call = create(&f, true, steps, 3);

	assert_int_equal(call.error, 0);
	assert_memory_equal(&f.seen[1].fh, &dir, sizeof(dir));
	assert_string_equal(f.seen[1].name, "name");
	assert_memory_equal(&call.new_fh, &file, sizeof(file));
}

static void a_server_without_exclusive_is_asked_for_guarded(void **state)
{
	static const struct step steps[] = {{NFS_CREATE, -EOPNOTSUPP}, {NFS_CREATE, .new_fh_length = 4}};
	static const struct step refused[] = {{NFS_CREATE, -EOPNOTSUPP}, {NFS_CREATE, -EOPNOTSUPP}};
	struct fake_server f;
	struct nfs_call call = create(&f, true, steps, 2);

	assert_int_equal(call.error, 0);
	assert_int_equal(made, 0);
	assert_false(f.seen[1].exclusive);
	call = create(&f, true, refused, 2);
	assert_int_equal(call.error, -EOPNOTSUPP);
}

static void an_error_of_any_step_is_that_of_the_create(void **state)
{
	static const struct step exists[] = {{NFS_CREATE, -EEXIST}}, gone[] = {{NFS_CREATE}, {NFS_LOOKUP, -ENOENT}},
				 full[] = {{NFS_CREATE, .new_fh_length = 4}, {NFS_SETATTR, -EDQUOT}};
	struct fake_server f;

	assert_int_equal(create(&f, true, exists, 1).error, -EEXIST);
	assert_int_equal(made, 0);
	assert_int_equal(create(&f, true, gone, 2).error, -ENOENT);
	assert_int_equal(create(&f, true, full, 2).error, -EDQUOT);
	assert_int_equal(made, 1);
}

static struct nfs_call append_call(void)
{
	return (struct nfs_call){.proc = NFS_WRITE,
		.fh = file,
		.args.io = {.offset = 5, .count = 4, .data = "data", .append = true},
		.given_up = on_given_up,
		.done = on_done};
}

static void an_append_writes_where_the_server_has_the_end(void **state)
{
	static const struct step steps[] = {{NFS_GETATTR}, {NFS_WRITE}};
	struct nfs_call call = append_call();
	struct fake_server f;

	fake_server_init(&f, steps, 2);
	nfs3_append(&f.server, &call);
	assert_int_equal(done, 1);
	assert_int_equal(call.error, 0);
	assert_memory_equal(&f.seen[0].fh, &file, sizeof(file));
	assert_int_equal(f.seen[1].args.io.offset, 1001);
	assert_false(f.seen[1].args.io.append);
	assert_int_equal(call.args.io.offset, 1001);
}

static void an_append_without_an_end_writes_nothing(void **state)
{
	static const struct step steps[] = {{NFS_GETATTR, -ESTALE}};
	struct nfs_call call = append_call();
	struct fake_server f;

	fake_server_init(&f, steps, 1);
	nfs3_append(&f.server, &call);
	assert_int_equal(done, 1);
	assert_int_equal(call.error, -ESTALE);
	assert_true(call.args.io.append);
}

static void every_step_asks_whether_it_is_wanted(void **state)
{
	static const struct step create_steps[] = {{NFS_CREATE}}, append_steps[] = {{NFS_GETATTR}};
	struct nfs_call call = create_call(true);
	struct fake_server f;

	fake_server_init(&f, create_steps, 1);
	f.ask = unwanted = true;
	nfs3_create(&f.server, &call);
	assert_int_equal(call.error, -EINTR);
	call = append_call();
	fake_server_init(&f, append_steps, 1);
	f.ask = unwanted = true;
	nfs3_append(&f.server, &call);
	assert_int_equal(call.error, -EINTR);
	assert_int_equal(done, 1);
}

/* Looks at the export with these steps. */
static struct server_export look(struct fake_server *f, bool no_acl, const struct step *steps, size_t count)
{
	static const struct nfs_cred own = {.uid = 1001, .gid = 1002};
	struct server_export export;

	fake_server_init(f, steps, count);
	assert_int_equal(nfs3_look_at_export(&f->server, &dir, &own, no_acl, &export), 0);
	assert_int_equal(f->left, 0);
	assert_int_equal(f->seen[0].cred.uid, own.uid);
	assert_int_equal(f->seen[0].cred.gid, own.gid);
	return export;
}

static void the_export_tells_its_limits_and_whether_it_has_acls(void **state)
{
	static const struct step steps[] = {{NFS_GETATTR, .type = S_IFDIR}, {NFS_FSINFO, .size = 4096},
		{NFS_GETACL, .size = 3}},
				 none[] = {{NFS_GETATTR, .type = S_IFDIR}, {NFS_FSINFO, -EIO}, {NFS_GETACL, .size = 0}},
				 refused[] = {{NFS_GETATTR, .type = S_IFDIR}, {NFS_FSINFO}, {NFS_GETACL, -EOPNOTSUPP}};
	struct fake_server f;
	struct server_export export = look(&f, false, steps, 3);

	assert_true(S_ISDIR(export.root.mode));
	assert_int_equal(export.read_max, 4096);
	assert_int_equal(export.write_max, 0);
	assert_true(f.server.abilities.acl);
	assert_int_equal(look(&f, false, none, 3).read_max, 0);
	assert_false(f.server.abilities.acl);
	(void)look(&f, false, refused, 3);
	assert_false(f.server.abilities.acl);
	(void)look(&f, true, steps, 2); /* noacl */
	assert_false(f.server.abilities.acl);
}

static void an_export_that_is_no_directory_is_asked_for_nothing_else(void **state)
{
	static const struct step steps[] = {{NFS_GETATTR}};
	struct fake_server f;

	assert_true(S_ISREG(look(&f, false, steps, 1).root.mode));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_create_is_one_guarded_call),
		cmocka_unit_test(an_exclusive_create_on_this_host_is_one_call),
		cmocka_unit_test(a_file_that_exists_is_ones_own_by_its_mark_alone),
		cmocka_unit_test(attributes_follow_an_exclusive_create),
		cmocka_unit_test(attributes_that_setattr_leaves_out_are_not_those_of_create),
		cmocka_unit_test(a_handle_that_create_leaves_out_is_looked_up),
		cmocka_unit_test(a_server_without_exclusive_is_asked_for_guarded),
		cmocka_unit_test(an_error_of_any_step_is_that_of_the_create),
		cmocka_unit_test(an_append_writes_where_the_server_has_the_end),
		cmocka_unit_test(an_append_without_an_end_writes_nothing),
		cmocka_unit_test(every_step_asks_whether_it_is_wanted),
		cmocka_unit_test(the_export_tells_its_limits_and_whether_it_has_acls),
		cmocka_unit_test(an_export_that_is_no_directory_is_asked_for_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
