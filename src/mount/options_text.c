/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mount options as text: lists for -o, the comparison for a remount, the usage. */
#include "mount/options_table.h"

#include "base/text.h"

#include <sys/mount.h>

/* True for the option "remount" itself, which asks for an action and is no state of a mount. */
static bool is_remount(const struct option_entry *e)
{
	return e->offset == offsetof(struct mount_options, remount);
}

static const void *field(const struct mount_options *o, const struct option_entry *e)
{
	return (const char *)o + e->offset;
}

/* True if this option is one that o could have been made of. */
static bool is_set(const struct mount_options *o, const struct option_entry *e)
{
	unsigned number;
	bool flag;

	if (e->offset == OPTION_NO_FIELD || e->span > 0) /* each field of a span has an entry of its own */
		return false;
	switch (e->kind) {
	case OPTION_FLAG:
		memcpy(&flag, field(o, e), sizeof(flag));
		return flag == (bool)e->value;
	case OPTION_SET:
		memcpy(&number, field(o, e), sizeof(number));
		return number == e->value;
	case OPTION_NUMBER:
		memcpy(&number, field(o, e), sizeof(number));
		return number >= e->min && number <= e->max;
	case OPTION_CHOICE:
		memcpy(&number, field(o, e), sizeof(number));
		return e->choices[number][0] != '\0';
	case OPTION_PATH:
	case OPTION_HOST:
		return *(const char *)field(o, e) != '\0';
	default:
		return false;
	}
}

/* NAME, or NAME=VALUE with the value of o. */
static void write_option(const struct mount_options *o, const struct option_entry *e, char *buf, size_t size)
{
	bool plain = e->kind == OPTION_FLAG || e->kind == OPTION_SET;
	unsigned number;
	size_t n;

	n = (size_t)snprintf(buf, size, "%s%s", e->name, plain ? "" : "=");
	if (n >= size)
		return;
	if (e->kind == OPTION_NUMBER || e->kind == OPTION_CHOICE)
		memcpy(&number, field(o, e), sizeof(number));
	if (e->kind == OPTION_NUMBER)
		(void)snprintf(buf + n, size - n, "%u", number);
	else if (e->kind == OPTION_CHOICE)
		(void)snprintf(buf + n, size - n, "%.*s", (int)strcspn(e->choices[number], "|"), e->choices[number]);
	else if (e->kind == OPTION_PATH || e->kind == OPTION_HOST)
		(void)snprintf(buf + n, size - n, "%s", (const char *)field(o, e));
}

int options_text(const struct mount_options *o, char *buf, size_t size)
{
	size_t used = 0;

	for (size_t n = 0; n < option_table_size; n++) {
		char one[300]; /* a name and the longest text */

		if (!is_set(o, &option_table[n]) || is_remount(&option_table[n]))
			continue;
		write_option(o, &option_table[n], one, sizeof(one));
		if (used + 2 * strlen(one) + 2 > size)
			return -ENOBUFS;
		if (used > 0)
			buf[used++] = ',';
		for (const char *p = one; *p; p++) {
			if (*p == ',' || *p == '\\' || *p == '"')
				buf[used++] = '\\';
			buf[used++] = *p;
		}
		buf[used] = '\0';
	}
	return 0;
}

unsigned long options_mount_flags(const struct mount_options *o)
{
	/*
	 * The entry of sync has no .mount_flag: a remount cannot change it, as the daemon would not learn of the
	 * change.
	 */
	unsigned long flags = o->sync ? MS_SYNCHRONOUS : 0;

	for (size_t n = 0; n < option_table_size; n++)
		if (option_table[n].mount_flag != 0 && option_table[n].value == 1 && is_set(o, &option_table[n]))
			flags |= option_table[n].mount_flag;
	return flags;
}

static bool same_value(const struct mount_options *a, const struct mount_options *b, const struct option_entry *e)
{
	if (e->kind == OPTION_PATH || e->kind == OPTION_HOST)
		return strcmp(field(a, e), field(b, e)) == 0;
	return memcmp(field(a, e), field(b, e), e->kind == OPTION_FLAG ? sizeof(bool) : sizeof(unsigned)) == 0;
}

int options_check_remount(const struct mount_options *running, const struct mount_options *agreed,
	const struct mount_options *wanted, char *sentence, size_t size)
{
	for (size_t n = 0; n < option_table_size; n++) {
		const struct option_entry *e = &option_table[n];
		char new[300], old[300];

		if (e->mount_flag != 0 || is_remount(e) || !is_set(wanted, e) || same_value(wanted, running, e) ||
			same_value(wanted, agreed, e))
			continue;
		write_option(wanted, e, new, sizeof(new));
		write_option(agreed, e, old, sizeof(old));
		(void)snprintf(sentence, size, "option " SHORT ": a remount cannot change %s%s; %s", SHORTEN(new, 80),
			is_set(agreed, e) ? old : e->name, is_set(agreed, e) ? "" : ", which was not given",
			(e->flags & OPTION_LIVE) != 0 ? "localioctl set can" : "unmount it and mount it again");
		return -EINVAL;
	}
	return 0;
}

int options_check_change(const struct mount_options *running, const struct mount_options *wanted, char *sentence,
	size_t size)
{
	for (size_t n = 0; n < option_table_size; n++) {
		const struct option_entry *e = &option_table[n];
		char new[300];

		if ((e->flags & OPTION_LIVE) != 0 || !is_set(wanted, e) || same_value(wanted, running, e))
			continue;
		write_option(wanted, e, new, sizeof(new));
		(void)snprintf(sentence, size, "option " SHORT " cannot be changed while the mount runs; %s",
			SHORTEN(new, 80),
			e->mount_flag != 0 ? "mount -o remount changes it" : "unmount it and mount it again");
		return -EINVAL;
	}
	return 0;
}

static void names_of_kind(FILE *to, const char *title, enum option_kind kind)
{
	(void)fprintf(to, "  %s:", title);
	for (size_t n = 0; n < option_table_size; n++)
		if (option_table[n].kind == kind)
			(void)fprintf(to, " %s", option_table[n].name);
	for (size_t n = 0; n < refused_values_size && kind == OPTION_REFUSE; n++)
		(void)fprintf(to, " %s=%s", refused_values[n].option, refused_values[n].value);
	(void)fprintf(to, "\n");
}

static void names_of_live(FILE *to)
{
	(void)fprintf(to, "  accepted without unmounting, by localioctl set:");
	for (size_t n = 0; n < option_table_size; n++)
		if (option_table[n].flags & OPTION_LIVE)
			(void)fprintf(to, " %s", option_table[n].name);
	(void)fprintf(to, "\n");
}

void options_usage(FILE *to)
{
	for (size_t n = 0; n < option_table_size; n++) {
		const struct option_entry *e = &option_table[n];
		char form[64];

		if (!e->help || e->kind == OPTION_REFUSE)
			continue;
		(void)snprintf(form, sizeof(form), "%s%s%s", e->name, e->form ? "=" : "", e->form ? e->form : "");
		(void)fprintf(to, "  %-28s %s\n", form, e->help);
	}
	names_of_live(to);
	names_of_kind(to, "accepted without effect", OPTION_ACCEPT);
	names_of_kind(to, "accepted with remount", OPTION_SHOWN);
	names_of_kind(to, "refused", OPTION_REFUSE);
}
