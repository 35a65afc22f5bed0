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
	"\"names\":{\"local\":true,\"reason\":\"none\"},\"lookups\":{\"known\":20},"                             \
	"\"notices\":{\"leased\":true,\"watched\":true,\"received\":21,\"forgotten\":22},"                       \
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
		"  names         looked up and changed by the sidecar, 20 lookups known without a question\n"
		"  notices       names are believed for long; 21 received, for which the kernel forgot its names 22 "
		"times\n"
		"  backing ids   11 held, 12 of them idle, 13 of ended sessions; 14 opens got none (last: limit)\n"
		"  locks         15 held, 16 waited for; on this mount only: other clients do not see them\n");
}

static void a_local_mount_says_why_names_are_not(void **state)
{
	_cleanup_free_ char *text =
		text_of("{\"spec\":\"nas:/srv\",\"state\":\"local\",\"reason\":\"local\",\"detail\":\"\","
			"\"names\":{\"local\":false,\"reason\":\"other-mounts\"},\"lookups\":{\"known\":1},"
			"\"notices\":{\"leased\":false,\"watched\":false,\"received\":2,\"forgotten\":3}}");

	assert_non_null(
		strstr(text, "  names         looked up and changed by the NFS server (other-mounts), 1 lookups"));
	assert_non_null(strstr(text, "  notices       nothing is watched; 2 received"));
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

static char *list_of(const char *json)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	json_t *mounts = json_loads(json, 0, NULL);

	assert_non_null(mounts);
	assert_non_null(to);
	show_list(to, mounts);
	json_decref(mounts);
	(void)fclose(to);
	return text;
}

#define HEAD "STATE    REASON             EXPORT                         MOUNTPOINT\n"

static void a_list_has_a_line_per_mount_whatever_the_daemons_say(void **state)
{
	_cleanup_free_ char *text = list_of("[{\"state\":\"local\",\"reason\":\"local\",\"spec\":\"nas:/srv\","
					    "\"mountpoint\":\"/mnt\"},"
					    "{\"state\":\"\\u001b[2J\\n\",\"reason\":7,\"spec\":[\"nas:/srv\"],"
					    "\"mountpoint\":\"/a\\rb\"},"
					    "{\"state\":null,\"reason\":\"\",\"spec\":{}}, 7, null, []]");

	assert_string_equal(text, HEAD "local    local              nas:/srv                       /mnt\n"
				       "?[2J?    -                  -                              /a?b\n"
				       "-        -                  -                              -\n"
				       "-        -                  -                              -\n"
				       "-        -                  -                              -\n"
				       "-        -                  -                              -\n");
}

static void a_status_has_its_strings(void **state)
{
	static const char *const wrong[] = {"[]", "{}", "{\"spec\":\"a\",\"state\":\"b\",\"reason\":\"c\"}",
		"{\"spec\":\"a\",\"state\":\"b\",\"reason\":\"c\",\"detail\":1}",
		"{\"spec\":\"a\",\"state\":{},\"reason\":\"c\",\"detail\":\"d\"}"};
	json_t *right = json_loads("{\"spec\":\"a\",\"state\":\"b\",\"reason\":\"c\",\"detail\":\"d\"}", 0, NULL);

	assert_true(show_is_status(right));
	json_decref(right);
	assert_false(show_is_status(NULL));
	for (size_t n = 0; n < ARRAY_SIZE(wrong); n++) {
		json_t *json = json_loads(wrong[n], 0, NULL);

		assert_non_null(json);
		assert_false(show_is_status(json));
		json_decref(json);
	}
}

static char *event_of(const struct control_event *e, void (*show)(FILE *to, const struct control_event *e))
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	show(to, e);
	(void)fclose(to);
	return text;
}

static void an_event_is_a_line(void **state)
{
	const struct control_event e = {.request = 1,
		.fileid = 2,
		.bytes = 3,
		.ended_us = 86400000004,
		.took_us = 5,
		.uid = 6,
		.pid = 7,
		.error = ENOENT,
		.operation = "LOOKUP",
		.path = "sidecar"};
	_cleanup_free_ char *text = event_of(&e, show_event), *json = event_of(&e, show_event_json);

	assert_string_equal(text, "00:00:00.000004 LOOKUP          sidecar        5 us  uid 6     pid 7       file 2   "
				  "                3 B  "
				  "No such file or directory\n");
	assert_string_equal(json,
		"{\"request\":1,\"operation\":\"LOOKUP\",\"path\":\"sidecar\",\"ended_us\":86400000004,"
		"\"microseconds\":5,\"uid\":6,\"pid\":7,\"fileid\":2,\"bytes\":3,\"error\":2}\n");
}

/* No end, no UTF-8, no time, no errno. */
static void an_event_of_a_hostile_daemon_is_a_line_of_text(void **state)
{
	struct control_event e;

	for (int byte = 0; byte < 256; byte++) {
		_cleanup_free_ char *text = NULL, *json = NULL;
		json_t *read;

		memset(&e, byte, sizeof(e));
		memcpy(e.operation, "\033[2J\n", 5);
		text = event_of(&e, show_event);
		json = event_of(&e, show_event_json);
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
		for (const char *p = text; p[1]; p++)
			assert_true((unsigned char)*p >= 0x20 && *p != 0x7f && (unsigned char)*p < 0x80);
		read = json_loads(json, 0, NULL);
		assert_non_null(read);
		assert_memory_equal(json_string_value(json_object_get(read, "operation")), "?[2J?", 5);
		json_decref(read);
	}
	memset(&e, 0, sizeof(e));
	e.ended_us = INT64_MIN;
	e.error = INT32_MIN;
	free(event_of(&e, show_event));
	e.ended_us = INT64_MAX;
	free(event_of(&e, show_event));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_local_mount_has_all_lines),
		cmocka_unit_test(a_local_mount_says_why_names_are_not),
		cmocka_unit_test(a_remote_mount_says_why),
		cmocka_unit_test(keys_that_are_missing_or_of_another_type_are_empty),
		cmocka_unit_test(an_answer_of_another_program_is_no_status),
		cmocka_unit_test(a_list_has_a_line_per_mount_whatever_the_daemons_say),
		cmocka_unit_test(a_status_has_its_strings),
		cmocka_unit_test(an_event_is_a_line),
		cmocka_unit_test(an_event_of_a_hostile_daemon_is_a_line_of_text),
	};

	(void)setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
