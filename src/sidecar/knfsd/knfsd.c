/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/knfsd/knfsd.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/whole_io.h"
#include "sidecar/etab/etab.h"
#include "sidecar/knfsd/exports_knfsd.h"
#include "handle/handle_knfsd.h"
#include "sidecar/knfsd/names_knfsd.h"
#include "sidecar/host/nfs_server.h"
#include "sidecar/knfsd/rights_knfsd.h"

static int load(const char *config, struct export_table **ret, struct conf_error *error)
{
	return etab_load(&server_knfsd, config, ret, error);
}

/* ---- the running server ---- */

/* /proc/fs/nfsd/portlist: one line per socket, "tcp 2049". */
static uint16_t port(const struct export_table *t)
{
	char text[1024];
	uint64_t number;
	char *save = NULL;

	(void)t;
	if (read_small_file("/proc/fs/nfsd/portlist", text, sizeof(text)) <= 0)
		return NFS_DEFAULT_PORT;
	for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
		if (strncmp(line, "tcp ", 4) == 0 && parse_u64(line + 4, 1, UINT16_MAX, &number) >= 0)
			return (uint16_t)number;
	return NFS_DEFAULT_PORT;
}

static int serves(void)
{
	char text[32];
	ssize_t n = read_small_file("/proc/fs/nfsd/threads", text, sizeof(text));

	return n < 0 ? (int)n : strtoul(text, NULL, 10) > 0;
}

/*
 * With mountd --manage-gids the kernel asks mountd for the groups of every caller, and keeps the answers in this cache;
 * without it the cache is always empty (auth_unix_gid()). Answers expire. So after the first answer the caller's own
 * groups are never believed again. While the cache is empty it is read at most once per second.
 */
static int managed_groups(struct broker_cred *cred)
{
	static atomic_bool seen;
	static atomic_uint_fast64_t asked_ms;
	_cleanup_fclose_ FILE *f = NULL;
	bool any = false;
	int found = 0;

	if (!seen && asked_ms != 0 && time_since(asked_ms, work_ms()) < 1000)
		return -ENODATA;
	f = fopen("/proc/net/rpc/auth.unix.gid/content", "re");
	if (f != NULL)
		found = rights_knfsd_groups(f, cred, &any);
	if (any)
		seen = true;
	asked_ms = now_ms();
	return seen ? found : -ENODATA;
}

/*
 * Opens a cache of the kernel. *ret_domain is the kernel's name for the peer, which the caller frees. NULL without a
 * name.
 */
static FILE *open_cache(const char *path, const struct ip_address *peer, char **ret_domain)
{
	return names_knfsd_cached(peer, ret_domain) > 0 ? fopen(path, "re") : NULL;
}

static int terms(const struct ip_address *peer, const char *path, struct export_perms *perms)
{
	_cleanup_free_ char *domain = NULL;
	_cleanup_fclose_ FILE *f = open_cache("/proc/net/rpc/nfsd.export/content", peer, &domain);

	return f != NULL ? exports_knfsd_terms(f, path, domain, perms) : 0;
}

static int path_of(const struct ip_address *peer, const struct nfs_handle *h, char **ret)
{
	_cleanup_free_ char *domain = NULL;
	_cleanup_fclose_ FILE *f = open_cache("/proc/net/rpc/nfsd.fh/content", peer, &domain);

	return f != NULL ? exports_knfsd_path(f, h, domain, ret) : 0;
}

/* ---- the export of a handle: match_fsid() of nfs-utils' support/export/cache.c ---- */

static bool is_number(const struct export_client *c, const struct nfs_handle *h)
{
	uint32_t number;

	memcpy(&number, h->fsid, sizeof(number));
	return c->fsid.kind == EXPORT_FSID_NUMBER && c->fsid.number == number;
}

/*
 * Looks at the entries of all clients, so that a peer without an entry is refused as a client, not for a missing
 * export.
 */
static bool names(const struct export_entry *e, const struct nfs_handle *h)
{
	for (size_t i = 0; i < e->nclients && h->fsid_type == KNFSD_FSID_NUM; i++)
		if (is_number(&e->clients[i], h))
			return true;
	return h->fsid_type != KNFSD_FSID_NUM;
}

static bool same_device(const struct filesystem_id *id, uint32_t major, uint32_t minor, uint32_t inode)
{
	return id->dev_major == major && id->dev_minor == minor && id->inode == inode;
}

