/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A server: the NFS server of one mount, as the layers above the NFS versions use it. They hand over calls, and the
 * server calls back. A version of NFS is a folder src/io/nfsN that implements struct server_version and struct
 * server_ops; nfs3/ is NFSv3 on libnfs. The layer above has the list of the versions.
 *
 * A call (struct nfs_call) is one request and its answer. The caller owns it and everything it points to, and keeps
 * both until done() runs: exactly once, on the loop thread of the server. done() must not block. Results that are
 * pointers (data, target, entries, ACLs) are valid until done() returns. An answer that comes after that is dropped.
 *
 * Errors: call->error is 0 or a negative errno. A call waits for a server that is away, unless the mount is soft
 * (-EIO, or -ETIMEDOUT with softerr), patience_ms is over (-ETIMEDOUT) or given_up() returns true (-EINTR). The server
 * may have done the request all the same. -ENOTCONN: the server is being stopped.
 *
 * Room for NFSv4, which has more than single requests: open and close, which replace create, and locks belong into
 * struct server_ops; recalled delegations, lost state and granted locks into struct server_events; whether a server
 * has open state (and so needs no .nfs names), ALLOCATE, SEEK and COPY into struct server_abilities.
 */
#pragma once

#include <sys/socket.h>

#include "base/list.h"
#include "io/nfs_types.h"

/*
 * The server's own part of a call, from submit to done. A call that is sent again has the same bytes with the same
 * xid: so the server's reply cache recognises it.
 */
struct nfs_wire {
	struct connection *connection; /* NULL before the first sending; a call stays with its connection */
	struct list tickets;           /* struct nfs3_ticket.node: one per sending on this connection */
	uint32_t xid;
	uint64_t sent_ns;    /* now_ns() at the last sending */
	uint64_t since;      /* ms: when it was submitted, or was told to come back later */
	uint64_t due;        /* ms: when it is sent again for want of an answer, or after a delay */
	unsigned timeout_ms; /* from one such time to the next */
	bool overdue;        /* the log has a message that it takes too long */
};

struct opening;

struct nfs_call {
	struct list node;     /* the server's, from submit to done */
	struct nfs_wire wire; /* the server's */
	unsigned patience_ms; /* 0: as the mount says, without end when it is hard */
	unsigned delay_ms;    /* from submit to the first sending, at least */
	/*
	 * True if nobody wants the answer any more. Asked on the loop thread about once a second, from the first
	 * second of waiting on. NULL: the answer is wanted.
	 */
	bool (*given_up)(struct nfs_call *call);
	/*
	 * True while cred has no groups because nobody has read the caller's: the sidecar may not need them (LOOKUP and
	 * changes). tell_groups() puts them into cred before the call goes to the NFS server.
	 */
	bool groups_untold;
	void (*tell_groups)(struct nfs_call *call);
	bool may_be_gone; /* -ESTALE is an answer like others: server_events.stale is not called */
	enum nfs_proc proc;
	struct nfs_cred cred;
	struct nfs_fh fh;  /* the object, or the directory of name */
	struct nfs_fh fh2; /* RENAME: directory of name2; LINK: directory of name */
	const char *name;
	const char *name2; /* RENAME: new name; SYMLINK: target */
	union {
		struct nfs_sattr sattr; /* SETATTR, CREATE, MKDIR, SYMLINK, MKNOD */
		struct {
			uint32_t bits;
		} access;
		struct {
			uint64_t offset;
			uint32_t count;         /* bytes */
			enum nfs_stable stable; /* WRITE */
			const void *data;       /* WRITE */
			/*
			 * server_append(): true until the server has told the end of the file, which offset is then.
			 * No data was sent before.
			 */
			bool append;
		} io; /* READ, WRITE, COMMIT */
		struct {
			uint64_t cookie;
			struct nfs_verf verf;
			uint32_t count; /* bytes of reply wanted */
		} dir;
		struct nfs_acls acl; /* SETACL; GETACL: the mask alone */
		struct {
			struct nfs_look *looks; /* COMPOUND: the answers, too */
			unsigned count;         /* up to NFS_LOOKS_MAX */
		} looks;
	} args;
	/* CREATE: -EEXIST when the name exists, unless an earlier sending of this call has made the file. */
	bool exclusive;
	struct opening *opening;         /* CREATE, ACCESS: the opener's (fuse/shortcut/shortcut.h), or NULL */
	bool asks_acl;                   /* LOOKUP, and GETATTR of a directory: no_acl is wanted */
	bool same_clock;                 /* CREATE: the server has this host's clock, because it is on this host */
	struct nfs_verf create_verf;     /* the server's: names an exclusive CREATE */
	uint32_t rdev_major, rdev_minor; /* MKNOD */

