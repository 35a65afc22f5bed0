/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <linux/magic.h>
#include <sys/stat.h>

#include "ctl/doctor/doctor_checks.h"

#define STATUS                                                                                              \
	"{\"version\":\"" LOCALIOFS_VERSION "\",\"state\":\"local\",\"transport\":\"io_uring\",\"kernel\":" \
	"{\"passthrough\":true},\"callers\":{\"groups_visible\":true},\"names\":{\"local\":true}}"

static struct doctor_facts facts;
static struct finding findings[100];

/* A file of a mount of which all is well. */
static int all_is_well(void **state)
{
	facts = (struct doctor_facts){.subject = DOCTOR_FILE,
		.target = "/data/file",
		.directory = "/data",
		.machine = {.major = 6,
			.minor = 14,
			.fuse_features = DOCTOR_FUSE_PASSTHROUGH | DOCTOR_FUSE_OVER_URING,
			.enable_uring = 'Y',
			.user_namespaces = -1,
			.root = true,
			.fusermount = true,
			.sees_others = true},
		.registry = {.path = REGISTRY_DEFAULT, .type = "tmpfs", .uid = 100, .mode = 0711},
		.sidecar = {.announced = {.probeport = 20122}},
		.server = {.root = {.mode = S_IFDIR | 0755},
			.root_access = 0x3f,
			.probe = {.state = PROBE_STATE_LOCAL, .reason = REASON_LOCAL},
			.trusted = true,
			.backing_type = EXT4_SUPER_MAGIC},
		.mount = {.there = true, .status = json_loads(STATUS, 0, NULL)},
		.file = {.path = "/file", .mode = S_IFREG | 0644, .type = EXT4_SUPER_MAGIC}};
	options_init(&facts.options);
	(void)snprintf(facts.server.probe.detail, sizeof(facts.server.probe.detail), "%s", reason_text(REASON_LOCAL));
	assert_non_null(facts.mount.status);
	assert_true(doctor_checks_size < ARRAY_SIZE(findings));
	return 0;
}

static int forget(void **state)
{
	json_decref(facts.mount.status);
	return 0;
}

/* The only check that is neither ok nor skipped, whose result is given back; NULL if it is not the only such check. */
static const char *only_finding(enum check_result *ret)
{
	const char *id = NULL;

	doctor_judge(&facts, findings);
	for (size_t n = 0; n < doctor_checks_size; n++) {
		if (findings[n].result == CHECK_OK || findings[n].result == CHECK_SKIPPED)
			continue;
		assert_true(findings[n].todo[0] != '\0' && findings[n].found[0] != '\0');
		if (id)
			return NULL;
		id = doctor_checks[n].id;
		*ret = findings[n].result;
	}
	return id;
}

static void finds(const char *id, enum check_result result)
{
	enum check_result got = CHECK_OK;
	const char *found = only_finding(&got);

	assert_non_null(found);
	assert_string_equal(found, id);
	assert_int_equal(got, result);
	assert_int_equal(doctor_exit_status(findings), result == CHECK_FAIL ? 1 : result == CHECK_UNKNOWN ? 2 : 0);
	forget(NULL);
	(void)all_is_well(NULL);
}

static void nothing_is_wrong_when_all_is_well(void **state)
{
	doctor_judge(&facts, findings);
	for (size_t n = 0; n < doctor_checks_size; n++)
		assert_int_equal(findings[n].result, CHECK_OK);
	assert_int_equal(doctor_exit_status(findings), 0);
}

static void set_status(const char *json)
{
	json_decref(facts.mount.status);
	facts.mount.status = json_loads(json, 0, NULL);
	assert_non_null(facts.mount.status);
}

