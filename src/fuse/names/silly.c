/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/names/silly.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fuse/fs/open_hold.h"
#include "fuse/names/silly_removal.h"
#include "fuse/shortcut/shortcut.h"

/* How often the .nfs name of an open file is looked up, for a quarter of a second, as RMDIR waits */
#define SILLY_TRIES  9
#define SILLY_DIGITS (16 + 8) /* of a .nfs name: the file's id and a count */

/*
 * The silly rename of one file (the victim). It has a call of its own, so that the request's call is unchanged when the
 * request goes on.
 */
struct silly {
	struct nfs_call call;
	struct request *r;
	void (*go_on)(struct request *r);
	struct inode *victim;
	struct inode *directory; /* of the victim's old and new name; the request has the reference */
	bool taking;             /* counted in victim.taking */
	bool ends_request;       /* UNLINK: the silly rename replaces the removal */
	bool linked;             /* the victim gets a second name by LINK, and keeps its first name */
	uint32_t owner;          /* the victim's uid */
	uint64_t asked;          /* attr_clock() when LOOKUP was sent */
	unsigned tries;          /* how often the name was a .nfs name */
	char name[sizeof(((struct silly_place *)NULL)->name)];
	struct nfs_fh dir;
	const char *victim_name;   /* the request's string */
	struct silly_place *place; /* allocated before the rename, for the victim */
};

static atomic_uint silly_count;

bool silly_is_name(const char *name)
{
	return strncmp(name, ".nfs", 4) == 0 && strspn(name + 4, "0123456789abcdef") == SILLY_DIGITS &&
	       name[4 + SILLY_DIGITS] == '\0';
}

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

static void on_silly_renamed(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);
	struct fs *fs = s->r->fs;
	bool last_closed;
	uint64_t asked;

	(void)known_change_end(fs, s->directory, NULL, 0, &asked);
	silly_names_changed(fs, s->victim);

	/* The server allows no hard link to this file, or the LINK was sent twice: renames the victim instead. */
	if (s->linked && (call->error == -EOPNOTSUPP || call->error == -EMLINK || call->error == -EPERM ||
				 call->error == -EEXIST)) {
		rename_victim(s);
		return;
	}
	/*
	 * -EINTR: the caller was killed, but the server may have done the rename. So the last close removes the name.
	 */
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
	s->call.done = on_silly_renamed;
	s->call.given_up = silly_given_up;
	known_change_begin(s->directory);
	server_submit(s->r->fs->server, &s->call);
}

/* Before another file is renamed over the victim: if that rename fails, the victim still has its first name. */
static void link_victim(struct silly *s)
{
	s->linked = true;
	s->call.fh = s->victim->fh;
	s->call.fh2 = s->dir;
	s->call.name = s->name;
	s->call.proc = NFS_LINK;
	s->call.done = on_silly_renamed;
	s->call.given_up = silly_given_up;
	known_change_begin(s->directory);
	server_submit(s->r->fs->server, &s->call);
}

/*
 * In a sticky directory, a caller who owns neither the directory nor the file may make a link but may not remove it. So
 * no link is made, which would stay as a .nfs name; the server will refuse the caller's rename, too.
 */
static void on_directory_attributes(struct nfs_call *call)
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

/*
 * True if no silly rename is needed, without a question to the server: the owner of the name is known, and not open.
 * OPENs of this file wait then until the request ends. Without notices another client may have given the name of an
 * open file to what was another's, so the mount must have no open files.
 */
