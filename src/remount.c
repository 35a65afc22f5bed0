/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "remount.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>

#include "localiofs/control.h"
#include "base/log.h"
#include "base/text.h"
#include "mount/mountinfo.h"

/* The topmost mount on the directory. */
struct current {
	char type[64];
	char source[4096];
	bool users; /* a user other than root has mounted it */
};

static int take_current(const struct mountinfo *m, void *arg)
{
	struct current *current = arg;
	const char *owner = strstr(m->super_options, "user_id=");

	(void)snprintf(current->type, sizeof(current->type), "%s", m->type);
	(void)snprintf(current->source, sizeof(current->source), "%s", m->source);
	current->users = !owner || strtoul(owner + strlen("user_id="), NULL, 10) != 0;
	return 0;
}

static int PRINTF(3, 4) fail(const struct command *c, int code, const char *format, ...)
{
	char sentence[700];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, ap);
	va_end(ap);
	log_error(SHORT ": %s", SHORTEN(c->directory, 200), sentence);
	return code;
}

static int check_current(const struct command *c, struct current *ret)
{
	int r = mountinfo_at(c->directory, take_current, ret);

	if (r == -EINVAL)
		return fail(c, EXIT_FAIL, "it is no mount point; mount it without remount");
	if (r < 0)
		return fail(c, EXIT_FAIL, "%s", strerror(-r));
	if (strcmp(ret->type, MOUNTINFO_TYPE) != 0)
		return fail(c, EXIT_FAIL, "a filesystem of type %s is mounted there; expected " MOUNTINFO_TYPE,
			ret->type);
	if (!mount_spec_equal(ret->source, c->spec_text))
		return fail(c, EXIT_FAIL, SHORT " is mounted there, not " SHORT, SHORTEN(ret->source, 200),
			SHORTEN(c->spec_text, 200));
	return EXIT_OK;
}

/*
 * Asks the daemon for the options of its user and the options that it agreed with the server. -EACCES: the daemon is
 * another user's, and the kernel lets no other user ask.
 */
static int ask_options(const char *directory, struct mount_options *ret_given, struct mount_options *ret_agreed)
{
	_cleanup_close_ int fd = open(directory, CONTROL_OPEN_FLAGS);
	struct control_options answer;
	char sentence[512];

	if (fd < 0 || ioctl(fd, CONTROL_GET_OPTIONS, &answer) < 0)
		return -errno;
	answer.given[sizeof(answer.given) - 1] = answer.agreed[sizeof(answer.agreed) - 1] = '\0';
	options_init(ret_given);
	if (options_parse(ret_given, answer.given, false, sentence, sizeof(sentence)) < 0)
		return -EPROTO;
	*ret_agreed = *ret_given;
	if (options_parse(ret_agreed, answer.agreed, false, sentence, sizeof(sentence)) < 0)
		return -EPROTO;
	return 0;
}

/* Checks the options against the running mount's. Adds the mount flags that only the daemon knows to *flags. */
static int check_options(const struct command *c, unsigned long *flags)
{
	struct mount_options running, agreed, wanted;
	char sentence[512];
	int r = ask_options(c->directory, &running, &agreed);

	if (r == -EACCES) {
		options_init(&running);
		agreed = running;
	} else if (r < 0) {
		return fail(c, EXIT_FAIL, "%s",
			r == -ENOTCONN                 ? "the daemon of this mount has ended; unmount it"
			: r == -ENOTTY || r == -EPROTO ? "the daemon of this mount has another version, which cannot "
							 "tell its options; unmount it"
						       : strerror(-r));
	}
	wanted = running;
	wanted.remount = true;
	for (int i = 0; i < c->nlists; i++)
		if (options_parse(&wanted, c->lists[i], c->sloppy, sentence, sizeof(sentence)) < 0)
			return EXIT_USAGE; /* impossible: command_parse() has accepted the same lists */
	if (options_check_remount(&running, &agreed, &wanted, sentence, sizeof(sentence)) == 0) {
		/* mount(8) does not pass sync and async to the helper. */
		*flags |= options_mount_flags(&running) & MS_SYNCHRONOUS;
		return EXIT_OK;
	}
	log_error("%s", sentence);
	return EXIT_FAIL;
}

int remount_run(const struct command *c)
{
	/*
	 * With those of the defaults file, as mount(8) has those of fstab. sync is no flag that a remount changes:
	 * check_options() knows that of the running mount.
	 */
	unsigned long flags = options_mount_flags(&c->options) & ~(unsigned long)MS_SYNCHRONOUS;
	struct current current;
	int r = check_current(c, &current);

	if (r == EXIT_OK)
		r = check_options(c, &flags);
	if (r != EXIT_OK || c->fake)
		return r;
	/* Without one of these flags mount(2) would keep an old noatime. */
	if ((flags & MS_NOATIME) == 0)
		flags |= MS_RELATIME;
	/* The daemon belongs to that user, so its set-user-id bits and devices are not to be trusted. */
	if (current.users)
		flags |= MS_NOSUID | MS_NODEV;
	if (mount(NULL, c->directory, NULL, MS_REMOUNT | flags, NULL) == 0)
		return EXIT_OK;
	if (errno == EPERM || errno == EACCES)
		return fail(c, EXIT_USAGE, "only root may remount");
	return fail(c, EXIT_FAIL, "cannot be remounted: %s",
		errno == EBUSY ? "files on it are open for writing" : strerror(errno));
}
