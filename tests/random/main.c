/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * random-operations: runs the same random operations on a mount and on a local directory, as three users, and compares
 * all results. tests/integration/data/test-random-operations runs it.
 *
 * Exit status: 0 no difference, 1 a difference (reported on stdout), 2 the program could not run, 3 an operation did
 * not end.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "generate.h"
#include "journal.h"
#include "tree.h"
#include "base/util.h"
#include "witness.h"

struct settings {
	struct world_options world;
	uint64_t seed, operations, compare_every, switch_every;
	const char *trace, *replay;
};

static const char usage[] =
	"usage: random-operations --mount=DIR --server=DIR --reference=DIR --control=MOUNT\n"
	"           [--seed=N] [--operations=N] [--compare-every=N] [--switch-every=N] [--squash=0|1]\n"
	"           [--special-links=0|1] [--remembers=0|1] [--witness=DIR] [--trace=FILE] [--replay=FILE]\n"
	"Each DIR is empty. --mount is below the mount, --server the same directory on the server, --witness\n"
	"the same directory below another mount, --reference a directory of a local filesystem.\n"
	"--switch-every=N writes a line \"switch\" every N operations and waits for a line on stdin.\n";

static const struct word {
	const char *name;
	bool number;
	size_t offset;
} words[] = {
#define WORD(name, number, field)                                       \
	{                                                               \
		"--" name "=", number, offsetof(struct settings, field) \
	}
	WORD("mount", false, world.mount),
	WORD("server", false, world.server),
	WORD("reference", false, world.reference),
	WORD("control", false, world.control),
	WORD("witness", false, world.witness),
	WORD("squash", true, world.squash),
	WORD("special-links", true, world.special_links),
	WORD("remembers", true, world.remembers),
	WORD("seed", true, seed),
	WORD("operations", true, operations),
	WORD("compare-every", true, compare_every),
	WORD("switch-every", true, switch_every),
	WORD("trace", false, trace),
	WORD("replay", false, replay),
#undef WORD
};

static bool parse_word(const char *text, struct settings *s)
{
	for (size_t n = 0; n < ARRAY_SIZE(words); n++) {
		const struct word *w = &words[n];
		const char *value = text + strlen(w->name);

		if (strncmp(text, w->name, strlen(w->name)) != 0)
			continue;
		if (w->number)
			*(uint64_t *)((char *)s + w->offset) = strtoull(value, NULL, 10);
		else
			*(const char **)((char *)s + w->offset) = value;
		return true;
	}
	return false;
}

static void parse(int argc, char **argv, struct settings *s)
{
	bool good = true;

	for (int n = 1; n < argc; n++)
		good &= parse_word(argv[n], s);
	if (good && s->world.mount && s->world.server && s->world.reference && s->world.control)
		return;
	(void)fputs(usage, stderr);
	exit(2);
}

/* The caller of the program stops or starts the sidecar. Open files stay open. */
static void ask_for_switch(void)
{
	char answer[64];

	(void)printf("switch\n");
	(void)fflush(stdout);
	if (!fgets(answer, sizeof(answer), stdin))
		die("no answer to \"switch\"");
}

/* Reads the next operation of a list. False at its end. */
static bool next_of(FILE *replay, struct op *ret)
{
	static char line[OP_LINE_MAX];

	if (!fgets(line, sizeof(line), replay))
		return false;
	if (op_parse(line, ret) < 0)
		die("not an operation: %s", line);
	return true;
}

static int report(const struct verdict *v, unsigned number)
{
	(void)printf("difference at operation %u: %s\n", number, v->sentence);
	journal_report();
	return 1;
}

/* True if a multiple of every is after the number before and not after now. A list may lack some numbers. */
static bool passed(uint64_t every, unsigned before, unsigned now)
{
	return every && before / every != now / every;
}

static int run(const struct settings *s, struct world *w, struct pool *p)
{
	FILE *replay = s->replay ? fopen(s->replay, "re") : NULL;
	uint64_t done = 0;
	unsigned before;
	static struct op op;
	static struct step step;

	if (s->replay && !replay)
		die("%s: %s", s->replay, strerror(errno));
	while (replay || done < s->operations) {
		before = op.number;
		if (!replay)
			generate(p, w, s->seed, before + 1, &op);
		else if (!next_of(replay, &op))
			break;
		journal_begin(&op);
		step_run(w, p, &op, &step);
		journal_end(w, &op, &step);
		done += !step.skipped;
		if (step.verdict.differs)
			return report(&step.verdict, op.number);
		if (passed(s->switch_every, before, op.number))
			ask_for_switch();
		if (passed(s->compare_every, before, op.number))
			tree_compare(w, p, (int)(op.number / s->compare_every % ACTORS), &step.verdict);
		if (step.verdict.differs)
			return report(&step.verdict, op.number);
	}
	tree_compare(w, p, ROOT, &step.verdict);
	if (step.verdict.differs)
		return report(&step.verdict, op.number);
	if (replay)
		(void)fclose(replay);
	return 0;
}

int main(int argc, char **argv)
{
	struct settings s = {.seed = 1, .operations = 10000, .compare_every = 1000};
	static struct world w;
	struct pool *p = pool_new();
	int status;

	parse(argc, argv, &s);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)umask(0);
	world_init(&w, &s.world);
	if (!w.fine_times)
		(void)printf("skip - this kernel's times are too coarse to tell what an operation changed\n");
	journal_open(s.trace);
	status = run(&s, &w, p);
	if (status == 0)
		world_done(&w);
	if (s.world.witness)
		(void)printf("witness %u\n", witness_count());
	journal_summary();
	difference_summary();
	(void)fflush(stdout);
	p = pool_free(p);
	/* Without a leak check: the leak checker cannot attach to the threads of other users. */
	_exit(status);
}
