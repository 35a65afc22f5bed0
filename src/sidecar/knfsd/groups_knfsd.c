/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/knfsd/groups_knfsd.h"

#include <string.h>

#include "base/text.h"

/* The rest of a line: " 2001 2002", as many as were said. */
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

int groups_knfsd_find(FILE *content, struct broker_cred *cred, bool *ret_any)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	int found = 0;

	*ret_any = false;
	/* "1001 2: 2001 2002"; a comment when it is no answer, or not any more. */
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