/* Each of the following breaks one fact, and the next line names the only finding. */
static void each_fact_of_the_machine_has_its_finding(void **state)
{
	struct machine_facts *m = &facts.machine;

	m->minor = 8;
	finds("kernel", CHECK_FAIL);
	m->major = 5;
	m->minor = 15;
	finds("kernel", CHECK_FAIL);
	m->minor = 13;
	finds("kernel", CHECK_ADVICE);
	m->proc_error = -ENOENT;
	finds("proc", CHECK_FAIL);
	m->device_error = -EACCES;
	finds("fuse-device", CHECK_FAIL);
	m->device_error = -ENOENT;
	finds("fuse-device", CHECK_FAIL);
	m->mount_error = -EPERM;
	facts.subject = DOCTOR_SERVER;
	set_status("{}");
	finds("fuse-mount", CHECK_UNKNOWN);
	m->fuse_features = DOCTOR_FUSE_OVER_URING;
	facts.subject = DOCTOR_SERVER;
	set_status("{}");
	finds("passthrough", CHECK_FAIL);
	m->enable_uring = 'N';
	finds("fuse-uring", CHECK_ADVICE);
	m->enable_uring = 0;
	finds("fuse-uring", CHECK_ADVICE);
	m->io_uring_error = -EPERM;
	finds("io-uring", CHECK_ADVICE);
	m->user_namespaces = 0;
	finds("user-namespaces", CHECK_ADVICE);
	m->fusermount = false;
	finds("fusermount", CHECK_ADVICE);
	m->fusermount = m->root = false;
	finds("fusermount", CHECK_FAIL);
	m->reserved_error = -EACCES;
	finds("reserved-port", CHECK_ADVICE);
	m->sees_others = false;
	finds("callers", CHECK_ADVICE);
	facts.defaults.error = -EINVAL;
	(void)snprintf(facts.defaults.sentence, sizeof(facts.defaults.sentence), "a fault");
	finds("defaults", CHECK_ADVICE);
	facts.subject = DOCTOR_SERVER;
	set_status("{}");
	facts.defaults.error = -EINVAL;
	(void)snprintf(facts.defaults.sentence, sizeof(facts.defaults.sentence), "a fault");
	finds("defaults", CHECK_FAIL);
}

static void each_fact_of_the_registry_has_its_finding(void **state)
{
	struct registry_facts *r = &facts.registry;
	struct sidecar_facts *s = &facts.sidecar;

	r->type[0] = '\0';
	(void)snprintf(r->place.text, sizeof(r->place.text), "missing");
	finds("registry", CHECK_FAIL);
	r->place_error = -EPERM;
	(void)snprintf(r->place.text, sizeof(r->place.text), "on ext4");
	finds("registry-tmpfs", CHECK_FAIL);
	r->uid = 0;
	(void)snprintf(r->fault.text, sizeof(r->fault.text), "uid 0");
	finds("registry-owner", CHECK_FAIL);
	r->mode = 01777;
	(void)snprintf(r->fault.text, sizeof(r->fault.text), "mode");
	finds("registry-owner", CHECK_FAIL);
	r->error = -EPERM;
	(void)snprintf(r->fault.text, sizeof(r->fault.text), "no mark");
	finds("registry-mark", CHECK_FAIL);
	r->error = -EACCES;
	r->fault = (struct registry_fault){.reason = REASON_NO_PERMISSION, .text = "not readable"};
	finds("registry-mark", CHECK_FAIL);
	r->bound = true;
	finds("registry-read-only", CHECK_ADVICE);
	r->socket_error = -ENOENT;
	(void)snprintf(r->socket.text, sizeof(r->socket.text), "no socket");
	finds("broker-socket", CHECK_FAIL);
	s->connect_error = -ECONNREFUSED;
	finds("sidecar-listens", CHECK_FAIL);
	s->goodbye = REASON_VERSION;
	finds("sidecar-version", CHECK_FAIL);
	s->answer_error = -ETIMEDOUT;
	finds("sidecar-answers", CHECK_FAIL);
	s->answer_error = -ENOTCONN;
	finds("sidecar-answers", CHECK_FAIL);
	s->answer_error = -ENOTCONN;
	s->goodbye = REASON_LIMIT;
	finds("sidecar-answers", CHECK_FAIL);
	s->announced.error = -EBUSY;
	s->announced.reason = REASON_REGISTRY_FULL;
	finds("sidecar-answers", CHECK_FAIL);
	s->slot_error = -EBADMSG;
	(void)snprintf(s->slot.text, sizeof(s->slot.text), "other slot");
	finds("sidecar-registry", CHECK_FAIL);
	s->announced.probeport = 0;
	finds("server-listens", CHECK_FAIL);
}

