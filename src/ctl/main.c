/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * localioctl: asks localiofs mounts about their state. The table of commands, the words on the command line, the usage.
 */
#include <getopt.h>
#include <jansson.h>

#include "base/log.h"
#include "base/text.h"
#include "ctl/commands/ctl_command.h"

#define SWITCHES     "--json, --interval, --count, --batch, --control, -o OPTIONS, --help, --version"
#define MAX_INTERVAL 86400
#define MAX_COUNT    1000000000

enum about {
	ABOUT_MOUNTS,    /* mount points; none: all mounts */
	ABOUT_ONE_MOUNT, /* a mount point, and words of the command's own */
	ABOUT_MACHINE,   /* mount points; none: no mount */
};

struct ctl_command {
	const char *name;
	const char *arguments; /* for the usage */
	const char *help;      /* a sentence */
	int (*run)(const struct ctl_arguments *a);
	enum about about; /* the meaning of the words behind the command */
};

static const struct ctl_command commands[] = {
	{"status", "[--json] [MOUNTPOINT...]",
		"Says whether each mount is local, why not, and how its data is read and written.", status_command},
	{"list", "[--json] [MOUNTPOINT...]",
		"Lists the mounts, also those that hang or have lost their daemon, a line each.", list_command},
	{"stats", "[--interval SECONDS [--count N]] [--json] [MOUNTPOINT...]",
		"Says what each mount has done: operations, bytes, errors, times.", stats_command},
	{"top", "[--interval SECONDS [--count N]] [--batch] [MOUNTPOINT...]",
		"Shows the busiest mounts and operations again and again; q ends it.", top_command},
	{"trace", "[--count N] [--json] MOUNTPOINT",
		"Shows each request of the kernel to a mount when it has ended, until it is interrupted.",
		trace_command, ABOUT_ONE_MOUNT},
	{"probe", "[MOUNTPOINT...]", "Makes each mount find out at once whether its server is on this host.",
		probe_command},
	{"set", "MOUNTPOINT OPTION=VALUE...", "Changes options of a running mount.", set_command, ABOUT_ONE_MOUNT},
	{"sidecar", "[--json] [--control PATH]",
		"Shows root the sidecar of this host: exports, sessions, and who holds which files.", sidecar_command},
	{"ready", "[MOUNTPOINT...]", "Succeeds if each mount answers: for startup probes and units.", ready_command},
	{"doctor", "[--json] [SERVER:/EXPORT [-o OPTIONS] | MOUNTPOINT | FILE]",
		"Checks all that must be true for local paths, and says what to do.", doctor_command, ABOUT_MACHINE},
};

static void usage(void)
{
	for (size_t n = 0; n < ARRAY_SIZE(commands); n++)
		(void)printf("%s localioctl %s %s\n", n == 0 ? "usage:" : "      ", commands[n].name,
			commands[n].arguments);
	(void)printf("       localioctl --help | --version\n\n");
	for (size_t n = 0; n < ARRAY_SIZE(commands); n++)
		(void)printf("  %-8s %s\n", commands[n].name, commands[n].help);
	(void)printf(
		"\nWithout a MOUNTPOINT a command is about all localiofs mounts, and doctor about this machine.\n"
		"--json prints JSON instead of text: an object per mount, or of doctor's findings.\n"
		"--interval makes a report on every so many seconds, --count as many reports as given, or requests.\n"
		"--batch writes for a file or a pipe, without control of the terminal.\n"
		"-o OPTIONS gives doctor the options of a mount that is not there yet.\n"
		"--control names the socket of a sidecar that was started with its own --control=.\n");
}

static const struct ctl_command *find_command(const char *name)
{
	for (size_t n = 0; n < ARRAY_SIZE(commands); n++)
		if (strcmp(commands[n].name, name) == 0)
			return &commands[n];
	return NULL;
}

/* The names of all commands: "A, B or C". */
static void command_names(char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = '\0';
	for (size_t n = 0; n < ARRAY_SIZE(commands) && used < size; n++)
		used += (size_t)snprintf(ret + used, size - used, "%s%s",
			n == 0                          ? ""
			: n + 1 == ARRAY_SIZE(commands) ? " or "
							: ", ",
			commands[n].name);
}

