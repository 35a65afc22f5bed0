/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/nfs3/nfs3_sequences.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define MARK_NS 1000000 /* the mark is a time within the last millisecond */

struct creation {
	struct nfs_call step; /* the procedure under way */
	struct nfs_call *call;
	struct server *server;
};

static struct creation *creation_of(struct nfs_call *step)
{
	return CONTAINER_OF(step, struct creation, step);
}

static void end(struct creation *c, int error)
{
	struct nfs_call *call = c->call;

	free(c);
	call->error = error;
	call->done(call);
}

static bool on_given_up(struct nfs_call *step)
{
	struct nfs_call *call = creation_of(step)->call;

	return call->given_up && call->given_up(call);
}

static void send_step(struct creation *c, enum nfs_proc proc, void (*done)(struct nfs_call *step))
{
	c->step.proc = proc;
	c->step.done = done;
	server_submit(c->server, &c->step);
}

static void on_set(struct nfs_call *step)
{
	struct creation *c = creation_of(step);

	c->call->has_attr = step->has_attr;
	c->call->attr = step->attr;
	end(c, step->error);
}

/* EXCLUSIVE has set no attributes. The times are set, too: they may be the verifier. */
static void set_attributes(struct creation *c)
{
	struct nfs_sattr *s = &c->step.args.sattr;

	s->set_atime = s->set_mtime = s->atime_now = s->mtime_now = true;
	c->step.fh = c->call->new_fh;
	send_step(c, NFS_SETATTR, on_set);
}

static void on_looked_up(struct nfs_call *step)
{
	struct creation *c = creation_of(step);

	if (step->error < 0) {
		end(c, step->error);
		return;
	}
	c->call->new_fh = step->new_fh;
	set_attributes(c);
}

static void on_created(struct nfs_call *step)
{
	struct creation *c = creation_of(step);
	struct nfs_call *call = c->call;

	if (step->error == -EOPNOTSUPP && step->exclusive) {
		step->exclusive = false;
		send_step(c, NFS_CREATE, on_created);
		return;
	}
	call->error = step->error;
	call->has_attr = step->has_attr;
	call->attr = step->attr;
	call->dir = step->dir;
	call->new_fh = step->new_fh;
	if (step->error < 0 || !step->exclusive) {
		end(c, step->error);
		return;
	}
	if (call->made)
		call->made(call);
	if (call->new_fh.len > 0)
		set_attributes(c);
	else
		send_step(c, NFS_LOOKUP, on_looked_up);
}

static void copy_result(struct nfs_call *call, const struct nfs_call *step)
{
	call->has_attr = step->has_attr;
	call->attr = step->attr;
	call->new_fh = step->new_fh;
}

/* The name exists. The file is this call's if it has the mark. */
static void on_judged(struct nfs_call *step)
{
	struct creation *c = creation_of(step);
	const struct timespec *mark = &c->call->args.sattr.atime, *atime = &step->attr.atime;
	bool own = step->error == 0 && step->has_attr && S_ISREG(step->attr.mode) && atime->tv_sec == mark->tv_sec &&
		   atime->tv_nsec == mark->tv_nsec;

	if (own)
		copy_result(c->call, step);
	end(c, own ? 0 : -EEXIST);
}

static void on_marked(struct nfs_call *step)
{
	struct creation *c = creation_of(step);

	if (step->error == -EEXIST) {
		c->call->dir = (struct nfs_wcc){0}; /* the directory right before the file was made is not known */
		send_step(c, NFS_LOOKUP, on_judged);
		return;
	}
	c->call->dir = step->dir;
	copy_result(c->call, step);
	end(c, step->error);
}

/*
 * Sets the time of access to a time that no other call sets. By the clock of files, so that it is not later than the
 * other times of the file: relatime (fs/inode.c relatime_need_update) then works as for any new file.
 */
static bool set_mark(struct nfs_sattr *s)
{
	uint32_t before;

	if (getrandom(&before, sizeof(before), 0) < 0)
		return false;
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &s->atime);
	s->atime.tv_nsec -= before % MARK_NS;
	if (s->atime.tv_nsec < 0) {
		s->atime.tv_nsec += 1000000000;
		s->atime.tv_sec--;
	}
	s->set_atime = true;
	s->atime_now = false;
	return true;
}

void nfs3_create(struct server *server, struct nfs_call *call)
{
	struct creation *c;

	if (!call->exclusive) {
		server_submit(server, call);
		return;
	}
	c = malloc(sizeof(*c));
	if (!c) {
		call->error = -ENOMEM;
		call->done(call);
		return;
	}
	call->same_clock = call->same_clock && set_mark(&call->args.sattr);
	*c = (struct creation){.step = *call, .call = call, .server = server};
	c->step.given_up = on_given_up;
	if (call->same_clock) {
		c->step.exclusive = false;
		send_step(c, NFS_CREATE, on_marked);
		return;
	}
	if (getrandom(&c->step.create_verf, sizeof(c->step.create_verf), 0) < 0)
		c->step.exclusive = false; /* a verifier that another client may have, too, is worse than none */
	send_step(c, NFS_CREATE, on_created);
}
