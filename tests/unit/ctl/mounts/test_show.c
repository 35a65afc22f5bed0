/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include "base/util.h"
#include "ctl/mounts/show.h"

/* A status with a value at every key that the text names. */
#define STATUS(state, reason, transport, connections, noticed)                                                   \
	"{\"spec\":\"nas:/srv\",\"state\":\"" state "\",\"reason\":\"" reason "\",\"detail\":\"a sentence\","    \
	"\"transport\":\"t\",\"transport_reason\":\"" transport "\",\"transport_detail\":\"another\","           \
	"\"server\":{\"address\":\"10.0.0.1\",\"connections\":[" connections "]},"                               \
	"\"sidecar\":{\"export\":\"/srv\",\"peer\":\"10.0.0.2:700\"},\"probe\":{\"last\":86400,\"attempts\":3}," \
	"\"opens\":{\"passthrough\":4,\"uring\":5,\"remote\":6},"                                                \
	"\"options\":{\"all\":\"rw,hard\"},"                                                                     \
	"\"requests\":{\"read\":7,\"write\":8,\"bytes_read\":9,\"bytes_written\":10},"                           \
	"\"backing_ids\":{\"held\":11,\"idle\":12,\"left_over\":13},"                                            \
	"\"grants\":{\"denied\":14,\"last_denial\":\"limit\"},"                                                  \
	"\"locks\":{\"locked\":15,\"waiting\":16,\"noticed\":" noticed "}}"

static char *text_of(const char *json)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	json_t *status = json_loads(json, 0, NULL);

	assert_non_null(status);
	assert_non_null(to);
	show_text(to, "/mnt", status);
	json_decref(status);
	(void)fclose(to);
	return text;
}

static void a_local_mount_has_all_lines(void **state)
{
	_cleanup_free_ char *text = text_of(STATUS("local", "local", "none", "{\"connected\":true}", "true"));

	assert_string_equal(text,
		"nas:/srv on /mnt\n"
		"  state         local\n"
		"  options       rw,hard\n"
		"  transport     t\n"
		"  server        10.0.0.1, connected\n"
		"  sidecar       exports /srv, sees us at 10.0.0.2:700\n"
		"  last probe    1970-01-02 00:00:00 (3 so far)\n"
		"  opens         passthrough 4, uring 5, remote 6\n"
		"  requests      read 7 (9 bytes), write 8 (10 bytes) at the daemon\n"
		"  backing ids   11 held, 12 of them idle, 13 of ended sessions; 14 opens got none (last: limit)\n"
		"  locks         15 held, 16 waited for; on this mount only: other clients do not see them\n");
}

static void a_remote_mount_says_why(void **state)
{
	_cleanup_free_ char *text =
		text_of(STATUS("remote", "no-broker", "off", "{\"connected\":true},{\"connected\":false}", "false"));

	assert_string_equal(text,
		"nas:/srv on /mnt\n"
		"  state         remote (no-broker: a sentence)\n"
		"  options       rw,hard\n"
		"  transport     t (off: another)\n"
		"  server        10.0.0.1, 1 of 2 connections up\n"
		"  last probe    1970-01-02 00:00:00 (3 so far)\n"
		"  opens         passthrough 4, uring 5, remote 6\n"
		"  requests      read 7 (9 bytes), write 8 (10 bytes) at the daemon\n"
		"  backing ids   11 held, 12 of them idle, 13 of ended sessions; 14 opens got none (last: limit)\n");
}

/* The daemon may be an older one, or a hostile one. */
static void keys_that_are_missing_or_of_another_type_are_empty(void **state)
{
	_cleanup_free_ char *text = text_of("{\"spec\":\"{state}\",\"state\":\"remote\",\"reason\":\"limit\","
					    "\"detail\":\"\\u001b[2J\",\"opens\":7,\"requests\":{\"read\":\"many\"}}");

	assert_string_equal(text,
		"{state} on /mnt\n"
		"  state         remote (limit: ?[2J)\n"
		"  server        , not connected\n"
		"  last probe    never (0 so far)\n"
		"  opens         passthrough 0, uring 0, remote 0\n"
		"  requests      read 0 (0 bytes), write 0 (0 bytes) at the daemon\n"
		"  backing ids   0 held, 0 of them idle, 0 of ended sessions; 0 opens got none (last: )\n");
}

static void an_answer_of_another_program_is_no_status(void **state)
{
	_cleanup_free_ char *text = text_of("[1]");

	assert_string_equal(text, "/mnt: the daemon's answer is not the status of a localiofs mount\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_local_mount_has_all_lines),
		cmocka_unit_test(a_remote_mount_says_why),
		cmocka_unit_test(keys_that_are_missing_or_of_another_type_are_empty),
		cmocka_unit_test(an_answer_of_another_program_is_no_status),
	};

	(void)setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