/* get_uuid(): folds the hexadecimal digits of a text into length bytes, and ignores other characters. */
static void fold(const char *text, uint8_t *ret, size_t length)
{
	size_t i = 0;

	memset(ret, 0, length);
	for (; *text != '\0'; text++) {
		int digit;

		if (!isxdigit((unsigned char)*text))
			continue;
		digit = isdigit((unsigned char)*text) ? *text - '0' : (*text | 0x20) - 'a' + 10;
		ret[i / 2] ^= (uint8_t)(i % 2 == 0 ? digit << 4 : digit);
		i = (i + 1) % (2 * length);
	}
}

/* True for filesystems with a UUID for which mountd does not ask blkid (nonblkid_filesystems). */
static bool uuid_is_not_used(uint32_t type)
{
	return type == BTRFS_SUPER_MAGIC || type == TMPFS_MAGIC || type == 0x2fc12fc1 /* ZFS */;
}

static bool same_uuid(const char *text, const uint8_t *wanted, size_t length)
{
	uint8_t folded[16];

	fold(text, folded, length);
	return memcmp(folded, wanted, length) == 0;
}

/* uuid_by_path(): the filesystem's own UUID, or the fsid of statfs(2); mountd honours handles with either. */
static bool has_uuid(const struct filesystem_id *id, const uint8_t *wanted, size_t length)
{
	char text[2 * sizeof(id->uuid) + 1];

	if (id->has_uuid && !uuid_is_not_used(id->type)) {
		for (size_t i = 0; i < sizeof(id->uuid); i++)
			(void)snprintf(text + 2 * i, 3, "%02x", id->uuid[i]);
		if (same_uuid(text, wanted, length))
			return true;
	}
	if (id->fsid[0] == 0 && id->fsid[1] == 0)
		return false;
	(void)snprintf(text, sizeof(text), "%08x%08x", id->fsid[0], id->fsid[1]);
	return same_uuid(text, wanted, length);
}

static bool owns_uuid(const struct export_client *c, const struct filesystem_id *id, const uint8_t *wanted,
	size_t length)
{
	return c != NULL && c->fsid.kind == EXPORT_FSID_UUID ? same_uuid(c->fsid.uuid, wanted, length)
							     : has_uuid(id, wanted, length);
}

static bool owns(const struct export_table *t, const struct export_client *c, const struct filesystem_id *id,
	const struct nfs_handle *h)
{
	uint32_t word[6];
	uint64_t inode;

	(void)t;
	memcpy(word, h->fsid, sizeof(word));
	switch (h->fsid_type) {
	case KNFSD_FSID_DEV:
		return same_device(id, ntohl(word[0]) >> 16, ntohl(word[0]) & 0xffff, word[1]);
	case KNFSD_FSID_NUM:
		return c == NULL || is_number(c, h);
	case KNFSD_FSID_MAJOR_MINOR:
		return same_device(id, ntohl(word[0]), ntohl(word[1]), word[2]);
	case KNFSD_FSID_ENCODE_DEV:
		return same_device(id, (word[0] & 0xfff00) >> 8, (word[0] & 0xff) | (word[0] >> 12 & 0xfff00), word[1]);
	case KNFSD_FSID_UUID4_INUM:
		return word[0] == (uint32_t)id->inode && owns_uuid(c, id, h->fsid + 4, 4);
	case KNFSD_FSID_UUID8:
		return id->mount_root && owns_uuid(c, id, h->fsid, 8);
	case KNFSD_FSID_UUID16:
		return id->mount_root && owns_uuid(c, id, h->fsid, 16);
	case KNFSD_FSID_UUID16_INUM:
		memcpy(&inode, h->fsid, sizeof(inode));
		return inode == id->inode && owns_uuid(c, id, h->fsid + 8, 16);
	}
	return false;
}

/* ---- search, READ and WRITE: nfsd_permission() has no rule besides the kernel's ---- */

static bool kernel_decides(const struct access_file *f, const struct broker_cred *cred)
{
	(void)f;
	(void)cred;
	return true;
}

const struct server_kind server_knfsd = {
	.name = "knfsd",
	.title = "the kernel's NFS server",
	.default_config = "/var/lib/nfs/etab",
	.config_includes = false,
	.load = load,
	.port = port,
	.serves = serves,
	.managed_groups = managed_groups,
	.decode = handle_knfsd_decode,
	.encode = handle_knfsd_encode,
	.names = names,
	.owns = owns,
	.know_names = names_knfsd,
	.terms = terms,
	.path = path_of,
	.squash = rights_knfsd_squash,
	.access = rights_knfsd_access,
	.may_search = kernel_decides,
	.may_change_names = kernel_decides,
	.syncs_names = true,
	.exact_wcc = true,
	.may_read = kernel_decides,
	.may_write = kernel_decides,
};
