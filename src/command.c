/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "base/log.h"
#include "base/text.h"
#include "mount/defaults/defaults.h"

#define DEV_FD "/dev/fd/"

static void usage(const struct command *c)
{
	if (c->helper)
		(void)printf("usage: mount.localiofs SERVER:/EXPORT DIR [-sfnv] [-o OPTION[,OPTION...]]\n");
	else
		(void)printf("usage: localiofs SERVER:/EXPORT DIR [-o OPTION[,OPTION...]] [-f] [-d]\n"
			     "       localiofs SERVER:/EXPORT /dev/fd/N [-o OPTION[,OPTION...]] [-f] [-d]\n"
			     "       localiofs --fuse-socket=PATH SERVER:/EXPORT [-o OPTION[,OPTION...]] [-f] [-d]\n"
			     "       localiofs --help | --version\n\n"
			     "  -f, --foreground    stay in the foreground, and log to stderr\n"
			     "  -d, --debug         like -f, and log details\n"
			     "  --fuse-socket=PATH  get the descriptor of an existing mount from localiofs-mounter\n");
	(void)printf("\noptions:\n");
	options_usage(stdout);
	(void)printf("\nfiles:\n  " DEFAULTS_FILE "  defaults of these options\n");
}

static const char *switches(const struct command *c)
{
	return c->helper ? "-o OPTIONS, -s, -f, -n, -v, -t TYPE"
			 : "-o OPTIONS, -f, -d, --fuse-socket=PATH, --help, --version";
}

/* Handles one switch, which stands in argv as word. Returns EXIT_OK to go on. */
static int take_switch(struct command *c, int opt, const char *word, bool *debug)
{
	switch (opt) {
	case 'o':
		if (c->nlists == COMMAND_LISTS_MAX)
			return log_error_as(EXIT_USAGE,
				"-o was given more than %d times; join the options in one list, with commas",
				COMMAND_LISTS_MAX);
		c->lists[c->nlists++] = optarg;
		break;
	case 'f':
		c->fake = c->helper;
		c->foreground = !c->helper;
		break;
	case 'd':
		c->foreground = true;
		*debug = true;
		break;
	case 'S':
		c->fuse_socket = optarg;
		break;
	case 's':
		c->sloppy = true;
		break;
	case 'v': /* verbose: there are no further messages */
	case 'n': /* do not write mtab: there is none */
	case 't': /* the type in mount(8)'s arguments */
		break;
	case 'N':
		return log_error_as(EXIT_USAGE,
			"-N: localiofs cannot change its namespace; use nsenter(1) to mount in another namespace");
	case 'h':
		usage(c);
		exit(EXIT_OK);
	case 'V':
		version_print();
		exit(EXIT_OK);
	case ':':
		return log_error_as(EXIT_USAGE, SHORT ": a value is missing%s", SHORTEN(word, 80),
			optopt == 'o' ? "; expected a list of mount options" : "");
	default:
		return log_error_as(EXIT_USAGE, SHORT " is no switch; expected %s", SHORTEN(word, 80), switches(c));
	}
	return EXIT_OK;
}

static int third_argument(const char *word)
{
	(void)log_error_as(EXIT_USAGE, SHORT ": a third argument; expected only SERVER:/EXPORT and a directory",
		SHORTEN(word, 80));
	return -1;
}

/* given: the mount point as the user named it, or NULL. */
static int parse_options(struct command *c, const char *given, bool debug)
{
	struct defaults_for mount = {.host = c->spec.host, .directory = c->directory, .given = given};
	char sentence[512];

	/* After all switches, since -s (sloppy) may stand behind -o. */
	options_init(&c->options);
	if (defaults_apply(&c->options, DEFAULTS_FILE, &mount, c->sloppy, c->defaults, sizeof(c->defaults), sentence,
		    sizeof(sentence)) < 0)
		return log_error_as(EXIT_USAGE, "%s", sentence);
	c->options.debug |= debug;
	for (int i = 0; i < c->nlists; i++)
		c->options.remount |= options_ask_remount(c->lists[i]);
	for (int i = 0; i < c->nlists; i++)
		if (options_parse(&c->options, c->lists[i], c->sloppy, sentence, sizeof(sentence)) < 0)
			return log_error_as(EXIT_USAGE, "%s", sentence);
	return EXIT_OK;
}