/* Every reason with which a probe can end, and the check that it belongs to. */
static void each_reason_of_the_probe_has_its_finding(void **state)
{
	static const char *const checks[] = {[REASON_PROBE_REFUSED] = "probe-port",
		[REASON_PROBE_TIMEOUT] = "probe-port",
		[REASON_PROBE_DENIED] = "probe-port",
		[REASON_NOT_MATCHED] = "same-host",
		[REASON_LIMIT] = "sidecar-limits",
		[REASON_REGISTRY_FULL] = "sidecar-limits",
		[REASON_CLAIMS] = "sidecar-limits",
		[REASON_NOT_SERVING] = "server-serving",
		[REASON_NOT_CONNECTED] = "server-serving",
		[REASON_BAD_HANDLE] = "handles",
		[REASON_NOT_EXPORTED] = "export-known",
		[REASON_CLIENT_DENIED] = "client-matched",
		[REASON_EXPORT_OPTIONS] = "export-options",
		[REASON_SUBTREE_CHECK] = "export-options",
		[REASON_WRONG_EXPORT] = "same-export"};

	for (unsigned reason = 0; strcmp(reason_code(reason), "unknown") != 0; reason++) {
		const char *id = reason < ARRAY_SIZE(checks) ? checks[reason] : NULL;

		facts.server.probe.state = PROBE_STATE_REMOTE;
		facts.server.probe.reason = (enum reason)reason;
		finds(id ? id : "session", reason == REASON_PROBING ? CHECK_UNKNOWN : CHECK_FAIL);
	}
}

static void each_fact_of_the_server_has_its_finding(void **state)
{
	struct server_facts *s = &facts.server;

	static const struct {
		int error;
		const char *id;
	} errors[] = {{-EINVAL, "server-name"}, {-EAGAIN, "server-name"}, {-ETIMEDOUT, "mount-daemon"},
		{-ECONNREFUSED, "mount-daemon"}, {-EACCES, "server-export"}, {-ENOENT, "server-export"},
		{-ENOTDIR, "server-export"}, {-ENAMETOOLONG, "server-export"}};

	for (size_t n = 0; n < ARRAY_SIZE(errors); n++) {
		s->find_error = errors[n].error;
		(void)snprintf(s->sentence, sizeof(s->sentence), "a sentence");
		finds(errors[n].id, CHECK_FAIL);
	}
	s->connect_error = -ECONNREFUSED;
	(void)snprintf(s->sentence, sizeof(s->sentence), "a sentence");
	finds("nfs-answers", CHECK_FAIL);
	s->root_error = -ESTALE;
	(void)snprintf(s->sentence, sizeof(s->sentence), "a sentence");
	finds("nfs-answers", CHECK_FAIL);
	s->root_access = NFS_ACCESS_READ | NFS_ACCESS_LOOKUP;
	finds("squash", CHECK_ADVICE);
	(void)snprintf(s->probe.detail, sizeof(s->probe.detail), "another address");
	finds("address", CHECK_ADVICE);
	s->trusted = false;
	finds("owner-proof", CHECK_ADVICE);
	s->backing_type = TMPFS_MAGIC;
	finds("backing", CHECK_ADVICE);
	s->backing_type = FUSE_SUPER_MAGIC;
	finds("backing", CHECK_FAIL);
	s->backing_type = OVERLAYFS_SUPER_MAGIC;
	facts.options.underlay = true;
	finds("backing", CHECK_ADVICE);
}

