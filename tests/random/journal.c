/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "journal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

#define ENTRIES      3000
#define ABOUT_MAX    6
#define REPORT_LINES 40
#define LAST_LINES   12
#define STUCK_AFTER  120 /* seconds for one operation */

struct entry {
	char *line; /* of op_print() */
	char outcome[160];
	struct key about[ABOUT_MAX]; /* the files of the operation */
	char *path, *path2;
};

static struct entry entries[ENTRIES];
static unsigned count;
static char line[OP_LINE_MAX];
static FILE *trace;
static unsigned long done[OP_COUNT], succeeded[OP_COUNT], errors[4096 / 16];

static void on_alarm(int number)
{
	static const char words[] = "random-operations: this operation does not end: ";

	(void)!write(STDERR_FILENO, words, sizeof(words) - 1);
	(void)!write(STDERR_FILENO, line, strlen(line));
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(3);
}

void journal_open(const char *path)
{
	struct sigaction sa = {.sa_handler = on_alarm};

	(void)sigaction(SIGALRM, &sa, NULL);
	if (!path)
		return;
	trace = fopen(path, "we");
	if (!trace)
		die("%s: %s", path, strerror(errno));
}

void journal_begin(const struct op *op)
{
	op_print(op, line, sizeof(line));
	(void)alarm(STUCK_AFTER);
}

static void add_about(struct entry *e, struct key key)
{
	for (size_t n = 0; n < ABOUT_MAX && key.ino; n++) {
		if (key_equal(e->about[n], key))
			return;
		if (e->about[n].ino == 0) {
			e->about[n] = key;
			return;
		}
	}
}

static void describe(struct entry *e, const struct world *w, const struct op *op, const struct step *s)
{
	const struct call *m = &w->call[MOUNT], *r = &w->call[REFERENCE];

	memset(e->about, 0, sizeof(e->about));
	add_about(e, s->expected.target);
	add_about(e, s->expected.victim);
	for (int n = 0; n < SEE_COUNT; n++)
		if (m->see & 1U << n && !(1U << n & (SEE_PARENT | SEE_PARENT2)) && r->seen[n].error == 0)
			add_about(e, key_of(&r->seen[n].stx));
	if (op_infos[op->kind].needs & NEEDS_SLOT && w->slots[op->slot].d)
		add_about(e, w->slots[op->slot].d->object->key);
	if (op_infos[op->kind].needs & NEEDS_MAP && w->maps[op->slot].d)
		add_about(e, w->maps[op->slot].d->object->key);
	(void)snprintf(e->outcome, sizeof(e->outcome), "%s (%" PRId64 "), reference %s (%" PRId64 ")",
		error_name(m->error), m->result, error_name(r->error), r->result);
}

static void trace_line(const char *outcome)
{
	if (!trace)
		return;
	(void)fprintf(trace, "%s # %s\n", line, outcome);
	(void)fflush(trace);
}

void journal_end(const struct world *w, const struct op *op, const struct step *s)
{
	struct entry *e = &entries[count % ENTRIES];

	(void)alarm(0);
	if (s->skipped) {
		trace_line("skipped");
		return;
	}
	count++;
	free(e->line);
	free(e->path);
	free(e->path2);
	e->line = strdup(line);
	e->path = strdup(op->path);
	e->path2 = strdup(op->path2);
	if (!e->line || !e->path || !e->path2)
		abort();
	describe(e, w, op, s);
	trace_line(e->outcome);
	done[op->kind]++;
	succeeded[op->kind] += w->call[MOUNT].error == 0;
	if (w->call[MOUNT].error > 0 && w->call[MOUNT].error < (int)ARRAY_SIZE(errors))
		errors[w->call[MOUNT].error]++;
}

static bool share_file(const struct entry *a, const struct entry *b)
{
	for (size_t n = 0; n < ABOUT_MAX; n++)
		for (size_t m = 0; m < ABOUT_MAX; m++)
			if (a->about[n].ino && key_equal(a->about[n], b->about[m]))
				return true;
	return false;
}

static bool same_path(const char *a, const char *b)
{
	return a[0] && strcmp(a, b) == 0;
}

static bool related(const struct entry *a, const struct entry *b)
{
	return share_file(a, b) || same_path(a->path, b->path) || same_path(a->path, b->path2) ||
	       same_path(a->path2, b->path) || same_path(a->path2, b->path2);
}

static void print_entry(const struct entry *e)
{
	(void)printf("  %.1000s\n      %s\n", e->line, e->outcome);
}

void journal_report(void)
{
	unsigned kept = MIN(count, ENTRIES), shown[REPORT_LINES], number = 0;

	if (kept == 0)
		return;
	for (unsigned n = 0; n < kept && number < REPORT_LINES; n++)
		if (n < LAST_LINES || related(&entries[(count - 1 - n) % ENTRIES], &entries[(count - 1) % ENTRIES]))
			shown[number++] = (count - 1 - n) % ENTRIES;
	(void)printf("the last operations, and those about the same files:\n");
	while (number > 0)
		print_entry(&entries[shown[--number]]);
}

void journal_summary(void)
{
	for (int k = 0; k < OP_COUNT; k++)
		(void)printf("kind %s %lu %lu\n", op_infos[k].name, done[k], succeeded[k]);
	for (int n = 1; n < (int)ARRAY_SIZE(errors); n++)
		if (errors[n])
			(void)printf("errno %s %lu\n", error_name(n), errors[n]);
}
