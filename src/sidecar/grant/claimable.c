/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/grant/claimable.h"

#include <acl/libacl.h>
#include <stdio.h>
#include <string.h>
#include <sys/acl.h>

#include "sidecar/backing/thread_cred.h"
#include "base/util.h"

/* An id that neither the file nor (most likely) its ACL names. */
#define NAMED_BY_NOBODY 0xfffe1234U

struct trial {
	const struct server_kind *server;
	const struct access_file *file;
	const struct export_perms *perms;
	bool read, write;
};

static bool done(const struct trial *t)
{
	return t->read && (t->write || !t->perms->write);
}

static int try(struct trial *t, const struct broker_cred *claim)
{
	struct broker_cred c;
	bool read, write;
	int r = t->server->squash(t->perms, claim, &c);

	if (r < 0)
		return 0; /* the server refuses this credential */
	read = !t->read && t->server->may_read(t->file, &c);
	write = !t->write && t->perms->write && t->server->may_write(t->file, &c);
	if ((read || write) && c.uid != t->file->uid) {
		r = thread_cred_become(&c);
		read = r >= 0 && read &&
		       (thread_cred_allows(t->file->fd, R_OK) || thread_cred_allows(t->file->fd, X_OK));
		write = r >= 0 && write && thread_cred_allows(t->file->fd, W_OK);
		thread_cred_restore();
		if (r < 0)
			return r;
	}
	t->read = t->read || read;
	t->write = t->write || write;
	return 0;
}

static int try_acl_entry(struct trial *t, acl_entry_t entry)
{
	/* The claim has the file's group, since Ganesha takes the bits of the ACL's mask for that group's bits. */
	struct broker_cred claim = {.uid = NAMED_BY_NOBODY, .gid = t->file->gid};
	acl_tag_t tag;
	void *id;

	if (acl_get_tag_type(entry, &tag) < 0)
		return -errno;
	if (tag != ACL_USER && tag != ACL_GROUP)
		return 0;
	id = acl_get_qualifier(entry);
	if (id == NULL)
		return -errno;
	if (tag == ACL_USER) {
		claim.uid = *(uid_t *)id;
	} else {
		claim.ngroups = 1;
		claim.groups[0] = *(gid_t *)id;
	}
	(void)acl_free(id);
	return try(t, &claim);
}

/* True if the file has an ACL that the mode does not express. False on filesystems without ACLs. */
static bool has_acl(const struct access_file *f, char *ret_path, size_t size)
{
	/* /proc/self would be the main thread's descriptor table. */
	(void)snprintf(ret_path, size, "/proc/thread-self/fd/%d", f->fd);
	return acl_extended_file(ret_path) > 0;
}

static int try_acl(struct trial *t)
{
	char path[48];
	acl_entry_t entry;
	acl_t acl;
	int r;

	if (!has_acl(t->file, path, sizeof(path)))
		return 0;
	acl = acl_get_file(path, ACL_TYPE_ACCESS);
	if (acl == NULL)
		return -errno;
	r = acl_get_entry(acl, ACL_FIRST_ENTRY, &entry);
	while (r == 1 && !done(t)) {
		r = try_acl_entry(t, entry);
		if (r >= 0)
			r = acl_get_entry(acl, ACL_NEXT_ENTRY, &entry);
	}
	(void)acl_free(acl);
	return r < 0 ? r : 0;
}

int claimable_rights(const struct server_kind *server, const struct access_file *f, const struct export_perms *perms,
	bool *ret_read, bool *ret_write)
{
	/* The owner comes first: if the peer may claim the owner, no other credential needs to be tried. */
	const struct broker_cred claims[] = {
		{.uid = f->uid, .gid = f->gid},
		{.uid = 0, .gid = 0},
		{.uid = NAMED_BY_NOBODY, .gid = f->gid},
		{.uid = NAMED_BY_NOBODY, .gid = NAMED_BY_NOBODY},
	};
	struct trial t = {.server = server, .file = f, .perms = perms};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(claims) && r >= 0 && !done(&t); i++)
		r = try(&t, &claims[i]);
	if (r >= 0 && !done(&t))
		r = try_acl(&t);
	if (r < 0)
		return r;
	*ret_read = t.read;
	*ret_write = t.write;
	return 0;
}

bool claimable_by_groups(const struct access_file *f, const struct broker_cred *cred)
{
	char path[48];

	if (cred->uid == 0 || cred->uid == f->uid)
		return false;
	return (cred->gid != f->gid && (f->mode >> 3 & 07) != (f->mode & 07)) || has_acl(f, path, sizeof(path));
}
