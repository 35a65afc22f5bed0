/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What tests of the server's memory begin with: an empty memory, and a server that keeps calls until the test answers
 * them. All is one thread.
 */
#pragma once

#include "cmocka_setup.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fuse/local/server_refresh.h"
#include "fuse/memory/memory.h"

#define CALLS_MAX 64

static struct fs fs;
static struct memory m;
static struct nfs_call *calls[CALLS_MAX]; /* that the server has not answered, the oldest first */
static unsigned called, done, woken;
static int last_error;
static bool connected, remembers, unwanted;
static const struct nfs_fh dir = {.len = 3, .data = "dir"}, dir2 = {.len = 4, .data = "dir2"},
			   file = {.len = 4, .data = "file"};

bool probe_server_remembers(const struct probe *p)
{
	return remembers;
}

void probe_wake(struct probe *p)
{
	woken++;
}

static void submit(struct server *s, struct nfs_call *call)
{
	assert_in_range(called, 0, CALLS_MAX - 1);
	calls[called++] = call;
}

static void stats(struct server *s, struct server_stats *ret)
{
	*ret = (struct server_stats){.connected = connected};
}

static const struct server_ops ops = {.submit = submit, .create = submit, .append = submit, .stats = stats};
static struct server server = {.ops = &ops};

static int setup(void **state)
{
	memset(&fs, 0, sizeof(fs));
	fs.probe = (struct probe *)&fs; /* there is one; its functions are above */
	called = done = woken = 0;
	connected = remembers = true;
	unwanted = false;
	server.abilities.looks = false;
	memory_init(&m, &fs, &server);
	return inode_table_new(&fs.inodes);
}

static int teardown(void **state)
{
	memory_done(&m);
	fs.inodes = inode_table_free(fs.inodes);
	return called == 0 ? 0 : -1;
}

/* Answers the oldest call. */
static void answer(int error)
{
	struct nfs_call *call = calls[0];

	assert_true(called > 0);
	memmove(calls, calls + 1, --called * sizeof(*calls));
	call->error = error;
	call->done(call);
}

static inline void answer_all(int error)
{
	while (called > 0)
		answer(error);
}

static void assert_called(unsigned n, enum nfs_proc proc, const struct nfs_fh *fh)
{
	assert_in_range(n, 0, called - 1);
	assert_int_equal(calls[n]->proc, proc);
	assert_true(nfs_fh_equal(&calls[n]->fh, fh));
}

static void on_done(struct nfs_call *call)
{
	done++;
	last_error = call->error;
}

static bool is_unwanted(struct nfs_call *call)
{
	return unwanted;
}

static inline struct nfs_call of(enum nfs_proc proc, const struct nfs_fh *fh)
{
	return (struct nfs_call){.proc = proc, .fh = *fh, .given_up = is_unwanted, .done = on_done};
}
