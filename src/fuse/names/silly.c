/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/names/silly.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fuse/fs/open_hold.h"
#include "fuse/names/silly_removal.h"

/*
 * The rename that comes before a removal. It has a call of its own, so that the request's is
 * untouched when the request goes on.
 */
struct silly {
	struct nfs_call call;
	struct request *r;
	void (*go_on)(struct request *r);
	struct inode *victim;
	struct inode *directory; /* of both its names; the request's */
	bool taking;             /* counted in the victim */
	bool ends_request;       /* the rename does the removal's work */
	bool linked;             /* the victim got a second name, its first is still there */
	uint32_t owner;          /* the victim's */
	char name[sizeof(((struct silly_place *)NULL)->name)];
	struct nfs_fh dir;
	const char *victim_name;   /* the request's */
	struct silly_place *place; /* made beforehand, for the victim */
};

static atomic_uint silly_count;

static void silly_end(struct silly *s, int error)
{
	struct request *r = s->r;
	void (*go_on)(struct request * r) = s->go_on;
	bool ends = s->ends_request;

	if (s->taking) {
		LOCKED(&s->victim->lock);
		s->victim->taking--;
	}
	if (error == 0 && s->linked)
		r->replaced = STEAL_PTR(s->victim);
	(void)inode_unref(r->fs->inodes, s->victim);
	free(s->place);
	free(s);
	if (error < 0 || ends)
		request_end_error(r, error);
	else
		go_on(r);
}

static void rename_victim(struct silly *s);

static bool silly_given_up(struct nfs_call *call)
{
	return request_given_up(CONTAINER_OF(call, struct silly, call)->r);
}

static void silly_renamed(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);
	struct fs *fs = s->r->fs;
	bool last_closed;
	uint64_t asked;

	(void)known_change_end(fs, s->directory, NULL, 0, &asked);
	silly_names_changed(fs, s->victim);

	/* The server has no hard links, or no more for this file; or the LINK was sent twice. */
	if (s->linked && (call->error == -EOPNOTSUPP || call->error == -EMLINK || call->error == -EPERM ||
				 call->error == -EEXIST)) {
		rename_victim(s);
		return;
	}
	/* Nobody waits for the answer, and it may have been done: the last close tries to clean up. */
	if (call->error < 0 && call->error != -EINTR) {
		silly_end(s, call->error);
		return;
	}
	{
		LOCKED(&s->victim->lock);
		s->place->dir = s->dir;
		s->place->cred = call->cred;
		memcpy(s->place->name, s->name, sizeof(s->name));
		if (!s->victim->silly)
			silly_name_given();
		free(s->victim->silly);
		s->victim->silly = STEAL_PTR(s->place);
		last_closed = !inode_is_open(s->victim);
	}
	if (last_closed)
		silly_last_close(fs, s->victim);
	silly_end(s, call->error == -EINTR ? -EINTR : 0);
}

static void rename_victim(struct silly *s)
{
	s->linked = false;
	s->call.fh = s->dir;
	s->call.fh2 = s->dir;
	s->call.name = s->victim_name;
	s->call.name2 = s->name;
	s->call.proc = NFS_RENAME;
	s->call.done = silly_renamed;
	s->call.given_up = silly_given_up;
	known_change_begin(s->directory);
	server_submit(s->r->fs->server, &s->call);
}

/* Before a rename over it: should that fail, the victim still has its name. */
static void link_victim(struct silly *s)
{
	s->linked = true;
	s->call.fh = s->victim->fh;
	s->call.fh2 = s->dir;
	s->call.name = s->name;
	s->call.proc = NFS_LINK;
	s->call.done = silly_renamed;
	s->call.given_up = silly_given_up;
	known_change_begin(s->directory);
	server_submit(s->r->fs->server, &s->call);
}

/*
 * In a sticky directory whoever owns neither that nor the file may link it and not remove the link:
 * the server refuses the rename, too, and no .nfs name may be left of it.
 */
static void directory_known(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);
	uint32_t uid = call->cred.uid;

	if (call->error < 0)
		silly_end(s, call->error);
	else if (call->attr.mode & S_ISVTX && uid != 0 && uid != s->owner && uid != call->attr.uid)
		silly_end(s, 0);
	else
		link_victim(s);
}