	int error;
	bool by_sidecar; /* the sidecar has answered in the server's place (fuse/shortcut) */
	bool by_setter;  /* and that was this daemon, in the sidecar's place (fuse/setter) */
	bool watched;    /* the sidecar sends notices of changes of fh; MKDIR: of new_fh */
	bool no_acl;     /* the sidecar says that fh, of LOOKUP or GETATTR, or new_fh, of MKDIR, has no ACL */
	uint64_t born;   /* MKDIR that this daemon has made: fs.born from before; or 0 */
	bool empty;      /* MKDIR: and that new_fh had no name when it was watched already */
	bool has_attr;
	struct nfs_attr attr; /* of the object; LOOKUP, CREATE...: of the new object */
	/* Of the directories fh and fh2, also with an error. LOOKUP and READDIR: without the state before. */
	struct nfs_wcc dir, dir2;
	struct nfs_fh new_fh; /* LOOKUP, CREATE, MKDIR, SYMLINK, MKNOD; len 0: not sent */
	union {
		uint32_t access;
		struct {
			const void *data; /* READ */
			uint32_t count;
			bool eof;
			enum nfs_stable committed; /* WRITE */
			struct nfs_verf verf;      /* WRITE, COMMIT */
		} io;
		const char *target; /* READLINK, NUL-terminated */
		struct {
			const struct nfs_entry *entries;
			size_t count;
			bool eof;
			struct nfs_verf verf;
		} dir;
		struct {
			uint64_t tbytes, fbytes, abytes, tfiles, ffiles, afiles;
		} fsstat;
		struct {
			uint32_t rtmax, rtpref, wtmax, wtpref, dtpref;
			uint64_t maxfilesize;
		} fsinfo;
		struct {
			uint32_t linkmax, name_max;
		} pathconf;
		struct nfs_acls acl; /* GETACL: with the mask that was asked for, at least */
	} res;

	/*
	 * server_create(), on the loop thread: the file is made, dir and new_fh are known, but not all attributes are
	 * set; done() follows. May be NULL, and is not called where one procedure does both.
	 */
	void (*made)(struct nfs_call *call);
	void (*done)(struct nfs_call *call);
};

#define SERVER_CONNECTIONS_MAX 16

struct connection_stats {
	bool connected;
	unsigned port;     /* the client's; 0 before the first connection */
	uint64_t answered; /* calls */
};

struct server_stats {
	bool connected;                         /* true if at least one connection is up */
	uint64_t calls[NFS_PROC_COUNT];         /* answered, by procedure */
	uint64_t round_trip_ns[NFS_PROC_COUNT]; /* of all answers, each from the call's last sending */
	uint64_t repeated;                      /* calls that were sent again for want of an answer */
	uint64_t reconnects;
	struct sockaddr_storage peer; /* family 0 before the first connection */
	int last_error;               /* why the server could not be reached the last time; 0: it always could */
	unsigned nconnections;
	struct connection_stats connections[SERVER_CONNECTIONS_MAX];
};

/* Called on the loop thread of the server; they must not block. */
struct server_events {
	/* The first connection is up, or the last connection is lost. NULL: nobody asks. */
	void (*connection_changed)(void *arg, bool connected);
	/* The server does not know this handle, or not any more. NULL: nobody asks. */
	void (*stale)(void *arg, const struct nfs_fh *fh);
	void *arg;
};

/* Which export of which server, and how to talk with it. The strings are the caller's, who keeps them. */
struct server_options {
	const char *host;        /* the server's name, resolved again when no address answers; NULL: the address only */
	const char *export_path; /* as the server knows it */
	const char *name;        /* of both, short enough for a sentence */
	unsigned port;           /* 0: the version finds it */
	int family;              /* of the server's addresses; AF_UNSPEC: any */
	bool patient;            /* a name server that is away may come back: -EAGAIN, not -EINVAL */
	struct {
		const char *host; /* NULL: the NFS server */
		unsigned port;    /* 0: the port mapper tells it */
		int family;
	} mount_daemon;     /* NFSv3 */
	unsigned nconnect;  /* connections; 0: one */
	bool reserved_port; /* come from ports below 1024 where that is allowed */
	int soft;           /* 0: hard; otherwise the negative errno of a call that took too long */
	unsigned timeo_ms;  /* 0: 60 s */
	unsigned retrans;
	bool no_acl;         /* do not ask for ACLs */
	struct nfs_cred own; /* of server_look_at_export() */
	struct server_events events;
};

/* Where the export is. Plain value. */
struct server_place {
	struct nfs_fh root;
	char address[64]; /* numeric */
	unsigned port;
	char mount_address[64]; /* NFSv3: numeric, of the mount daemon that answered */
};