static bool hold_known(struct request *r, struct inode *directory, const char *name)
{
	struct fs *fs = r->fs;
	struct inode *victim;
	bool open = false;

	if ((fs->open_files + fs->opening > 0 && !known_has_notices(fs, directory)) ||
		!known_owner(fs, directory, name, &victim))
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

/* The victim is known, and has its attributes in s->call if the server told them. */
static void keep_victim(struct silly *s)
{
	struct nfs_call *call = &s->call;
	struct request *r = s->r;
	bool keep;

	{
		LOCKED(&s->victim->lock);
		keep = inode_is_open(s->victim) && !s->victim->silly;
	}
	/* The file has another name, so it stays on the server without this name. */
	if (keep && call->has_attr && call->attr.nlink > 1)
		keep = false;
	/* RENAME between two names of the same file does nothing: the server answers. */
	if (keep && r->call.proc == NFS_RENAME && nfs_fh_equal(&s->victim->fh, &r->entry_fh))
		keep = false;
	if (!keep) {
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
	s->call.done = on_directory_attributes;
	server_submit(r->fs->server, &s->call);
}

static void on_victim_attributes(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);

	if (call->error < 0 && call->error != -ESTALE)
		silly_end(s, call->error);
	else
		keep_victim(s);
}

/*
 * True if the server must be asked for the victim's attributes: it told none, or told them from its memory, perhaps
 * from before this mount made or removed another name. GETATTR is answered after the server has looked.
 */
static bool asks_for_links(const struct silly *s, const struct nfs_call *call)
{
	return !call->has_attr ||
	       (!call->by_sidecar && shortcut_is_behind(s->r->fs->shortcut, &s->victim->fh, s->asked));
}

static void on_victim_looked_up(struct nfs_call *call);

static void ask_for_victim(struct silly *s)
{
	s->call.proc = NFS_LOOKUP;
	s->call.done = on_victim_looked_up;
	s->asked = attr_clock();
	server_submit(s->r->fs->server, &s->call);
}

/*
 * The name is the .nfs name of an open file: -EBUSY, as from fs/nfs/dir.c nfs_unlink. But the kernel sends RELEASE some
 * time after close(2), and then the name goes.
 */
static void wait_for_release(struct silly *s)
{
	if (++s->tries == SILLY_TRIES) {
		silly_end(s, -EBUSY);
		return;
	}
	s->victim = inode_unref(s->r->fs->inodes, s->victim);
	s->call.delay_ms = 1U << (s->tries - 1);
	ask_for_victim(s);
}

static void on_victim_looked_up(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);
	struct request *r = s->r;
	bool open = false, is_silly = false;

	call->delay_ms = 0;
	/* The .nfs name was removed meanwhile, as UNLINK should do. */
	if (call->error == -ENOENT && s->tries > 0 && s->ends_request) {
		silly_end(s, 0);
		return;
	}
	/* The victim is not known, so it may be open: its name must stay. */
	if (call->error < 0 && call->error != -ENOENT) {
		silly_end(s, call->error);
		return;
	}
	if (call->error == 0)
		s->victim = inode_table_find(r->fs->inodes, &call->new_fh);
	if (s->victim) {
		LOCKED(&s->victim->lock);
		open = inode_is_open(s->victim) && !s->victim->silly;
		is_silly = s->victim->silly && nfs_fh_equal(&s->victim->silly->dir, &s->dir) &&
			   strcmp(s->victim->silly->name, s->victim_name) == 0;
		if (!is_silly)
			removal_holds_opens(&r->removing, s->victim);
	}
	if (is_silly) {
		wait_for_release(s);
	} else if (!open) {
		s->ends_request = false;
		silly_end(s, 0);
	} else if (asks_for_links(s, call)) {
		s->call.fh = s->victim->fh;
		s->call.proc = NFS_GETATTR;
		s->call.done = on_victim_attributes;
		server_submit(r->fs->server, &s->call);
	} else {
		keep_victim(s);
	}
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
	request_groups(r);
	s->call.cred = r->call.cred;
	s->call.fh = directory->fh;
	s->call.name = name;
	s->call.given_up = silly_given_up;
	ask_for_victim(s);
}

void silly_remove_name(struct request *r, void (*go_on)(struct request *r))
{
	look_up_victim(r, go_on, r->inode, r->name, true);
}

/* LOOKUP of the old name: its handle tells whether both names are the same file's. */
static void on_source_looked_up(struct nfs_call *call)
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
	request_send(r, NFS_LOOKUP, on_source_looked_up);
}
