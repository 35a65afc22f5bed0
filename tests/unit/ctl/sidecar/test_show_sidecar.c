/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include "base/util.h"
#include "ctl/sidecar/show_sidecar.h"

static char *text_of(const char *json)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	json_t *view = json_loads(json, 0, NULL);

	assert_non_null(view);
	assert_non_null(to);
	show_sidecar(to, view);
	json_decref(view);
	(void)fclose(to);
	return text;
}

static void a_session_has_its_process_and_its_files(void **state)
{
	_cleanup_free_ char *text = text_of(
		"{\"sessions\":[{\"number\":17,\"pid\":47,\"program\":\"localiofs\",\"uid\":1000,\"state\":\"ready\","
		"\"trusted\":true,"
		"\"held\":3,\"held_most\":9,\"opens\":5,\"refused\":1,\"last_refusal\":\"set-id\","
		"\"pins\":[{\"export\":\"/srv\",\"device\":\"8:1\",\"files\":3,\"writable\":1}],"
		"\"files\":[{\"path\":\"/srv/a\",\"inode\":5,\"kind\":\"id\",\"writable\":true,\"uid\":7},"
		"{\"path\":\"\",\"inode\":6,\"kind\":\"descriptor\",\"writable\":false,\"uid\":8}],"
		"\"files_left_out\":1}]}");

	assert_non_null(strstr(text, "session 17 of pid 47 (localiofs), uid 1000: ready"));
	assert_non_null(strstr(text, ", trusted\n"));
	assert_non_null(strstr(text, "3 held of at most 9; 5 opens, 1 refused (the last: set-id)\n"));
	assert_non_null(strstr(text, "/srv (device 8:1): its directory and 3 files, 1 writable\n"));
	assert_non_null(strstr(text, "/srv/a (id, writable, for uid 7)\n"));
	assert_non_null(strstr(text, "without a known path, inode 6 (descriptor, read-only, for uid 8)\n"));
	assert_non_null(strstr(text, "and 1 more\n"));
}

static void what_is_wrong_has_words(void **state)
{
	_cleanup_free_ char *text =
		text_of("{\"server\":{\"kind\":\"knfsd\",\"port\":2049,\"serving\":false,\"config\":\"/etab\"},"
			"\"probes\":{\"port\":0},\"opens\":{\"refused\":{\"limit\":2,\"set-id\":1}},"
			"\"limits\":{\"reached\":{\"ids\":3,\"sessions\":0}},"
			"\"registries\":[{\"path\":\"/r\",\"claims\":\"peer\",\"lost\":true,\"sessions\":0}],"
			"\"exports\":[{\"path\":\"/srv\",\"filesystem\":\"xfs\",\"device\":\"8:1\",\"supported\":false,"
			"\"refused\":[{\"client\":\"\",\"reason\":\"subtree-check\",\"detail\":\"a sentence\"}]}],"
			"\"exports_left_out\":4}");

	assert_non_null(strstr(text, "knfsd on port 2049, not serving; exports in /etab\n"));
	assert_non_null(strstr(text, "on no port"));
	assert_non_null(strstr(text, "refused: limit 2, set-id 1\n"));
	assert_non_null(strstr(text, "reached: ids 3\n"));
	assert_non_null(strstr(text, "registry /r: claims=peer, 0 sessions; lost"));
	assert_non_null(strstr(text, "export /srv: xfs, device 8:1, no grants\n"));
	assert_non_null(strstr(text, "  all clients: no grants (subtree-check: a sentence)\n"));
	assert_non_null(strstr(text, "4 more exports\n"));
}

static void requests_and_notices_are_counted(void **state)
{
	_cleanup_free_ char *text =
		text_of("{\"requests\":{\"LOOKUP\":{\"done\":5,\"error\":2,\"server\":1},"
			"\"MAKE\":{\"done\":0,\"error\":0,\"server\":3}},"
			"\"left_to_server\":{\"server-decides\":4},"
			"\"notices\":{\"watching\":true,\"sessions\":2,\"filesystems\":1,\"objects\":7,\"events\":9,"
			"\"overflows\":0,\"sent\":{\"name\":3,\"doubt\":0}}}");

	assert_non_null(strstr(text, "requests      LOOKUP 8, MAKE 3\n"));
	assert_non_null(strstr(text, "left          to the NFS server: server-decides 4\n"));
	assert_non_null(
		strstr(text, "2 sessions know 7 objects on 1 filesystems; 9 events, 0 overflows; sent: name 3\n"));
}

static void a_sidecar_that_does_not_watch_says_so(void **state)
{
	_cleanup_free_ char *text = text_of("{\"notices\":{\"watching\":false,\"overflows\":3}}");

	assert_non_null(strstr(text, "requests      none\n"));
	assert_non_null(strstr(text, "notices       none now: see the sidecar's log; 3 overflows; sent: none\n"));
}

static void a_view_without_anything_is_no_fault(void **state)
{
	_cleanup_free_ char *text = text_of("{\"sessions\":[{}],\"exports\":[{}],\"registries\":[7]}");

	assert_non_null(strstr(text, "refused: none\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_has_its_process_and_its_files),
		cmocka_unit_test(what_is_wrong_has_words),
		cmocka_unit_test(requests_and_notices_are_counted),
		cmocka_unit_test(a_sidecar_that_does_not_watch_says_so),
		cmocka_unit_test(a_view_without_anything_is_no_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
