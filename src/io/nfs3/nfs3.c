/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/nfs3/nfs3.h"

#include <string.h>
#include <sys/random.h>

#include "io/libnfs/libnfs_guard.h"
#include "io/nfs3/nfs3_find.h"
#include "io/nfs3/nfs3_loop.h"
#include "io/nfs3/nfs3_sequences.h"

#define TICK_MAX_MS      1000 /* between two looks at the calls that wait */
#define TICK_MIN_MS      50
#define TIMEO_DEFAULT_MS 60000

static struct nfs3 *nfs3_of(struct server *s)
{
	return CONTAINER_OF(s, struct nfs3, server);
}

static void nfs3_stats(struct server *s, struct server_stats *ret)
{
	struct nfs3 *c = nfs3_of(s);

	{
		LOCKED(&c->lock);
		*ret = c->stats;
	}
	for (int n = 0; n < NFS_PROC_COUNT; n++) {
		ret->calls[n] = c->calls[n];
		ret->round_trip_ns[n] = c->round_trip_ns[n];
	}
	for (unsigned n = 0; n < ret->nconnections; n++) {
		ret->connections[n].answered = c->connections[n].answered;
		ret->repeated += c->connections[n].repeated;
	}
}

static void nfs3_stop(struct server *s)
{
	nfs3_loop_stop(nfs3_of(s));
}

static void nfs3_near(struct server *s)
{
	nfs3_of(s)->near = true;
}

static int look_at_export(struct server *s, const struct nfs_fh *root, struct server_export *ret)
{
	return nfs3_look_at_export(s, root, &nfs3_of(s)->options.own, nfs3_of(s)->options.no_acl, ret);
}

static void destroy(struct nfs3 *c)
{
	addresses_done(&c->addresses);
	wake_close(&c->wake);
	(void)pthread_mutex_destroy(&c->turn);
	(void)pthread_mutex_destroy(&c->lock);
	free(c->name);
	free(c);
}

static void nfs3_free(struct server *s)
{
	nfs3_stop(s);
	destroy(nfs3_of(s));
}

static const struct server_ops nfs3_ops = {.look_at_export = look_at_export,
	.submit = nfs3_loop_submit,
	.submit_all = nfs3_loop_submit_all,
	.create = nfs3_create,
	.append = nfs3_append,
	.stats = nfs3_stats,
	.near = nfs3_near,
	.stop = nfs3_stop,
	.free = nfs3_free};

static void take_options(struct nfs3 *c, const struct server_options *options)
{
	c->options = *options;
	c->options.host = c->options.export_path = c->options.name = c->options.mount_daemon.host = NULL;
	c->options.nconnect = MIN(MAX(options->nconnect, 1U), (unsigned)SERVER_CONNECTIONS_MAX);
	if (c->options.timeo_ms == 0)
		c->options.timeo_ms = TIMEO_DEFAULT_MS;
	c->tick_ms = MIN(MAX(c->options.timeo_ms / 2, (unsigned)TICK_MIN_MS), (unsigned)TICK_MAX_MS);
	c->major_ms = MIN((uint64_t)c->options.timeo_ms * (options->retrans + 1ULL), (uint64_t)NFS3_TIMEOUT_MAX_MS);
	c->stats.nconnections = c->options.nconnect;
	FOREACH_CONNECTION(on, c)
	{
		connection_init(on, options->reserved_port, &c->sink);
	}
}

static struct nfs3 *nfs3_new(const struct server_options *options)
{
	struct nfs3 *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->server.ops = &nfs3_ops;
	c->server.abilities.looks = true;
	c->wake = WAKE_CLOSED;
	list_init(&c->submitted);
	list_init(&c->waiting);
	list_init(&c->delayed);
	(void)pthread_mutex_init(&c->lock, NULL);
	(void)pthread_mutex_init(&c->turn, NULL);
	(void)!getrandom(&c->xid, sizeof(c->xid), 0);
	take_options(c, options);
	return c;
}

static int nfs3_start(const struct server_options *options, const struct server_place *place, struct server **ret)
{
	struct nfs3 *c;
	int r = libnfs_guard();

	if (r < 0)
		return r;
	c = nfs3_new(options);
	if (!c)
		return -ENOMEM;
	r = addresses_init(&c->addresses, options->host, place->address, place->port, options->family);
	c->name = strdup(options->host ? options->host : place->address);
	if (r == 0 && !c->name)
		r = -ENOMEM;
	if (r == 0)
		r = wake_open(&c->wake);
	if (r == 0)
		r = nfs3_loop_start(c);
	if (r < 0) {
		destroy(c);
		return r;
	}
	*ret = &c->server;
	return 0;
}

const struct server_version nfs3_version = {.find = nfs3_find,
	.start = nfs3_start,
	.leave = nfs3_leave,
	.why_away = nfs3_loop_why_away};
