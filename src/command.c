/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

static void usage(const struct command *c)
{
	if (c->helper)
		(void)printf("usage: mount.localiofs SERVER:/EXPORT DIR [-sfnv] [-o OPTION[,OPTION...]]\n");
	else
		(void)printf("usage: localiofs SERVER:/EXPORT DIR [-o OPTION[,OPTION...]] [-f] [-d]\n"
			     "       localiofs --help | --version\n\n"
			     "  -f, --foreground  stay in the foreground, and log to stderr\n"
			     "  -d, --debug       like -f, and log details\n");
	(void)printf("\noptions:\n");
	options_usage(stdout);
}

static int PRINTF(1, 2) wrong(const char *format, ...)
{
	char sentence[512];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, ap);
	va_end(ap);
	log_error("%s", sentence);
	return EXIT_USAGE;
}

static const char *switches(const struct command *c)
{
	return c->helper ? "-o OPTIONS, -s, -f, -n, -v, -t TYPE" : "-o OPTIONS, -f, -d, --help, --version";
}

/* Handles one switch, which stands in argv as word. Returns EXIT_OK to go on. */
static int take_switch(struct command *c, int opt, const char *word, bool *debug)
{
	switch (opt) {
	case 'o':
		if (c->nlists == COMMAND_LISTS_MAX)
			return wrong("-o was given more than %d times; join the options in one list, with commas",
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
	case 's':
		c->sloppy = true;
		break;
	case 'v': /* verbose: there are no further messages */
	case 'n': /* do not write mtab: there is none */
	case 't': /* the type in mount(8)'s arguments */
		break;
	case 'N':
		return wrong("-N: localiofs cannot change its namespace; use nsenter(1) to mount in another namespace");
	case 'h':
		usage(c);
		exit(EXIT_OK);
	case 'V':
		(void)printf("localiofs %s\n", LOCALIOFS_VERSION);
		exit(EXIT_OK);
	case ':':
		return wrong(SHORT ": a value is missing%s", SHORTEN(word, 80),
			optopt == 'o' ? "; expected a list of mount options" : "");
	default:
		return wrong(SHORT " is no switch; expected %s", SHORTEN(word, 80), switches(c));
	}
	return EXIT_OK;
}

static int parse_options(struct command *c, bool debug)
{
	char sentence[512];

	/* After all switches, since -s (sloppy) may stand behind -o. */
	options_init(&c->options);
	c->options.debug = debug;
	for (int i = 0; i < c->nlists; i++)
		c->options.remount |= options_ask_remount(c->lists[i]);
	for (int i = 0; i < c->nlists; i++)
		if (options_parse(&c->options, c->lists[i], c->sloppy, sentence, sizeof(sentence)) < 0)
			return wrong("%s", sentence);
	return EXIT_OK;
}

int command_parse(struct command *c, int argc, char **argv)
{
	static const struct option direct[] = {{"foreground", no_argument, NULL, 'f'},
		{"debug", no_argument, NULL, 'd'}, {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'}, {"options", required_argument, NULL, 'o'}, {0}};
	const char *words[2] = {NULL, NULL};
	char sentence[512];
	bool debug = false;
	int n = 0, opt, r;

	opterr = 0;
	for (;;) {
		const char *word = argv[optind];

		opt = getopt_long(argc, argv, c->helper ? "-:o:sfnvt:N:hV" : "-:o:fdhV", direct, NULL);
		if (opt == -1)
			break;
		if (opt != 1)
			r = take_switch(c, opt, word, &debug);
		else if (n == 2) /* arguments may stand before and between the switches, as mount(8) has them */
			r = wrong(SHORT ": a third argument; expected only SERVER:/EXPORT and a directory",
				SHORTEN(optarg, 80));
		else {
			words[n++] = optarg;
			r = EXIT_OK;
		}
		if (r != EXIT_OK)
			return r;
	}
	for (; optind < argc && n < 2; optind++)
		words[n++] = argv[optind];
	if (optind < argc)
		return wrong(SHORT ": a third argument; expected only SERVER:/EXPORT and a directory",
			SHORTEN(argv[optind], 80));
	if (n < 2)
		return wrong("%s: expected SERVER:/EXPORT DIR [-o OPTIONS]; localiofs --help lists the options",
			n == 0 ? "no arguments" : "no directory");
	r = parse_options(c, debug);
	if (r != EXIT_OK)
		return r;
	c->spec_text = words[0];
	if (mount_spec_parse(words[0], &c->spec, sentence, sizeof(sentence)) < 0)
		return wrong("%s", sentence);
	if (!realpath(words[1], c->directory))
		return wrong("mount point " SHORT ": %s", SHORTEN(words[1][0] ? words[1] : "\"\"", 200),
			strerror(errno));
	return EXIT_OK;
}