static void set_in_status(const char *group, const char *key, json_t *value)
{
	json_t *to = group ? json_object_get(facts.mount.status, group) : facts.mount.status;

	(void)json_object_set_new(to, key, value);
}

static void each_fact_of_the_mount_has_its_finding(void **state)
{
	facts.mount.there = false;
	finds("mounted", CHECK_FAIL);
	facts.mount.error = -ENOTCONN;
	finds("daemon-alive", CHECK_FAIL);
	facts.mount.error = -ETIMEDOUT;
	finds("daemon-answers", CHECK_FAIL);
	facts.mount.error = -EPERM;
	finds("daemon-answers", CHECK_UNKNOWN);
	set_in_status(NULL, "version", json_string("0.0.1"));
	finds("daemon-version", CHECK_ADVICE);
	facts.spec_error = -EINVAL;
	(void)snprintf(facts.spec_sentence, sizeof(facts.spec_sentence), "no such option");
	finds("target", CHECK_FAIL);
	facts.options.local = LOCAL_OFF;
	finds("local-option", CHECK_FAIL);
	set_in_status("kernel", "passthrough", json_false());
	finds("mount-passthrough", CHECK_FAIL);
	set_in_status("kernel", "passthrough", json_false());
	facts.options.local = LOCAL_URING;
	finds("mount-passthrough", CHECK_ADVICE);
	set_in_status(NULL, "transport", json_string("/dev/fuse"));
	finds("mount-transport", CHECK_ADVICE);
	set_in_status("callers", "groups_visible", json_false());
	finds("mount-groups", CHECK_ADVICE);
	set_in_status(NULL, "state", json_string("remote"));
	finds("mount-state", CHECK_FAIL);
	set_in_status(NULL, "grants", json_pack("{s:i, s:s}", "denied", 1, "last_denial", "set-id"));
	finds("mount-grants", CHECK_ADVICE);
	set_in_status(NULL, "opens", json_pack("{s:i}", "shared", 1));
	finds("mount-open-modes", CHECK_ADVICE);
	set_in_status(NULL, "opens", json_pack("{s:i}", "passthrough_direct", 1));
	finds("mount-open-modes", CHECK_ADVICE);
}

/* Each reason why names go by RPC has its own words and its own remedy; no names yet is no finding. */
static void names_by_rpc_are_a_finding_with_a_remedy(void **state)
{
	static const struct {
		const char *reason, *found, *todo;
	} reasons[] = {{"other-mounts", "crossmnt", "exportfs -v"},
		{"other-mounts", "process", "pid and mount namespaces"},
		{"other-handles", "other file handles", "Report this"},
		{"session-lost", "session-lost", "REASON CODES"}};

	for (size_t n = 0; n < ARRAY_SIZE(reasons); n++) {
		size_t i = 0;

		set_in_status(NULL, "names", json_pack("{s:b, s:s}", "local", 0, "reason", reasons[n].reason));
		doctor_judge(&facts, findings);
		while (strcmp(doctor_checks[i].id, "mount-names") != 0)
			i++;
		assert_non_null(strstr(findings[i].found, reasons[n].found));
		assert_non_null(strstr(findings[i].todo, reasons[n].todo));
		finds("mount-names", CHECK_ADVICE);
	}
	set_in_status(NULL, "names", json_pack("{s:b, s:s}", "local", 0, "reason", "probing"));
	nothing_is_wrong_when_all_is_well(NULL);
	set_in_status(NULL, "names", json_integer(7));
	nothing_is_wrong_when_all_is_well(NULL);
}

