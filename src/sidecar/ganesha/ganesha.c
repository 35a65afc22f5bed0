/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/ganesha/ganesha.h"

#include <errno.h>
#include <string.h>

#include "sidecar/ganesha/ganesha_conf.h"
#include "handle/handle_ganesha.h"
#include "sidecar/ganesha/names_ganesha.h"
#include "sidecar/ganesha/rights_ganesha.h"

static uint16_t port(const struct export_table *t)
{
	return t->nfs_port;
}

/* Ganesha serves while it listens; it gives no other sign. */
static int serves(void)
{
	return -ENODATA;
}

/* Manage_Gids is an option of an export, which gets no grants then: export_perms.manage_gids. */
static int managed_groups(struct broker_cred *cred)
{
	(void)cred;
	return -ENODATA;
}

static bool names(const struct export_entry *e, const struct nfs_handle *h)
{
	return e->id == h->export_id;
}

/* posix_get_fsid() of FSAL/localfs.c has the values that the server gives a filesystem. */
static bool owns(const struct export_table *t, const struct export_client *c, const struct filesystem_id *id,
	const struct nfs_handle *h)
{
	const uint32_t device[2] = {id->dev_major, id->dev_minor};

	(void)c;
	switch (h->fsid_type) {
	case GANESHA_FSID_DEVICE:
		return t->fsid_device && memcmp(h->fsid, device, sizeof(device)) == 0;
	case GANESHA_FSID_UUID:
		return !t->fsid_device && id->has_uuid && memcmp(h->fsid, id->uuid, sizeof(id->uuid)) == 0;
	case GANESHA_FSID_STATFS:
		if (id->fsid[0] == 0 && id->fsid[1] == 0)
			return !t->fsid_device && memcmp(h->fsid, device, sizeof(device)) == 0;
		return !t->fsid_device && memcmp(h->fsid, id->fsid, sizeof(id->fsid)) == 0;
	}
	return false;
}

/* ---- the running server's options: only Ganesha's dbus interface shows them ---- */

static int unseen_terms(const struct ip_address *peer, const char *path, struct export_perms *perms)
{
	(void)peer;
	(void)path;
	(void)perms;
	return 0;
}

static int unseen_path(const struct ip_address *peer, const struct nfs_handle *h, char **ret)
{
	(void)peer;
	(void)h;
	(void)ret;
	return 0;
}

const struct server_kind server_ganesha = {
	.name = "ganesha",
	.title = "NFS-Ganesha",
	.default_config = "/etc/ganesha/ganesha.conf",
	.config_includes = true,
	.export_ids = true,
	.load = ganesha_conf_load,
	.port = port,
	.serves = serves,
	.managed_groups = managed_groups,
	.process = "ganesha.nfsd",
	.decode = handle_ganesha_decode,
	.encode = handle_ganesha_encode,
	.names = names,
	.owns = owns,
	.know_names = names_ganesha,
	.terms = unseen_terms,
	.path = unseen_path,
	.squash = rights_ganesha_squash,
	.access = rights_ganesha_access,
	.may_search = rights_ganesha_may_search,
	.may_change_names = rights_ganesha_may_change_names,
	.may_read = rights_ganesha_may_read,
	.may_write = rights_ganesha_may_write,
};
