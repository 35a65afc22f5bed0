/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * localioctl top: the busiest mounts and operations, again and again. On a terminal each report replaces the one before
 * and q ends the program; into a pipe, or with --batch, the reports follow each other.
 */
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/clock.h"
#include "ctl/commands/ctl_command.h"
#include "ctl/stats/report_text.h"
#include "ctl/stats/rounds.h"

#define DEFAULT_INTERVAL 2
#define BATCH_LINES      1000
#define HEAD_LINES       2

struct screen {
	bool on;               /* the terminal shows the last report alone, and gives each key at once */
	struct termios before; /* of the terminal */
};

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
	ended = 1;
}

/* Ctrl-C and the like must leave the terminal as it was. */
static void screen_open(struct screen *s, bool batch)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct termios raw;

	s->on = !batch && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &s->before) == 0;
	if (!s->on)
		return;
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGHUP, &action, NULL);
	raw = s->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static void screen_close(const struct screen *s)
{
	if (s->on)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
}

static size_t screen_lines(const struct screen *s)
{
	struct winsize size;

	if (!s->on || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row <= HEAD_LINES)
		return BATCH_LINES;
	return size.ws_row - HEAD_LINES;
}

/* Waits for a moment, now_ms(). False if the user has ended the program meanwhile. */
static bool screen_wait(const struct screen *s, uint64_t moment)
{
	struct pollfd keys = {.fd = s->on ? STDIN_FILENO : -1, .events = POLLIN};

	for (uint64_t now = now_ms(); now < moment && !ended; now = now_ms()) {
		char key;

		if (poll(&keys, 1, (int)(moment - now)) <= 0)
			continue;
		if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q')
			return false;
	}
	return !ended;
}

static void show(const struct screen *s, const json_t *reports, unsigned interval)
{
	time_t now = time(NULL);
	char clock[32] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	if (s->on)
		(void)fputs("\033[H\033[J", stdout);
	(void)printf("localioctl top - %s, %zu mounts, every %u s%s\n", clock, json_array_size(reports), interval,
		s->on ? ", q: quit" : "");
	report_top(stdout, reports, screen_lines(s));
	if (!s->on)
		(void)putchar('\n');
}

/* One report. Without mount points on the command line the mounts are those of this moment. */
static int round_of(const struct ctl_arguments *a, struct rounds *rounds, const struct screen *s, unsigned interval)
{
	struct mount_list fresh = {0};
	bool failed = false;
	json_t *reports;

	if (a->all_mounts && mount_list_make(&fresh, NULL, 0) < 0)
		failed = true;
	reports = rounds_next(rounds, a->all_mounts ? &fresh : &a->mounts, &failed);
	show(s, reports, interval);
	json_decref(reports);
	mount_list_done(&fresh);
	return failed;
}

int top_command(const struct ctl_arguments *a)
{
	unsigned interval = a->interval > 0 ? a->interval : DEFAULT_INTERVAL;
	struct rounds rounds = {0};
	struct screen screen;
	uint64_t next = now_ms();
	int failed = 0;

	screen_open(&screen, a->batch);
	for (unsigned n = 0; a->count == 0 || n < a->count; n++) {
		if (!screen_wait(&screen, next))
			break;
		next = now_ms() + interval * UINT64_C(1000);
		failed = round_of(a, &rounds, &screen, interval);
		if (fflush(stdout) != 0)
			break;
	}
	screen_close(&screen);
	rounds_done(&rounds);
	return failed;
}
