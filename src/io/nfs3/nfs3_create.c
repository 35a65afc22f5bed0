/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/nfs3/nfs3_sequences.h"

#include <sys/random.h>

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
	*c = (struct creation){.step = *call, .call = call, .server = server};
	c->step.given_up = on_given_up;
	if (getrandom(&c->step.create_verf, sizeof(c->step.create_verf), 0) < 0)
		c->step.exclusive = false; /* a verifier that another client may have, too, is worse than none */
	send_step(c, NFS_CREATE, on_created);
}
