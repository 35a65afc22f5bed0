/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <semaphore.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/text.h"
#include "base/whole_io.h"
#include "ctl/facts/doctor_facts.h"
#include "io/nfs3/nfs3.h"
#include "net/addresses.h"

#define PROBE_SECONDS 15 /* more than one attempt takes, with all its time limits */

struct visit;

struct open_question {
	struct broker_call call;
	struct visit *visit;
};

/* The server and the probe, as long as they run. */
struct visit {
	struct doctor_facts *facts;
	struct server_options options;
	struct server_place place;
	struct server *server;
	struct probe *probe;
	sem_t connected, probed, replied;
	struct nfs_cred cred;
	struct open_question question; /* the reply may come when nobody waits any more, until the probe is freed */
};

static bool wait_for(sem_t *s, int seconds)
{
	struct timespec until;
	int r;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	do
		r = sem_timedwait(s, &until);
	while (r < 0 && errno == EINTR);
	return r == 0;
}

static struct nfs_cred own_cred(void)
{
	struct nfs_cred cred = {.uid = geteuid(), .gid = getegid()};
	gid_t groups[256];
	int count = getgroups(ARRAY_SIZE(groups), groups);

	for (int n = 0; n < count && cred.ngroups < NFS_GROUPS_MAX; n++)
		cred.groups[cred.ngroups++] = groups[n];
	return cred;
}

/* ---- the server ---- */

static void on_connection(void *arg, bool up)
{
	if (up)
		(void)sem_post(&((struct visit *)arg)->connected);
}

static int family(unsigned protocol)
{
	return protocol == PROTOCOL_TCP ? AF_INET : protocol == PROTOCOL_TCP6 ? AF_INET6 : AF_UNSPEC;
}

static void set_options(struct visit *v)
{
	const struct mount_options *m = &v->facts->options;
	bool same = m->mountproto == PROTOCOL_ANY && !m->mounthost[0];

	v->options = (struct server_options){.host = v->facts->spec.host,
		.export_path = v->facts->spec.path,
		.name = v->facts->target,
		.port = m->port,
		.family = family(m->proto),
		.mount_daemon = {.host = m->mounthost[0] ? m->mounthost : NULL,
			.port = m->mountport,
			.family = family(same ? m->proto : m->mountproto)},
		.reserved_port = !m->noresvport,
		.soft = -ETIMEDOUT,
		.timeo_ms = DOCTOR_QUESTION_SECONDS * 1000,
		.own = v->cred,
		.events = {.connection_changed = on_connection, .arg = v}};
}

static int ask(struct visit *v, struct nfs_call *call)
{
	call->patience_ms = DOCTOR_QUESTION_SECONDS * 1000;
	return server_call(v->server, call);
}

/* Fills the facts about the server; true if it answers. */
static bool reach(struct visit *v)
{
	struct server_facts *s = &v->facts->server;
	struct nfs_call call = {.proc = NFS_ACCESS, .args.access.bits = 0x3f};
	struct server_export export;
	struct server_stats stats;

	s->find_error = nfs3_version.find(&v->options, DOCTOR_QUESTION_SECONDS * 1000, &v->place, s->sentence,
		sizeof(s->sentence));
	if (s->find_error < 0)
		return false;
	(void)snprintf(s->address, sizeof(s->address), "%s", v->place.address);
	s->port = v->place.port;
	s->connect_error = nfs3_version.start(&v->options, &v->place, &v->server);
	if (s->connect_error == 0 && !wait_for(&v->connected, DOCTOR_QUESTION_SECONDS)) {
		server_stats(v->server, &stats);
		s->connect_error = stats.last_error < 0 ? stats.last_error : -ETIMEDOUT;
	}
	if (s->connect_error < 0) {
		(void)snprintf(s->sentence, sizeof(s->sentence), "%s, port %u: %s", s->address, s->port,
			nfs3_version.why_away(s->connect_error));
		return false;
	}
	s->root_error = server_look_at_export(v->server, &v->place.root, &export);
	if (s->root_error < 0) {
		(void)snprintf(s->sentence, sizeof(s->sentence),
			"the server does not say what the export's root is: %s", strerror(-s->root_error));
		return false;
	}
	s->root = export.root;
	call.fh = v->place.root;
	if (ask(v, &call) == 0)
		s->root_access = call.res.access;
	return true;
}

/* ---- the probe ---- */

static int root_attr(void *arg, struct broker_attr *ret)
{
	struct visit *v = arg;
	struct nfs_call look = {.proc = NFS_COMMIT, .cred = v->cred, .fh = v->place.root};
	struct nfs_call call = {.proc = NFS_GETATTR, .cred = v->cred, .fh = v->place.root};
	int r;

	/* A server that answers from memory looks at the root again. */
	(void)ask(v, &look);
	r = ask(v, &call);
	if (r < 0)
		return r;
	*ret = (struct broker_attr){.fileid = call.attr.fileid,
		.mode = call.attr.mode,
		.size = call.attr.size,
		.ctime_sec = call.attr.ctime.tv_sec,
		.ctime_nsec = (uint32_t)call.attr.ctime.tv_nsec};
	return 0;
}

static int server_address(void *arg, struct sockaddr_storage *ret)
{
	struct server_stats stats;

	server_stats(((struct visit *)arg)->server, &stats);
	if (!stats.connected || stats.peer.ss_family == AF_UNSPEC)
		return -ENOTCONN;
	*ret = stats.peer;
	return 0;
}

static void on_session(void *arg, uint64_t generation, bool up)
{
}

static void on_status(void *arg)
{
	(void)sem_post(&((struct visit *)arg)->probed);
}

static int no_work(void *arg)
{
	return -1;
}

