/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mount/defaults/defaults.h"

static char path[] = "/tmp/test_defaults.XXXXXX";
static char sentence[600], applied[200];
static struct mount_options o;
static const struct defaults_for data = {.host = "filer", .directory = "/srv/data", .given = "/data/"};

/* Applies a file with this text to a mount. */
static int apply_to(const struct defaults_for *mount, const char *text, bool sloppy)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	options_init(&o);
	sentence[0] = '\0';
	return defaults_apply(&o, path, mount, sloppy, applied, sizeof(applied), sentence, sizeof(sentence));
}

static int apply(const char *text)
{
	return apply_to(&data, text, false);
}

/* The file is refused, and the message begins with its path, goes on with this, and has that. */
static void refused(const char *text, const char *begins, const char *has)
{
	assert_int_equal(apply(text), -EINVAL);
	assert_memory_equal(sentence, path, strlen(path));
	assert_memory_equal(sentence + strlen(path), begins, strlen(begins));
	assert_non_null(strstr(sentence, has));
}

static void without_a_file_nothing_changes(void **state)
{
	struct mount_options before;

	options_init(&before);
	options_init(&o);
	assert_int_equal(defaults_apply(&o, "/nowhere", &data, false, applied, sizeof(applied), sentence,
				 sizeof(sentence)),
		0);
	assert_memory_equal(&o, &before, sizeof(o));
	assert_int_equal(apply("# comment\n\n ; another\n"), 0);
	assert_memory_equal(&o, &before, sizeof(o));
	assert_string_equal(applied, "");
}

static void the_mount_point_wins_over_the_server_and_the_server_over_all(void **state)
{
	assert_int_equal(apply("[MountPoint \"/data\"]\nacregmin=1\n"
			       "[Server \"filer\"]\nacregmin=2\nacregmax=2\n"
			       "[Global]\nacregmin=3\nacregmax=3\nacdirmin=3\n"),
		0);
	assert_int_equal(o.acregmin, 1);
	assert_int_equal(o.acregmax, 2);
	assert_int_equal(o.acdirmin, 3);
	assert_string_equal(applied, "acregmin=3,acregmax=3,acdirmin=3,acregmin=2,acregmax=2,acregmin=1");
}

static void only_sections_of_the_mount_count(void **state)
{
	static const struct defaults_for no_directory = {.host = "filer", .directory = ""},
					 six = {.host = "2001:db8::1"};

	assert_int_equal(apply("[Server \"other\"]\nsoft\n[MountPoint \"/dat\"]\nbg\n[MountPoint \"/data/x\"]\nbg\n"),
		0);
	assert_int_equal(o.recovery, RECOVERY_HARD);
	assert_false(o.bg);
	assert_int_equal(apply("[server \"FILER\"]\nsoft\n[ mountpoint  \"/srv/data\" ]\nbg\n"), 0);
	assert_int_equal(o.recovery, RECOVERY_SOFT);
	assert_true(o.bg);
	assert_int_equal(apply_to(&no_directory, "[MountPoint \"/\"]\nbg\n[Global]\nnocto\n", false), 0);
	assert_false(o.bg);
	assert_true(o.nocto);
	assert_int_equal(apply_to(&six, "[Server \"[2001:DB8::1]\"]\nbg\n", false), 0);
	assert_true(o.bg);
}

static void a_line_is_one_option_with_blanks_or_without(void **state)
{
	assert_int_equal(apply("[Global]\n  nconnect = 4 \r\nmetrics=/run/a,b \"c\"=d\n\trdirplus\nvers=3"), 0);
	assert_int_equal(o.nconnect, 4);
	assert_string_equal(o.metrics, "/run/a,b \"c\"=d");
}

