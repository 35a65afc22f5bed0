/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events of fanotify, as the kernel lays them out, and as it never would. */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/fanotify.h>

#include "sidecar/notices/event.h"

static uint8_t buffer[1024];
static size_t size;

static void begin(uint64_t mask)
{
	struct fanotify_event_metadata m = {.event_len = sizeof(m),
		.vers = FANOTIFY_METADATA_VERSION,
		.metadata_len = sizeof(m),
		.mask = mask,
		.fd = FAN_NOFD,
		.pid = 17};

	memcpy(buffer, &m, sizeof(m));
	size = sizeof(m);
}

/* Adds a record for the file with that number; name may be NULL. */
static void record(uint8_t type, uint8_t number, const char *name)
{
	struct fanotify_event_info_fid info = {.hdr = {.info_type = type}, .fsid = {.val = {1, 2}}};
	uint32_t handle[] = {4, 7 /* its type */, number};
	size_t length = sizeof(info) + sizeof(handle) + (name ? strlen(name) + 1 : 0),
	       padded = (length + 3) & ~(size_t)3;
	struct fanotify_event_metadata m;

	info.hdr.len = (uint16_t)padded;
	memset(buffer + size, 0, padded);
	memcpy(buffer + size, &info, sizeof(info));
	memcpy(buffer + size + sizeof(info), handle, sizeof(handle));
	if (name)
		memcpy(buffer + size + sizeof(info) + sizeof(handle), name, strlen(name));
	size += padded;
	memcpy(&m, buffer, sizeof(m));
	m.event_len = (uint32_t)size;
	memcpy(buffer, &m, sizeof(m));
}

static void check_fid(const struct event_fid *fid, uint32_t number)
{
	assert_int_equal(fid->length, 4);
	assert_int_equal(fid->type, 7);
	assert_int_equal(fid->fsid[0], 1);
	assert_int_equal(fid->fsid[1], 2);
	assert_memory_equal(fid->bytes, &number, 4);
}

static struct notice_event parse(void)
{
	struct notice_event e;

	assert_int_equal(event_parse(buffer, size, &e), size);
	assert_int_equal(e.thread, 17);
	return e;
}

static void a_new_name_has_its_directory_and_its_file(void **state)
{
	struct notice_event e;

	begin(FAN_CREATE);
	record(FAN_EVENT_INFO_TYPE_DFID_NAME, 1, "name");
	record(FAN_EVENT_INFO_TYPE_FID, 2, NULL);
	e = parse();
	assert_false(e.overflow);
	check_fid(&e.dir, 1);
	check_fid(&e.object, 2);
	assert_string_equal(e.name, "name");
	assert_int_equal(event_changes(&e), EVENT_NAME | EVENT_ATTRIBUTES);
	assert_int_equal(event_name_state(&e), 1);
}

static void the_state_of_a_name_is_what_the_last_event_left(void **state)
{
	static const struct {
		uint64_t mask;
		int state;
	} cases[] = {{FAN_CREATE, 1}, {FAN_MOVED_TO, 1}, {FAN_MOVED_TO | FAN_ONDIR, 1}, {FAN_DELETE, 0},
		{FAN_MOVED_FROM, 0}, {FAN_DELETE | FAN_MOVED_FROM, 0}, {FAN_CREATE | FAN_DELETE, -1},
		{FAN_MOVED_FROM | FAN_MOVED_TO, -1}, {FAN_ATTRIB, -1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct notice_event e;

		begin(cases[i].mask);
		record(FAN_EVENT_INFO_TYPE_DFID_NAME, 1, "name");
		record(FAN_EVENT_INFO_TYPE_FID, 2, NULL);
		e = parse();
		assert_int_equal(event_name_state(&e), cases[i].state);
	}
}

static void a_new_name_without_its_file_has_no_state(void **state)
{
	struct notice_event e;

	begin(FAN_CREATE);
	record(FAN_EVENT_INFO_TYPE_DFID_NAME, 1, "name");
	e = parse();
	assert_int_equal(event_name_state(&e), -1);
	assert_int_equal(event_changes(&e), EVENT_NAME);
}

static void attributes_are_no_change_of_a_name(void **state)
{
	struct notice_event e;

	begin(FAN_ATTRIB);
	record(FAN_EVENT_INFO_TYPE_DFID_NAME, 1, "name");
	record(FAN_EVENT_INFO_TYPE_FID, 2, NULL);
	e = parse();
	assert_int_equal(event_changes(&e), EVENT_ATTRIBUTES);
	check_fid(&e.object, 2);
}

static void a_directory_itself_is_the_object(void **state)
{
	struct notice_event e;

	begin(FAN_ATTRIB | FAN_ONDIR);
	record(FAN_EVENT_INFO_TYPE_DFID_NAME, 1, ".");
	e = parse();
	assert_int_equal(event_changes(&e), EVENT_ATTRIBUTES);
	check_fid(&e.object, 1);
	assert_null(e.name);
}

static void lost_events_are_seen(void **state)
{
	struct notice_event e;

	begin(FAN_Q_OVERFLOW);
	e = parse();
	assert_true(e.overflow);
	begin(FAN_CREATE); /* the kernel had no memory for the names */
	record(FAN_EVENT_INFO_TYPE_FID, 2, NULL);
	e = parse();
	assert_true(e.overflow);
	begin(FAN_ATTRIB);
	record(FAN_EVENT_INFO_TYPE_DFID_NAME, 1, "name");
	e = parse();
	assert_true(e.overflow);
}

/* Whatever the bytes are, nothing is read behind them: the sanitizers watch. */
static void broken_events_are_lost_events(void **state)
{
	struct notice_event e;

	begin(FAN_CREATE);
	record(FAN_EVENT_INFO_TYPE_DFID_NAME, 1, "name");
	assert_int_equal(event_parse(buffer, 10, &e), 0);
	assert_int_equal(event_parse(buffer, size - 1, &e), 0);
	buffer[sizeof(struct fanotify_event_metadata) + 2] = 1; /* the record's length */
	e = parse();
	assert_true(e.overflow);
	begin(FAN_CREATE);
	record(FAN_EVENT_INFO_TYPE_DFID_NAME, 1, "nam");
	memset(buffer + size - 1, 'x', 1); /* a name without an end */
	e = parse();
	assert_true(e.overflow);
	begin(FAN_CREATE);
	record(FAN_EVENT_INFO_TYPE_DFID_NAME, 1, "name");
	memset(buffer + sizeof(struct fanotify_event_metadata) + sizeof(struct fanotify_event_info_fid), 0xff, 4);
	e = parse();
	assert_true(e.overflow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_name_has_its_directory_and_its_file),
		cmocka_unit_test(the_state_of_a_name_is_what_the_last_event_left),
		cmocka_unit_test(a_new_name_without_its_file_has_no_state),
		cmocka_unit_test(attributes_are_no_change_of_a_name),
		cmocka_unit_test(a_directory_itself_is_the_object),
		cmocka_unit_test(lost_events_are_seen),
		cmocka_unit_test(broken_events_are_lost_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
