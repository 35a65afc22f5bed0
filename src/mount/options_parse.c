/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mount options: the defaults, and the parser of -o lists. */
#include "mount/options_table.h"

#include <sys/mount.h>

#include "base/text.h"

void options_init(struct mount_options *o)
{
	memset(o, 0, sizeof(*o));
	for (size_t n = 0; n < option_table_size; n++) {
		const struct option_entry *e = &option_table[n];

		if (e->initial_text)
			memcpy((char *)o + e->offset, e->initial_text, strlen(e->initial_text) + 1);
		else if (e->initial != 0)
			memcpy((char *)o + e->offset, &e->initial, sizeof(e->initial));
	}
}

/* True if a word of the list equals the value, which is length bytes long. */
static bool has_word(const char *list, char separator, const char *value, size_t length)
{
	for (const char *end; list; list = end ? end + 1 : NULL) {
		end = strchr(list, separator);
		if ((end ? (size_t)(end - list) : strlen(list)) == length && memcmp(list, value, length) == 0)
			return true;
	}
	return false;
}

static int take_host(struct mount_options *o, const struct option_entry *e, const char *value, char *sentence,
	size_t size)
{
	size_t length = strlen(value);

	if (value[0] == '[' && length > 1 && value[length - 1] == ']') {
		value++;
		length -= 2;
	}
	if (length == 0 || length >= e->max) {
		(void)snprintf(sentence, size,
			"option %s=" SHORT ": expected a host name or an address shorter than %u bytes", e->name,
			SHORTEN(value, 80), e->max);
		return -EINVAL;
	}
	memcpy((char *)o + e->offset, value, length);
	((char *)o)[e->offset + length] = '\0';
	return 0;
}

static int take_choice(struct mount_options *o, const struct option_entry *e, const char *value, char *sentence,
	size_t size)
{
	for (unsigned n = 0; e->choices[n]; n++) {
		if (e->choices[n][0] == '\0') /* the default, which has no word */
			continue;
		if (e->flags & OPTION_LISTED ? !has_word(value, ':', e->choices[n], strlen(e->choices[n]))
					     : !has_word(e->choices[n], '|', value, strlen(value)))
			continue;
		if (e->offset != OPTION_NO_FIELD)
			memcpy((char *)o + e->offset, &n, sizeof(n));
		return 0;
	}
	(void)snprintf(sentence, size, "option %s=" SHORT ": expected %s", e->name, SHORTEN(value, 80), e->form);
	return -EINVAL;
}

static int take_number(struct mount_options *o, const struct option_entry *e, const char *value, char *sentence,
	size_t size)
{
	uint64_t number;
	unsigned n;

	if (parse_u64(value, e->min, e->flags & OPTION_CLAMPED ? UINT32_MAX : e->max, &number) < 0) {
		if (e->min == e->max)
			(void)snprintf(sentence, size, "option %s=" SHORT ": expected %u", e->name, SHORTEN(value, 80),
				e->min);
		else
			(void)snprintf(sentence, size, "option %s=" SHORT ": expected a number from %u to %u", e->name,
				SHORTEN(value, 80), e->min, e->max);
		return -EINVAL;
	}
	n = (unsigned)MIN(number, e->max);
	for (unsigned i = 0; i < MAX(e->span, 1U) && e->offset != OPTION_NO_FIELD; i++)
		memcpy((char *)o + e->offset + i * sizeof(n), &n, sizeof(n));
	return 0;
}

static int take_path(struct mount_options *o, const struct option_entry *e, const char *value, char *sentence,
	size_t size)
{
	if (value[0] != '/' || strlen(value) >= e->max) {
		(void)snprintf(sentence, size, "option %s=" SHORT ": expected an absolute path shorter than %u bytes",
			e->name, SHORTEN(value, 80), e->max);
		return -EINVAL;
	}
	memcpy((char *)o + e->offset, value, strlen(value) + 1);
	return 0;
}

/* -EINVAL and a sentence that says what to use instead, if localiofs refuses a value that the kernel's client takes. */
static int check_refused(const struct option_entry *e, const char *value, char *sentence, size_t size)
{
	const char *name = strcmp(e->name, "nfsvers") == 0 ? "vers" : e->name;

	for (size_t n = 0; n < refused_values_size; n++)
		if (strcmp(refused_values[n].option, name) == 0 && strcmp(refused_values[n].value, value) == 0) {
			(void)snprintf(sentence, size, "option %s=%s: %s", e->name, value, refused_values[n].help);
			return -EINVAL;
		}
	return 0;
}