static void a_fault_names_file_and_line_and_the_right_value(void **state)
{
	refused("[Global]\n\nnconnect=99\n", ":3: ", "expected a number from 1 to 16");
	refused("[Global]\nnonsense\n", ":2: ", "option nonsense is not known");
	refused("[Global]\nbg = true\n", ":2: ", "bg takes no value");
	refused("[Global]\n = 3\n", ":2: ", "is not known");
	refused("soft\n", ":1: ", "before the first section");
	refused("[NFSMount_Global_Options]\n", ":1: ", "expected [Global], [Server \"NAME\"]");
	refused("[Server filer]\n", ":1: ", "expected [Global]");
	refused("[Server \"\"]\n", ":1: ", "expected [Global]");
	refused("[Server]\n", ":1: ", "expected [Global]");
	refused("[]\n", ":1: ", "expected [Global]");
	refused("[\n", ":1: ", "expected a ]");
	refused("[Serve \"filer\"]\n", ":1: ", "expected [Global]");
	refused("[MountPoint \"data\"]\n", ":1: ", "expected an absolute path");
	refused("[Global]\nsec=krb5\n", ":2: ", "localiofs has no Kerberos");
}

static void a_fault_in_the_section_of_another_mount_counts(void **state)
{
	refused("[Server \"other\"]\nnconnect=99\n", ":2: ", "expected a number");
	assert_int_equal(apply_to(&data, "[Global]\nnonsense=1\nsoft\n", true), 0);
	assert_int_equal(o.recovery, RECOVERY_SOFT);
}

static void options_that_could_have_no_effect_are_refused(void **state)
{
	static const char *const none[] = {"ro", "rw", "remount", "_netdev", "nofail", "x-systemd.automount",
		"comment=1", "tcp", "fsc=x"};
	char text[60];

	for (size_t n = 0; n < ARRAY_SIZE(none); n++) {
		(void)snprintf(text, sizeof(text), "[Global]\n%s\n", none[n]);
		refused(text, ":2: ", "it has no effect here; give it to mount(8) or in fstab");
	}
}

static void others_must_not_be_able_to_write_the_file(void **state)
{
	assert_int_equal(apply(""), 0);
	assert_int_equal(chmod(path, 0664), 0);
	assert_int_equal(apply("[Global]\nsoft\n"), -EPERM);
	assert_non_null(strstr(sentence, "has mode 664"));
	assert_int_equal(o.recovery, RECOVERY_HARD);
	assert_int_equal(chmod(path, 0606), 0);
	assert_int_equal(apply(""), -EPERM);
	assert_int_equal(chmod(path, 0644), 0);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
	assert_int_equal(apply(""), -EPERM);
	assert_non_null(strstr(sentence, "belongs to uid 12345; expected root"));
	assert_int_equal(chown(path, 0, (gid_t)-1), 0);
}

static void only_a_small_text_file_is_read(void **state)
{
	_cleanup_free_ char *text = calloc(1, 70000);
	int fd;

	assert_non_null(text);
	memset(text, '#', 65536);
	assert_int_equal(apply(text), 0);
	text[65536] = '#';
	refused(text, " has more than", "65536 bytes");
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "[Global]\0x", 10), 10);
	(void)close(fd);
	assert_int_equal(defaults_apply(&o, path, &data, false, applied, sizeof(applied), sentence, sizeof(sentence)),
		-EINVAL);
	assert_non_null(strstr(sentence, "a byte 0"));
	assert_int_equal(defaults_apply(&o, "/", &data, false, applied, sizeof(applied), sentence, sizeof(sentence)),
		-EPERM);
	assert_string_equal(sentence, "/ is no regular file");
}

static void a_long_list_of_applied_options_is_cut_off(void **state)
{
	char text[1000] = "[Global]\n";

	for (int n = 0; n < 60; n++)
		(void)strcat(text, "nocto\n");
	assert_int_equal(apply(text), 0);
	assert_int_equal(strlen(applied), sizeof(applied) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_file_nothing_changes),
		cmocka_unit_test(the_mount_point_wins_over_the_server_and_the_server_over_all),
		cmocka_unit_test(only_sections_of_the_mount_count),
		cmocka_unit_test(a_line_is_one_option_with_blanks_or_without),
		cmocka_unit_test(a_fault_names_file_and_line_and_the_right_value),
		cmocka_unit_test(a_fault_in_the_section_of_another_mount_counts),
		cmocka_unit_test(options_that_could_have_no_effect_are_refused),
		cmocka_unit_test(others_must_not_be_able_to_write_the_file),
		cmocka_unit_test(only_a_small_text_file_is_read),
		cmocka_unit_test(a_long_list_of_applied_options_is_cut_off),
	};
	int r, fd = mkstemp(path);

	if (fd < 0)
		return 1;
	(void)close(fd);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(path);
	return r;
}