static struct broker_fh to_broker(const struct nfs_fh *fh)
{
	struct broker_fh ret = {.length = fh->len};

	memcpy(ret.data, fh->data, fh->len);
	return ret;
}

/* One attempt of the daemon's own probe, without a mount. */
static void look_for_sidecar(struct visit *v)
{
	const struct mount_options *o = &v->facts->options;
	struct server_facts *s = &v->facts->server;
	struct probe_options options = {.registry = o->registry,
		.port = o->probeport,
		.reprobe_s = o->reprobe,
		.reserved_port = !o->noresvport,
		.asker = v->facts->target,
		.root_attr = root_attr,
		.server_address = server_address,
		.session = on_session,
		.housekeep = no_work,
		.status_changed = on_status,
		.arg = v};
	struct broker_fh root = to_broker(&v->place.root);

	if (probe_new(&options, &v->probe) < 0 || probe_start(v->probe, -1, &root) < 0)
		return;
	(void)wait_for(&v->probed, PROBE_SECONDS);
	probe_status(v->probe, &s->probe);
	s->trusted = probe_is_trusted(v->probe);
	s->remembers = probe_server_remembers(v->probe);
}

/* ---- the file ---- */

static void on_opened(struct broker_call *call, int error, const void *body)
{
	struct visit *v = CONTAINER_OF(call, struct open_question, call)->visit;
	struct file_facts *file = &v->facts->file;
	struct statfs fs;

	file->open_error = error;
	if (error == 0)
		memcpy(&file->open, body, sizeof(file->open));
	if (error == 0 && call->fd && *call->fd >= 0 && fstatfs(*call->fd, &fs) == 0)
		file->type = (unsigned long)fs.f_type;
	(void)sem_post(&v->replied);
}

/* The handle of the file, by LOOKUP of each name. */
static int look_up(struct visit *v, struct nfs_fh *ret)
{
	_cleanup_free_ char *path = strdup(v->facts->file.path);
	char *save = NULL;

	*ret = v->place.root;
	for (char *name = path ? strtok_r(path, "/", &save) : NULL; name; name = strtok_r(NULL, "/", &save)) {
		struct nfs_call call = {.proc = NFS_LOOKUP, .cred = v->cred, .fh = *ret, .name = name};
		int r = ask(v, &call);

		if (r < 0)
			return r;
		*ret = call.new_fh;
	}
	return path ? 0 : -ENOMEM;
}

static void look_at_file(struct visit *v)
{
	struct file_facts *file = &v->facts->file;
	struct broker_open body = {.cred = {.uid = v->cred.uid, .gid = v->cred.gid, .ngroups = v->cred.ngroups},
		.flags = BROKER_OPEN_WANT_FD};
	struct nfs_call call = {.proc = NFS_GETATTR, .cred = v->cred};

	file->lookup_error = look_up(v, &call.fh);
	if (file->lookup_error == 0)
		file->lookup_error = ask(v, &call);
	if (file->lookup_error < 0 || v->facts->server.probe.state != PROBE_STATE_LOCAL)
		return;
	file->mode = call.attr.mode;
	body.fh = to_broker(&call.fh);
	memcpy(body.cred.groups, v->cred.groups, sizeof(body.cred.groups));
	v->question = (struct open_question){.call.done = on_opened, .visit = v};
	file->open_error = -ETIMEDOUT;
	probe_send(v->probe, &v->question.call, BROKER_OPEN, &body, sizeof(body));
	(void)wait_for(&v->replied, DOCTOR_QUESTION_SECONDS);
}

/* ---- the backing filesystem ---- */

struct backing {
	int error;
	unsigned long type;
};

/* The export's directory, if this process sees the same directory under the export's path. */
static void look_at_backing(int to, const void *arg)
{
	const struct doctor_facts *f = arg;
	struct backing b = {.error = -ENOENT};
	struct statfs fs;
	struct stat st;

	if (stat(f->server.probe.export_path, &st) == 0 && st.st_ino == f->server.root.fileid &&
		statfs(f->server.probe.export_path, &fs) == 0)
		b = (struct backing){.type = (unsigned long)fs.f_type};
	(void)write_all(to, &b, sizeof(b));
}

/* True if the sidecar would answer a probe: otherwise its silence is known already. */
static bool may_probe(const struct doctor_facts *f)
{
	const struct sidecar_facts *s = &f->sidecar;

	return f->options.local != LOCAL_OFF && s->connect_error == 0 && s->answer_error == 0 && s->slot_error == 0 &&
	       s->announced.probeport != 0;
}

void facts_of_server(struct doctor_facts *f)
{
	struct visit v = {.facts = f, .cred = own_cred()};
	struct backing b = {.error = -ENOENT};

	(void)sem_init(&v.connected, 0, 0);
	(void)sem_init(&v.probed, 0, 0);
	(void)sem_init(&v.replied, 0, 0);
	set_options(&v);
	if (reach(&v) && may_probe(f)) {
		look_for_sidecar(&v);
		if (f->server.probe.state == PROBE_STATE_LOCAL)
			(void)in_child(look_at_backing, f, &b, sizeof(b));
		f->server.backing_error = b.error;
		f->server.backing_type = b.type;
		if (f->subject == DOCTOR_FILE)
			look_at_file(&v);
	}
	if (v.place.root.len > 0 && f->subject == DOCTOR_SERVER) /* not of a mount that is there */
		nfs3_version.leave(&v.options, &v.place, 1000);
	v.probe = probe_free(v.probe);
	v.server = server_free(v.server);
	(void)sem_destroy(&v.connected);
	(void)sem_destroy(&v.probed);
	(void)sem_destroy(&v.replied);
}