/* Parses switches and arguments. Returns the number of arguments, or -1 after one line on stderr. */
static int parse_words(struct command *c, int argc, char **argv, const char **words, bool *debug)
{
	static const struct option direct[] = {{"foreground", no_argument, NULL, 'f'},
		{"debug", no_argument, NULL, 'd'}, {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'}, {"options", required_argument, NULL, 'o'},
		{"fuse-socket", required_argument, NULL, 'S'}, {0}};
	int n = 0, opt;

	opterr = 0;
	for (;;) {
		const char *word = argv[optind];

		opt = getopt_long(argc, argv, c->helper ? "-:o:sfnvt:N:hV" : "-:o:fdhV", direct, NULL);
		if (opt == -1)
			break;
		if (opt != 1 && take_switch(c, opt, word, debug) != EXIT_OK)
			return -1;
		/* Arguments may stand before and between the switches, as mount(8) has them. */
		if (opt == 1 && n == 2)
			return third_argument(optarg);
		if (opt == 1)
			words[n++] = optarg;
	}
	for (; optind < argc && n < 2; optind++)
		words[n++] = argv[optind];
	return optind < argc ? third_argument(argv[optind]) : n;
}

/* True if the mount point is /dev/fd/N: another program has mounted, and has given the descriptor N to this process. */
static bool is_descriptor(const char *word, int *ret)
{
	uint64_t fd;

	if (strncmp(word, DEV_FD, strlen(DEV_FD)) != 0 || parse_u64(word + strlen(DEV_FD), 0, INT32_MAX, &fd) < 0)
		return false;
	*ret = (int)fd;
	return true;
}

/* The mount exists already. Options that only mount(2) can put into effect must not be ignored. */
static int check_handed(const struct command *c, const char *word)
{
	static const struct {
		unsigned long flag;
		const char *name;
	} flags[] = {{MS_RDONLY, "ro"}, {MS_NOSUID, "nosuid"}, {MS_NODEV, "nodev"}, {MS_NOEXEC, "noexec"},
		{MS_NOATIME, "noatime"}};
	unsigned long given = options_mount_flags(&c->options);

	if (c->options.remount)
		return log_error_as(EXIT_USAGE, "remount: expected the directory of the mount, not its descriptor");
	if (!c->fuse_socket && c->fuse_fd <= STDERR_FILENO)
		return log_error_as(EXIT_USAGE, "mount point " SHORT ": expected a descriptor above 2",
			SHORTEN(word, 80));
	for (size_t n = 0; n < ARRAY_SIZE(flags); n++)
		if (given & flags[n].flag)
			return log_error_as(EXIT_USAGE,
				"option %s: the mount exists already; give this option to the program that has "
				"mounted, and neither here nor in " DEFAULTS_FILE,
				flags[n].name);
	return EXIT_OK;
}

int command_parse(struct command *c, int argc, char **argv)
{
	const char *words[2] = {NULL, NULL};
	char sentence[512];
	bool debug = false, handed;
	int n, r;

	c->fuse_fd = -1;
	n = parse_words(c, argc, argv, words, &debug);
	if (n < 0)
		return EXIT_USAGE;
	if (n < (c->fuse_socket ? 1 : 2))
		return log_error_as(EXIT_USAGE,
			"%s: expected SERVER:/EXPORT DIR [-o OPTIONS]; localiofs --help lists the options",
			n == 0 ? "no arguments" : "no directory");
	if (n == 2 && c->fuse_socket)
		return log_error_as(EXIT_USAGE,
			SHORT ": with --fuse-socket another program has mounted; expected only SERVER:/EXPORT",
			SHORTEN(words[1], 80));
	c->spec_text = words[0];
	if (mount_spec_parse(words[0], &c->spec, sentence, sizeof(sentence)) < 0)
		return log_error_as(EXIT_USAGE, "%s", sentence);
	handed = c->fuse_socket || is_descriptor(words[1], &c->fuse_fd);
	if (!handed && !realpath(words[1], c->directory))
		return log_error_as(EXIT_USAGE, "mount point " SHORT ": %s",
			SHORTEN(words[1][0] ? words[1] : "\"\"", 200), strerror(errno));
	r = parse_options(c, words[1], debug);
	return r == EXIT_OK && handed ? check_handed(c, words[1]) : r;
}