/* True if nobody has anything open, and it is known whose name it is: no question need be asked of the server. */
static bool hold_known(struct request *r, struct inode *directory, const char *name)
{
	struct fs *fs = r->fs;
	struct inode *victim;
	bool open = false;

	if (fs->open_files + fs->opening > 0 || !known_owner(fs, directory, name, &victim))
		return false;
	if (victim) {
		LOCKED(&victim->lock);
		open = inode_is_open(victim);
		if (!open)
			removal_holds_opens(&r->removing, victim);
	}
	(void)inode_unref(fs->inodes, victim);
	return !open;
}

static void silly_looked_up(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);
	struct request *r = s->r;
	bool open = false, is_silly = false;

	/* Not knowing whether the file is open, nothing may happen to its name. */
	if (call->error < 0 && call->error != -ENOENT) {
		silly_end(s, call->error);
		return;
	}
	if (call->error == 0)
		s->victim = inode_table_find(r->fs->inodes, &call->new_fh);
	if (s->victim) {
		LOCKED(&s->victim->lock);
		open = inode_is_open(s->victim) && !s->victim->silly;
		removal_holds_opens(&r->removing, s->victim);
		is_silly = s->victim->silly && nfs_fh_equal(&s->victim->silly->dir, &s->dir) &&
			   strcmp(s->victim->silly->name, s->victim_name) == 0;
	}
	/* The file that lies under it is open; fs/nfs/dir.c nfs_unlink says so too. */
	if (is_silly) {
		silly_end(s, -EBUSY);
		return;
	}
	/* The file has another name and stays without this one. */
	if (open && call->has_attr && call->attr.nlink > 1)
		open = false;
	/* A rename onto another name of the same file does nothing: let the server say so. */
	if (open && r->call.proc == NFS_RENAME && nfs_fh_equal(&s->victim->fh, &r->entry_fh))
		open = false;
	if (!open) {
		s->ends_request = false;
		silly_end(s, 0);
		return;
	}
	{
		LOCKED(&s->victim->lock);
		s->victim->taking++;
		s->taking = true;
	}
	(void)snprintf(s->name, sizeof(s->name), ".nfs%016" PRIx64 "%08x", s->victim->fileid,
		atomic_fetch_add(&silly_count, 1));
	if (s->ends_request) {
		rename_victim(s);
		return;
	}
	s->owner = call->has_attr ? call->attr.uid : call->cred.uid;
	s->call.fh = s->dir;
	s->call.proc = NFS_GETATTR;
	s->call.done = directory_known;
	server_submit(r->fs->server, &s->call);
}

static void look_up_victim(struct request *r, void (*go_on)(struct request *r), struct inode *directory,
	const char *name, bool ends_request)
{
	struct silly *s;

	if (hold_known(r, directory, name)) {
		go_on(r);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (s)
		s->place = calloc(1, sizeof(*s->place));
	if (!s || !s->place) {
		free(s);
		request_end_error(r, -ENOMEM);
		return;
	}
	s->r = r;
	s->go_on = go_on;
	s->ends_request = ends_request;
	s->directory = directory;
	s->dir = directory->fh;
	s->victim_name = name;
	s->call.cred = r->call.cred;
	s->call.fh = directory->fh;
	s->call.name = name;
	s->call.proc = NFS_LOOKUP;
	s->call.done = silly_looked_up;
	s->call.given_up = silly_given_up;
	server_submit(r->fs->server, &s->call);
}

void silly_remove_name(struct request *r, void (*go_on)(struct request *r))
{
	look_up_victim(r, go_on, r->inode, r->name, true);
}

/* The source's handle is needed to tell whether both names are one file. */
static void source_looked_up(struct nfs_call *call)
{
	struct request *r = CONTAINER_OF(call, struct request, call);

	if (call->error < 0) {
		request_end_error(r, call->error);
		return;
	}
	r->entry_fh = call->new_fh;
	call->proc = NFS_RENAME;
	look_up_victim(r, r->then, r->inode2, r->name2, false);
}

void silly_replace_name(struct request *r, void (*go_on)(struct request *r))
{
	if (hold_known(r, r->inode2, r->name2)) {
		go_on(r);
		return;
	}
	r->then = go_on;
	request_send(r, NFS_LOOKUP, source_looked_up);
}