/* Stores the value of a known option; value is NULL where the option has none. */
static int take_option(struct mount_options *o, const struct option_entry *e, const char *value, char *sentence,
	size_t size)
{
	bool needs_value = e->kind == OPTION_NUMBER || e->kind == OPTION_PATH || e->kind == OPTION_HOST ||
			   e->kind == OPTION_CHOICE;
	bool flag;

	if (e->kind == OPTION_SHOWN)
		return 0;
	if (e->kind == OPTION_REFUSE) {
		(void)snprintf(sentence, size, "option %s: %s", e->name, e->help);
		return -EINVAL;
	}
	if (e->flags & OPTION_BARE && !value)
		value = e->choices[0];
	if (needs_value && !value) {
		(void)snprintf(sentence, size, "option %s: expected %s=%s", e->name, e->name,
			e->form ? e->form : "VALUE");
		return -EINVAL;
	}
	if (!needs_value && value && !(e->kind == OPTION_ACCEPT && e->value)) {
		(void)snprintf(sentence, size, "option %s=" SHORT ": %s takes no value", e->name, SHORTEN(value, 80),
			e->name);
		return -EINVAL;
	}
	if (value && check_refused(e, value, sentence, size) < 0)
		return -EINVAL;
	switch (e->kind) {
	case OPTION_FLAG:
		flag = e->value;
		memcpy((char *)o + e->offset, &flag, sizeof(flag));
		return 0;
	case OPTION_SET:
		memcpy((char *)o + e->offset, &e->value, sizeof(e->value));
		return 0;
	case OPTION_NUMBER:
		return take_number(o, e, value, sentence, size);
	case OPTION_PATH:
		return take_path(o, e, value, sentence, size);
	case OPTION_HOST:
		return take_host(o, e, value, sentence, size);
	case OPTION_CHOICE:
		return take_choice(o, e, value, sentence, size);
	default:
		return 0;
	}
}

/* True if the option is for mount(8) alone. Older versions of mount(8) give such options to the helper. */
static bool is_userspace_option(const char *name)
{
	return strncmp(name, "x-", 2) == 0 || strncmp(name, "X-", 2) == 0 || strncmp(name, "comment=", 8) == 0 ||
	       strncmp(name, "user=", 5) == 0;
}

static const struct option_entry *find_entry(const struct mount_options *o, const char *name)
{
	for (size_t n = 0; n < option_table_size; n++)
		if (strcmp(option_table[n].name, name) == 0)
			return option_table[n].kind == OPTION_SHOWN && !o->remount ? NULL : &option_table[n];
	return NULL;
}

static int parse_one(struct mount_options *o, char *text, bool sloppy, char *sentence, size_t size)
{
	const struct option_entry *e;
	char *value;

	if (*text == '\0' || is_userspace_option(text))
		return 0;
	value = strchr(text, '=');
	if (value)
		*value++ = '\0';
	e = find_entry(o, text);
	if (e)
		return take_option(o, e, value, sentence, size);
	if (sloppy)
		return 0;
	(void)snprintf(sentence, size, "option " SHORT " is not known; localiofs --help lists those that are",
		SHORTEN(text, 80));
	return -EINVAL;
}

int options_take_default(struct mount_options *o, char *text, bool sloppy, char *sentence, size_t size)
{
	_cleanup_free_ char *name = strndup(text, strcspn(text, "="));
	const struct option_entry *e;

	if (!name)
		return -ENOMEM;
	e = find_entry(o, name);
	if (is_userspace_option(text) || (e && (e->kind == OPTION_ACCEPT || e->mount_flag == MS_RDONLY ||
						       e->offset == offsetof(struct mount_options, remount)))) {
		(void)snprintf(sentence, size,
			"option " SHORT ": it has no effect here; give it to mount(8) or in fstab", SHORTEN(name, 80));
		return -EINVAL;
	}
	return parse_one(o, text, sloppy, sentence, size);
}

/*
 * Copies the first option of *list, without the backslashes and quotation marks that protect commas, and moves *list to
 * the next option, or to NULL. False if a quotation mark is not closed.
 */
static bool next_option(const char **list, char *ret)
{
	const char *p = *list;
	bool quoted = false;

	for (; *p != '\0' && (quoted || *p != ','); p++) {
		if (*p == '"') {
			quoted = !quoted;
			continue;
		}
		if (*p == '\\' && p[1] != '\0')
			p++;
		*ret++ = *p;
	}
	*ret = '\0';
	*list = *p == ',' ? p + 1 : NULL;
	return !quoted;
}

int options_parse(struct mount_options *o, const char *list, bool sloppy, char *sentence, size_t size)
{
	_cleanup_free_ char *one = malloc(strlen(list) + 1);

	if (!one)
		return -ENOMEM;
	while (list) {
		int r;

		if (!next_option(&list, one)) {
			(void)snprintf(sentence, size, "option " SHORT ": expected a second quotation mark",
				SHORTEN(one, 80));
			return -EINVAL;
		}
		r = parse_one(o, one, sloppy, sentence, size);
		if (r < 0)
			return r;
	}
	return 0;
}

bool options_ask_remount(const char *list)
{
	_cleanup_free_ char *one = malloc(strlen(list) + 1);

	while (one && list && next_option(&list, one))
		if (strcmp(one, "remount") == 0)
			return true;
	return false;
}