/* The server's answer to server_look_at_export(). Plain value; sizes in bytes, 0: not told. */
struct server_export {
	struct nfs_attr root;
	uint32_t read_max, write_max; /* of one request */
	uint64_t file_max;            /* size of a file */
};

/* The features that not every server has; constant after server_look_at_export(). */
struct server_abilities {
	bool acl;   /* POSIX ACLs: GETACL and SETACL */
	bool looks; /* COMPOUND may be tried; a server may refuse it */
};

struct server;

/* The functions of a server; the inline functions below document them. */
struct server_ops {
	int (*look_at_export)(struct server *s, const struct nfs_fh *root, struct server_export *ret);
	void (*submit)(struct server *s, struct nfs_call *call);
	void (*submit_all)(struct server *s, struct list *calls); /* NULL: each by submit() */
	void (*create)(struct server *s, struct nfs_call *call);
	void (*append)(struct server *s, struct nfs_call *call);
	void (*stats)(struct server *s, struct server_stats *ret);
	void (*near)(struct server *s);
	void (*stop)(struct server *s);
	void (*free)(struct server *s);
};

struct server {
	const struct server_ops *ops;
	struct server_abilities abilities;
};

/* A version of NFS: how to find an export and to start a server for it. Constant. */
struct server_version {
	/*
	 * Finds the export and its root handle. Blocks, for start-up only; the timeout is per question. On failure
	 * the sentence says why. -EINVAL: the server's name cannot be resolved, -EAGAIN: now. -EACCES, -ENOENT,
	 * -ENOTDIR, -ENAMETOOLONG and -EPROTO are the server's last word; other errors may pass.
	 */
	int (*find)(const struct server_options *o, unsigned timeout_ms, struct server_place *ret, char *sentence,
		size_t size);
	/* Starts the loop thread, which connects. Returns at once: calls wait until the server answers. */
	int (*start)(const struct server_options *o, const struct server_place *place, struct server **ret);
	/* Tells the server that the mount has ended; best effort. Blocks up to the timeout. */
	void (*leave)(const struct server_options *o, const struct server_place *place, unsigned timeout_ms);
	/* A sentence for server_stats.last_error. */
	const char *(*why_away)(int error);
};

/*
 * Asks for the attributes and limits of the export, and for the abilities of the server. Blocks, for start-up only;
 * before other threads use the server. Limits that the server does not tell are no error.
 */
static inline int server_look_at_export(struct server *s, const struct nfs_fh *root, struct server_export *ret)
{
	return s->ops->look_at_export(s, root, ret);
}

/* Hands a call over; any thread; never blocks and never fails: done() brings every error. */
static inline void server_submit(struct server *s, struct nfs_call *call)
{
	s->ops->submit(s, call);
}

/*
 * Hands over the calls of a list, linked by their node, and empties the list. The calls leave together, and wake the
 * server up once.
 */
static inline void server_submit_all(struct server *s, struct list *calls)
{
	if (s->ops->submit_all) {
		s->ops->submit_all(s, calls);
		return;
	}
	LIST_FOREACH (pos, calls) {
		list_remove(pos);
		s->ops->submit(s, CONTAINER_OF(pos, struct nfs_call, node));
	}
}

/* As server_submit(), but makes a regular file: NFS_CREATE with args.sattr and exclusive. */
static inline void server_create(struct server *s, struct nfs_call *call)
{
	s->ops->create(s, call);
}

/*
 * As server_submit(), but writes at the end that the file has at the server: NFS_WRITE with args.io.append. The caller
 * has one append per file under way at a time.
 */
static inline void server_append(struct server *s, struct nfs_call *call)
{
	s->ops->append(s, call);
}

/* The server is on this host: when it goes, look for it often, since looking costs little. Any thread. */
static inline void server_near(struct server *s)
{
	s->ops->near(s);
}

/* Any thread, at any time. */
static inline void server_stats(struct server *s, struct server_stats *ret)
{
	s->ops->stats(s, ret);
}

/*
 * Ends the loop thread. Calls that wait, and all that come later, are done with -ENOTCONN; the latter on the thread of
 * their caller. Takes NULL.
 */
static inline void server_stop(struct server *s)
{
	if (s)
		s->ops->stop(s);
}

/* Stops the server if it runs, and frees it: no thread may use it any more. Takes NULL; returns NULL. */
static inline struct server *server_free(struct server *s)
{
	if (s)
		s->ops->free(s);
	return NULL;
}

/*
 * Submits and waits: for start-up and the probe's thread, never for a FUSE handler. Sets done. Pointers in the result
 * are not valid when it returns.
 */
int server_call(struct server *s, struct nfs_call *call);
