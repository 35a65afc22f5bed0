/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "ctl/doctor/doctor_checks.h"

static const char *const words[] =
	{[CHECK_OK] = "ok", [CHECK_ADVICE] = "advice", [CHECK_FAIL] = "fail", [CHECK_UNKNOWN] = "unknown"};

static void verdict(FILE *to, const struct finding *findings)
{
	static const char *const sentences[] = {"The fast path works.", "The fast path does not work: see \"fail\".",
		"It could not be found out whether the fast path works: see \"unknown\"."};

	(void)fprintf(to, "%s\n", sentences[doctor_exit_status(findings)]);
}

void doctor_print_text(FILE *to, const struct finding *findings)
{
	for (size_t n = 0; n < doctor_checks_size; n++) {
		const struct finding *d = &findings[n];
		char found[sizeof(d->found)], todo[sizeof(d->todo)];

		(void)snprintf(found, sizeof(found), "%s", d->found);
		text_clean(found);
		(void)snprintf(todo, sizeof(todo), "%s", d->todo);
		text_clean(todo);
		if (d->result == CHECK_SKIPPED && d->because)
			(void)fprintf(to, "%-8s %-19s not checked: %s\n", "-", doctor_checks[n].id, d->because);
		if (d->result == CHECK_SKIPPED)
			continue;
		(void)fprintf(to, "%-8s %-19s %s\n", words[d->result], doctor_checks[n].id, found);
		if (d->result != CHECK_OK)
			(void)fprintf(to, "%28s %s\n%28s To do: %s\n", "", d->meaning, "", todo);
	}
	verdict(to, findings);
}

/* Text that is clean is UTF-8. */
static json_t *clean_json(const char *text)
{
	_cleanup_free_ char *copy = strdup(text);

	if (!copy)
		return NULL;
	text_clean(copy);
	return json_string(copy);
}

json_t *doctor_json(const struct finding *findings)
{
	json_t *checks = json_array(), *unchecked = json_array();

	for (size_t n = 0; n < doctor_checks_size; n++) {
		const struct finding *d = &findings[n];
		const char *id = doctor_checks[n].id;

		if (d->result == CHECK_SKIPPED && d->because)
			(void)json_array_append_new(unchecked,
				json_pack("{s:s, s:s}", "id", id, "because", d->because));
		else if (d->result == CHECK_UNKNOWN)
			(void)json_array_append_new(unchecked,
				json_pack("{s:s, s:o, s:s, s:o}", "id", id, "because", clean_json(d->found), "meaning",
					d->meaning, "todo", clean_json(d->todo)));
		else if (d->result != CHECK_SKIPPED)
			(void)json_array_append_new(checks,
				json_pack("{s:s, s:s, s:o, s:s, s:o}", "id", id, "result", words[d->result], "found",
					clean_json(d->found), "meaning", d->meaning, "todo", clean_json(d->todo)));
	}
	return json_pack("{s:o, s:o}", "checks", checks, "unchecked", unchecked);
}