/* Only a sidecar that has answered lookups, and has not said that it watches, is a finding. */
static void directories_that_are_not_watched_are_a_finding(void **state)
{
	for (int watched = 0; watched < 2; watched++) {
		for (int lookups = 0; lookups < 2; lookups++) {
			set_in_status(NULL, "notices", json_pack("{s:b}", "watched", watched));
			set_in_status(NULL, "operations",
				json_pack("{s:{s:{s:i}}}", "LOOKUP", "sidecar", "count", lookups));
			if (watched || lookups == 0)
				nothing_is_wrong_when_all_is_well(NULL);
		}
	}
	set_in_status(NULL, "notices", json_pack("{s:b}", "watched", 0));
	facts.options.nonotices = true;
	nothing_is_wrong_when_all_is_well(NULL);
	facts.options.nonotices = false;
	set_in_status("names", "local", json_false());
	set_in_status("names", "reason", json_string("probing"));
	nothing_is_wrong_when_all_is_well(NULL);
	set_in_status("names", "local", json_true());
	finds("mount-notices", CHECK_ADVICE);
}

static void an_answer_without_any_key_breaks_nothing(void **state)
{
	set_status("[]");
	doctor_judge(&facts, findings);
	assert_int_equal(doctor_exit_status(findings), 1);
}

static void each_fact_of_the_file_has_its_finding(void **state)
{
	struct file_facts *file = &facts.file;

	file->lookup_error = -ENOENT;
	finds("file", CHECK_FAIL);
	file->lookup_error = -EACCES;
	finds("file", CHECK_UNKNOWN);
	file->mode = S_IFIFO | 0644;
	finds("file-type", CHECK_FAIL);
	file->open.reason = REASON_SET_ID;
	finds("file-set-id", CHECK_FAIL);
	file->open.reason = REASON_APPEND_ONLY;
	finds("file-append-only", CHECK_FAIL);
	file->open.reason = REASON_UNREADABLE;
	finds("file-rights", CHECK_FAIL);
	file->open.reason = REASON_CLAIMS;
	finds("file-rights", CHECK_FAIL);
	file->open.reason = REASON_KERNEL_REFUSED;
	finds("file-grant", CHECK_FAIL);
	file->open.error = -ESTALE;
	file->open.reason = REASON_BAD_HANDLE;
	finds("file-grant", CHECK_FAIL);
	file->open_error = -ENOTCONN;
	finds("file-grant", CHECK_UNKNOWN);
	file->type = FUSE_SUPER_MAGIC;
	finds("file-backing", CHECK_FAIL);
}

static const struct finding *finding_of(const char *id)
{
	for (size_t n = 0; n < doctor_checks_size; n++)
		if (strcmp(doctor_checks[n].id, id) == 0)
			return &findings[n];
	fail_msg("there is no check %s", id);
	return NULL;
}

static void a_check_without_its_precondition_names_the_check_that_failed(void **state)
{
	facts.sidecar.connect_error = -ECONNREFUSED;
	doctor_judge(&facts, findings);
	assert_string_equal(finding_of("probe-port")->because, "sidecar-listens");
	assert_string_equal(finding_of("mount-state")->because, "sidecar-listens");
	assert_string_equal(finding_of("file-grant")->because, "sidecar-listens");
	assert_int_equal(finding_of("nfs-answers")->result, CHECK_OK);
}

static void a_remedy_names_the_mount_and_the_registry(void **state)
{
	facts.mount.error = -ENOTCONN;
	facts.registry.error = -EPERM;
	(void)snprintf(facts.registry.path, sizeof(facts.registry.path), "/dev/shm/{registry}");
	(void)snprintf(facts.registry.fault.text, sizeof(facts.registry.fault.text), "no mark");
	(void)snprintf(facts.directory, sizeof(facts.directory), "/%0999d", 7);
	doctor_judge(&facts, findings);
	assert_non_null(strstr(finding_of("registry-mark")->todo, "directory /dev/shm/{registry}, and restart"));
	assert_int_equal(strlen(finding_of("daemon-alive")->todo), sizeof(findings[0].todo) - 1);
	(void)snprintf(facts.directory, sizeof(facts.directory), "/data");
	doctor_judge(&facts, findings);
	assert_non_null(strstr(finding_of("daemon-alive")->todo, "umount -l /data, and"));
}