static int wrong_command(const char *word)
{
	char names[200];

	command_names(names, sizeof(names));
	if (word)
		log_error("command " SHORT " is not known; expected %s", SHORTEN(word, 80), names);
	else
		log_error("no command was given; expected %s", names);
	return 1;
}

/* The number of a switch; an error is logged. */
static int take_number(const char *name, const char *word, unsigned most, unsigned *ret)
{
	uint64_t number;

	if (parse_u64(word, 1, most, &number) < 0) {
		log_error("switch %s " SHORT ": expected a number from 1 to %u", name, SHORTEN(word, 80), most);
		return -EINVAL;
	}
	*ret = (unsigned)number;
	return 0;
}

/* A wrong switch, or one without its value. */
static int wrong_switch(char **argv)
{
	if (optopt == 'i' || optopt == 'c')
		log_error("switch --%s: expected a number", optopt == 'i' ? "interval" : "count");
	else if (optopt == 's')
		log_error("switch --control: expected the path of a socket");
	else if (optopt)
		log_error("switch -%c is not known; expected " SWITCHES, optopt);
	else
		log_error("switch " SHORT " is not known; expected " SWITCHES, SHORTEN(argv[optind - 1], 80));
	return 1;
}

/* The switches. Returns -1, or the exit status where the program ends here. */
static int take_switches(struct ctl_arguments *a, int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'},
		{"interval", required_argument, NULL, 'i'}, {"count", required_argument, NULL, 'c'},
		{"batch", no_argument, NULL, 'b'}, {"control", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'}, {0}};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "ji:c:bo:s:hV", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			a->as_json = true;
			break;
		case 'b':
			a->batch = true;
			break;
		case 's':
			a->control = optarg;
			break;
		case 'i':
			if (take_number("--interval", optarg, MAX_INTERVAL, &a->interval) < 0)
				return 1;
			break;
		case 'c':
			if (take_number("--count", optarg, MAX_COUNT, &a->count) < 0)
				return 1;
			break;
		case 'o':
			a->options = optarg;
			break;
		case 'h':
			usage();
			return 0;
		case 'V':
			(void)printf("localioctl " LOCALIOFS_VERSION "\njansson %s\nlibnfs " BUILT_WITH_LIBNFS
				     " (when built)\n",
				jansson_version_str());
			return 0;
		default:
			return wrong_switch(argv);
		}
	}
	return -1;
}

/* The words behind the command. -EINVAL after a line on stderr; -ENOMEM. */
static int take_words(struct ctl_arguments *a, const struct ctl_command *command, char *const *words, size_t count)
{
	a->one_mount = count == 1;
	a->all_mounts = count == 0;
	if (command->about == ABOUT_ONE_MOUNT && count == 0)
		return log_error_as(-EINVAL, "no mount point was given; expected localioctl %s %s", command->name,
			command->arguments);
	if (command->about == ABOUT_ONE_MOUNT) {
		a->words = words + 1;
		a->nwords = count - 1;
		return mount_list_make(&a->mounts, words, 1);
	}
	return count == 0 && command->about == ABOUT_MACHINE ? 0 : mount_list_make(&a->mounts, words, count);
}

int main(int argc, char **argv)
{
	const struct ctl_command *command;
	struct ctl_arguments a = {0};
	int r, status = 1;

	log_open("localioctl");
	r = take_switches(&a, argc, argv);
	if (r >= 0)
		return r;
	command = optind < argc ? find_command(argv[optind]) : NULL;
	if (!command)
		return wrong_command(optind < argc ? argv[optind] : NULL);
	if (a.options && command->run != doctor_command) {
		log_error("switch -o is for doctor only; expected %s without it", command->name);
		return 1;
	}
	r = take_words(&a, command, argv + optind + 1, (size_t)(argc - optind - 1));
	if (r == -EINVAL)
		return 1;
	if (r < 0)
		log_error("cannot list the mounts: %s", strerror(-r));
	else
		status = command->run(&a);
	mount_list_done(&a.mounts);
	return status;
}
