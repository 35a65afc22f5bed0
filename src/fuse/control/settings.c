/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/control/settings.h"

#include <pthread.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/text.h"
#include "fuse/known/known.h"
#include "fuse/lease/lease.h"
#include "localiofs/control.h"

struct version {
	struct list node;
	struct mount_options options;
	char text[sizeof(
		((struct control_options *)NULL)->given)]; /* of options_text(): equal texts are equal options */
};

struct settings {
	pthread_mutex_t lock;
	struct list versions;
	unsigned count;
	unsigned local; /* the mode from before local=off; LOCAL_OFF: the mount does not have local=off */
};

int settings_new(struct settings **ret)
{
	struct settings *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	(void)pthread_mutex_init(&s->lock, NULL);
	list_init(&s->versions);
	s->local = LOCAL_OFF;
	*ret = s;
	return 0;
}

struct settings *settings_free(struct settings *s)
{
	if (!s)
		return NULL;
	while (!list_empty(&s->versions)) {
		struct version *v = CONTAINER_OF(s->versions.next, struct version, node);

		list_remove(&v->node);
		free(v);
	}
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

/* The mode local may only change to off, and back to the mount's own: nothing else is prepared for another mode. */
static int check_local(const struct settings *s, unsigned now, unsigned wanted, char *sentence, size_t size)
{
	unsigned own = now == LOCAL_OFF ? s->local : now;

	if (wanted == now || (now == LOCAL_OFF && wanted == own) || (wanted == LOCAL_OFF && own != LOCAL_REQUIRED))
		return 0;
	return sentence_fail(sentence, size, -EINVAL,
		"option local=%s cannot be changed while the mount runs: the mount was made with local=%s%s",
		local_mode_name(wanted), local_mode_name(own),
		own == LOCAL_OFF || own == LOCAL_REQUIRED ? "; unmount it and mount it again"
							  : "; expected that or off");
}

/* The version with these options, an old one or a new one. The caller holds the lock. */
static int find_version(struct settings *s, const struct mount_options *options, struct version **ret)
{
	struct version *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->options = *options;
	if (options_text(options, new->text, sizeof(new->text)) < 0) {
		free(new);
		return -ENOBUFS;
	}
	for (struct list *l = s->versions.next; l != &s->versions; l = l->next) {
		*ret = CONTAINER_OF(l, struct version, node);
		if (strcmp((*ret)->text, new->text) == 0) {
			free(new);
			return 0;
		}
	}
	if (s->count == SETTINGS_MAX) {
		free(new);
		return -ENOSPC;
	}
	s->count++;
	list_append(&s->versions, &new->node);
	*ret = new;
	return 0;
}

/* True if both believe answers for the same times. */
static bool believe_alike(const struct mount_options *a, const struct mount_options *b)
{
	return a->acregmin == b->acregmin && a->acregmax == b->acregmax && a->acdirmin == b->acdirmin &&
	       a->acdirmax == b->acdirmax && a->lookupcache == b->lookupcache && a->nonotices == b->nonotices;
}

/* For the parts that do not read fs->options, or remember what followed from them. */
static void tell_parts(struct fs *fs, const struct mount_options *before, const struct mount_options *now)
{
	log_set_debug(now->debug);
	if (!believe_alike(before, now))
		known_begin_anew(fs);
	if (before->nonotices && !now->nonotices)
		lease_want(fs);
	if (!fs->probe)
		return;
	probe_set_reprobe(fs->probe, now->reprobe);
	if (before->local != now->local)
		probe_pause(fs->probe, now->local == LOCAL_OFF);
}

int settings_change(struct fs *fs, const char *list, char *sentence, size_t size)
{
	struct settings *s = fs->settings;
	LOCKED(&s->lock);
	const struct mount_options *before = fs->options;
	struct mount_options wanted = *before;
	struct version *v;
	int r = options_parse(&wanted, list, false, sentence, size);

	if (r == 0)
		r = options_check_change(before, &wanted, sentence, size);
	if (r == 0)
		r = check_local(s, before->local, wanted.local, sentence, size);
	if (r < 0)
		return r;
	r = find_version(s, &wanted, &v);
	if (r == -ENOSPC)
		return sentence_fail(sentence, size, r,
			"the options of this mount were changed too often; unmount it and mount it again");
	if (r < 0)
		return sentence_fail(sentence, size, r, "%s", strerror(-r));
	if (wanted.local == LOCAL_OFF && before->local != LOCAL_OFF)
		s->local = before->local;
	fs->options = &v->options;
	tell_parts(fs, before, &v->options);
	log_info_limited("%s: options changed: " SHORT, fs->spec, SHORTEN(list, 200));
	return 0;
}