static void a_smaller_subject_has_fewer_checks(void **state)
{
	facts.subject = DOCTOR_MACHINE;
	doctor_judge(&facts, findings);
	assert_int_equal(finding_of("server-listens")->result, CHECK_OK);
	assert_int_equal(finding_of("server-name")->result, CHECK_SKIPPED);
	assert_null(finding_of("server-name")->because);
	facts.subject = DOCTOR_SERVER;
	doctor_judge(&facts, findings);
	assert_int_equal(finding_of("session")->result, CHECK_OK);
	assert_int_equal(finding_of("mount-state")->result, CHECK_SKIPPED);
}

static void a_mount_that_passes_through_needs_no_trial(void **state)
{
	facts.machine.mount_error = -EPERM;
	facts.machine.fuse_features = 0;
	doctor_judge(&facts, findings);
	assert_int_equal(doctor_exit_status(findings), 0);
}

static void the_json_has_results_and_what_was_not_checked(void **state)
{
	json_t *json, *checks;

	facts.machine.mount_error = -EPERM;
	facts.mount.error = -ENOTCONN;
	(void)snprintf(facts.directory, sizeof(facts.directory), "/da\xff\n");
	doctor_judge(&facts, findings);
	json = doctor_json(findings);
	checks = json_object_get(json, "checks");
	assert_true(json_array_size(checks) > 10);
	for (size_t n = 0; n < json_array_size(checks); n++) {
		const json_t *check = json_array_get(checks, n);
		const char *result = json_string_value(json_object_get(check, "result"));

		assert_int_equal(json_object_size(check), 5);
		assert_true(strcmp(result, "ok") == 0 || strcmp(result, "advice") == 0 || strcmp(result, "fail") == 0);
		if (strcmp(result, "fail") == 0)
			assert_string_equal(json_string_value(json_object_get(check, "id")), "daemon-alive");
	}
	assert_int_equal(json_array_size(checks) + json_array_size(json_object_get(json, "unchecked")),
		doctor_checks_size);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_wrong_when_all_is_well, all_is_well, forget),
		cmocka_unit_test_setup_teardown(each_fact_of_the_machine_has_its_finding, all_is_well, forget),
		cmocka_unit_test_setup_teardown(each_fact_of_the_registry_has_its_finding, all_is_well, forget),
		cmocka_unit_test_setup_teardown(each_reason_of_the_probe_has_its_finding, all_is_well, forget),
		cmocka_unit_test_setup_teardown(each_fact_of_the_server_has_its_finding, all_is_well, forget),
		cmocka_unit_test_setup_teardown(each_fact_of_the_mount_has_its_finding, all_is_well, forget),
		cmocka_unit_test_setup_teardown(names_by_rpc_are_a_finding_with_a_remedy, all_is_well, forget),
		cmocka_unit_test_setup_teardown(directories_that_are_not_watched_are_a_finding, all_is_well, forget),
		cmocka_unit_test_setup_teardown(an_answer_without_any_key_breaks_nothing, all_is_well, forget),
		cmocka_unit_test_setup_teardown(each_fact_of_the_file_has_its_finding, all_is_well, forget),
		cmocka_unit_test_setup_teardown(a_check_without_its_precondition_names_the_check_that_failed,
			all_is_well, forget),
		cmocka_unit_test_setup_teardown(a_remedy_names_the_mount_and_the_registry, all_is_well, forget),
		cmocka_unit_test_setup_teardown(a_smaller_subject_has_fewer_checks, all_is_well, forget),
		cmocka_unit_test_setup_teardown(a_mount_that_passes_through_needs_no_trial, all_is_well, forget),
		cmocka_unit_test_setup_teardown(the_json_has_results_and_what_was_not_checked, all_is_well, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
