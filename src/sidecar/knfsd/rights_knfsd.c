/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/knfsd/rights_knfsd.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "sidecar/backing/thread_cred.h"

#define INVALID_ID UINT32_MAX

int rights_knfsd_squash(const struct export_perms *perms, const struct broker_cred *wire, struct broker_cred *ret)
{
	struct broker_cred c = {.uid = wire->uid, .gid = wire->gid};
	bool squash_root = perms->squash == SQUASH_ROOT;

	if (wire->ngroups > BROKER_MAX_GROUPS)
		return -EINVAL;
	if (perms->squash == SQUASH_ALL) {
		c.uid = perms->anon_uid;
		c.gid = perms->anon_gid;
	} else {
		for (uint32_t i = 0; i < wire->ngroups; i++) {
			uint32_t group = wire->groups[i];

			/* -1 is no valid group, and setgroups(2) refuses it. */
			if (group != INVALID_ID)
				c.groups[c.ngroups++] = squash_root && group == 0 ? perms->anon_gid : group;
		}
		if (c.uid == INVALID_ID || (squash_root && c.uid == 0))
			c.uid = perms->anon_uid;
		if (c.gid == INVALID_ID || (squash_root && c.gid == 0))
			c.gid = perms->anon_gid;
	}
	*ret = c;
	return 0;
}

/* Reads the rest of a line, " 2001 2002". 0 unless it has count groups. */
static int read_groups(const char *text, uint64_t count, struct broker_cred *cred)
{
	struct broker_cred c = *cred;
	_cleanup_free_ char *copy = strdup(text);
	char *save = NULL, *word;
	uint64_t group;

	if (copy == NULL || count == 0 || count > BROKER_MAX_GROUPS)
		return 0;
	c.ngroups = 0;
	for (word = strtok_r(copy, " \n", &save); word != NULL; word = strtok_r(NULL, " \n", &save)) {
		if (c.ngroups == count || parse_u64(word, 0, UINT32_MAX, &group) < 0)
			return 0;
		c.groups[c.ngroups++] = (uint32_t)group;
	}
	if (c.ngroups != count)
		return 0;
	*cred = c;
	return 1;
}

int rights_knfsd_groups(FILE *content, struct broker_cred *cred, bool *ret_any)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	int found = 0;

	*ret_any = false;
	/* "1001 2: 2001 2002"; a negative or expired entry is a comment. */
	while (found == 0 && getline(&line, &room, content) >= 0) {
		char *colon = strchr(line, ':'), *blank = strchr(line, ' ');
		uint64_t uid, count;

		if (line[0] == '#' || colon == NULL || blank == NULL || blank > colon)
			continue;
		*colon = *blank = '\0';
		if (parse_u64(line, 0, UINT32_MAX, &uid) < 0 || parse_u64(blank + 1, 0, UINT32_MAX, &count) < 0)
			continue;
		*ret_any = true;
		if (uid == cred->uid)
			found = read_groups(colon + 1, count, cred);
	}
	return found;
}

/* Nobody executes a file without any x bit, not even root (fs/namei.c generic_permission). */
static bool nobody_executes(const struct access_file *f)
{
	return S_ISREG(f->mode) && (f->mode & 0111) == 0;
}

/*
 * Those of R_OK, W_OK and X_OK that the kernel grants the thread's present credentials. Most callers have all that is
 * asked for, and then one question is enough.
 */
static int granted(int fd, int asked)
{
	int ret = 0;

	if (thread_cred_allows(fd, asked))
		return asked;
	for (int bit = X_OK; bit <= R_OK; bit <<= 1)
		if ((asked & bit) != 0 && asked != bit && thread_cred_allows(fd, bit))
			ret |= bit;
	return ret;
}

int rights_knfsd_access(const struct access_file *f, const struct broker_cred *cred, bool export_writable)
{
	/* The kernel refuses immutable files itself. It refuses read-only mounts, too, but fd may be on a clone. */
	bool writable = export_writable && !f->read_only;
	int asked = R_OK | (writable ? W_OK : 0) | (nobody_executes(f) ? 0 : X_OK);
	int bits = 0, have = 0, r = thread_cred_become(cred);

	if (r >= 0)
		have = granted(f->fd, asked);
	thread_cred_restore();
	if ((have & R_OK) != 0)
		bits |= NFS_ACCESS_READ;
	if ((have & W_OK) != 0)
		bits |= NFS_ACCESS_EXTEND | (f->append_only ? 0 : NFS_ACCESS_MODIFY);
	if ((have & X_OK) != 0)
		bits |= NFS_ACCESS_EXECUTE;
	return r < 0 ? r : bits;
}
