/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <string.h>
#include <sys/mount.h>

#include "mount/options.h"

static char sentence[512];

static int parse(struct mount_options *o, const char *list)
{
	options_init(o);
	sentence[0] = '\0';
	return options_parse(o, list, false, sentence, sizeof(sentence));
}

static void the_usage_has_the_defaults(void **state)
{
	struct mount_options o;

	options_init(&o);
	assert_int_equal(o.local, LOCAL_AUTO);
	assert_int_equal(o.probeport, 0);
	assert_string_equal(o.registry, "/dev/shm/localiofs");
	assert_string_equal(o.metrics, "");
	assert_int_equal(o.acregmin, 3);
	assert_false(o.ro);
}

static void options_set_what_they_name(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "ro,nosuid,local=off,registry=/run/reg,metrics=/run/m,probeport=1234,port=2050,"
				   "mountport=2051,rsize=8192,wsize=4096,reprobe=5,acregmin=7"),
		0);
	assert_true(o.ro);
	assert_true(o.nosuid);
	assert_int_equal(o.local, LOCAL_OFF);
	assert_string_equal(o.registry, "/run/reg");
	assert_string_equal(o.metrics, "/run/m");
	assert_int_equal(o.probeport, 1234);
	assert_int_equal(o.port, 2050);
	assert_int_equal(o.mountport, 2051);
	assert_int_equal(o.rsize, 8192);
	assert_int_equal(o.wsize, 4096);
	assert_int_equal(o.reprobe, 5);
	assert_int_equal(o.acregmin, 7);
}

static void the_last_option_wins(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "ro,rw,local=off,local=passthrough"), 0);
	assert_false(o.ro);
	assert_int_equal(o.local, LOCAL_PASSTHROUGH);
}

static void what_to_do_without_a_server_is_nfs_5(void **state)
{
	struct mount_options o;

	options_init(&o);
	assert_int_equal(o.recovery, RECOVERY_HARD);
	assert_int_equal(o.timeo, 600);
	assert_int_equal(o.retrans, 2);
	assert_int_equal(o.nconnect, 1);
	assert_int_equal(o.retry, RETRY_UNSET);
	assert_int_equal(o.timeout, 0);
	assert_false(o.bg);
	assert_int_equal(parse(&o, "soft,timeo=50,retrans=0,nconnect=4,retry=0,bg,mounttimeout=7"), 0);
	assert_int_equal(o.recovery, RECOVERY_SOFT);
	assert_int_equal(o.timeo, 50);
	assert_int_equal(o.retrans, 0);
	assert_int_equal(o.nconnect, 4);
	assert_int_equal(o.retry, 0);
	assert_int_equal(o.timeout, 7);
	assert_true(o.bg);
	assert_int_equal(parse(&o, "soft,softerr"), 0);
	assert_int_equal(o.recovery, RECOVERY_SOFTERR);
	assert_int_equal(parse(&o, "softerr,bg,hard,fg"), 0);
	assert_int_equal(o.recovery, RECOVERY_HARD);
	assert_false(o.bg);
}

/* noac keeps the configured times for a later ac. */
static void noac_and_ac_switch_the_times(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "acregmin=9,noac"), 0);
	assert_true(o.noac);
	assert_int_equal(options_parse(&o, "ac", false, sentence, sizeof(sentence)), 0);
	assert_false(o.noac);
	assert_int_equal(o.acregmin, 9);
}

static void options_of_other_fstabs_are_accepted(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "rw,_netdev,nofail,user,relatime,hard,nolock,vers=3,nfsvers=3,tcp,"
				   "proto=tcp,mountproto=tcp,mountvers=3,sec=sys,"
				   "x-systemd.automount,comment=mine,defaults,,"),
		0);
	assert_int_equal(parse(&o, ""), 0);
	/* The options of the kernel's client as /proc/mounts shows them. */
	assert_int_equal(parse(&o, "rw,relatime,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,"
				   "timeo=600,retrans=2,sec=sys,mountaddr=10.0.0.1,mountvers=3,mountport=20048,"
				   "mountproto=tcp,fsc=tag,lookupcache=pos,addr=10.0.0.1"),
		0);
}

/* Options of mount.nfs without an effect here. Their values are accepted, too. */
static void options_without_an_effect_are_accepted(void **state)
{
	static const char *const words[] = {"tcp", "v3", "intr", "nointr", "sharecache", "nosharecache", "fsc",
		"fsc=tag", "nofsc", "posix", "noposix", "nosoftreval", "migration", "nomigration", "trunkdiscovery",
		"notrunkdiscovery", "max_connect=4", "clientaddr=10.0.0.1", "addr=::1", "mountaddr=10.0.0.1",
		"bsize=8192", "namlen=255", "relatime", "strictatime", "nodiratime", "lazytime", "dirsync", "nomand",
		"noiversion", "silent"};
	struct mount_options o, defaults;

	options_init(&defaults);
	for (size_t n = 0; n < ARRAY_SIZE(words); n++) {
		assert_int_equal(parse(&o, words[n]), 0);
		assert_memory_equal(&o, &defaults, sizeof(o));
	}
}

static void actimeo_sets_all_four_times(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "actimeo=7,acdirmin=2"), 0);
	assert_int_equal(o.acregmin, 7);
	assert_int_equal(o.acregmax, 7);
	assert_int_equal(o.acdirmin, 2);
	assert_int_equal(o.acdirmax, 7);
	assert_int_equal(o.lookupcache, LOOKUP_CACHE_ALL); /* the value ends at the comma */
}

static void what_opens_and_names_ask_is_nfs_5(void **state)
{
	struct mount_options o;

	options_init(&o);
	assert_false(o.nocto);
	assert_int_equal(o.lookupcache, LOOKUP_CACHE_ALL);
	assert_int_equal(parse(&o, "nocto,lookupcache=none"), 0);
	assert_true(o.nocto);
	assert_int_equal(o.lookupcache, LOOKUP_CACHE_NONE);
	assert_int_equal(parse(&o, "nocto,cto,lookupcache=pos"), 0);
	assert_false(o.nocto);
	assert_int_equal(o.lookupcache, LOOKUP_CACHE_POSITIVE);
	assert_int_equal(parse(&o, "lookupcache=positive"), 0);
	assert_int_equal(o.lookupcache, LOOKUP_CACHE_POSITIVE);
	assert_int_equal(parse(&o, "lookupcache=positive,lookupcache=all"), 0);
	assert_int_equal(o.lookupcache, LOOKUP_CACHE_ALL);
}

static void listings_and_writes_are_nfs_5(void **state)
{
	struct mount_options o;

	options_init(&o);
	assert_int_equal(o.readdirplus, READDIRPLUS_AUTO);
	assert_int_equal(o.write, WRITE_LAZY);
	assert_false(o.sync);
	assert_int_equal(parse(&o, "nordirplus,write=wait,sync"), 0);
	assert_int_equal(o.readdirplus, READDIRPLUS_NONE);
	assert_int_equal(o.write, WRITE_WAIT);
	assert_true(o.sync);
	assert_int_equal(options_mount_flags(&o), MS_SYNCHRONOUS);
	assert_int_equal(parse(&o, "nordirplus,rdirplus,write=eager,sync,async"), 0);
	assert_int_equal(o.readdirplus, READDIRPLUS_AUTO);
	assert_int_equal(o.write, WRITE_EAGER);
	assert_int_equal(options_mount_flags(&o), 0);
	assert_int_equal(parse(&o, "rdirplus=force"), 0);
	assert_int_equal(o.readdirplus, READDIRPLUS_FORCE);
	assert_int_equal(parse(&o, "rdirplus=none"), 0);
	assert_int_equal(o.readdirplus, READDIRPLUS_NONE);
}

static void locks_are_local_and_may_say_so(void **state)
{
	struct mount_options o;

	options_init(&o);
	assert_false(o.nolock);
	assert_int_equal(o.local_lock, LOCAL_LOCK_NONE);
	assert_int_equal(parse(&o, "nolock,local_lock=flock"), 0);
	assert_true(o.nolock);
	assert_int_equal(o.local_lock, LOCAL_LOCK_FLOCK);
	assert_int_equal(parse(&o, "nolock,lock,local_lock=posix"), 0);
	assert_false(o.nolock);
	assert_int_equal(o.local_lock, LOCAL_LOCK_POSIX);
	assert_int_equal(parse(&o, "local_lock=all"), 0);
	assert_int_equal(o.local_lock, LOCAL_LOCK_ALL);
	assert_int_equal(parse(&o, "local_lock=all,local_lock=none"), 0);
	assert_int_equal(o.local_lock, LOCAL_LOCK_NONE);
}

static void the_transport_is_chosen_or_forced(void **state)
{
	struct mount_options o;

	options_init(&o);
	assert_int_equal(o.transport, FUSE_TRANSPORT_AUTO);
	assert_int_equal(parse(&o, "transport=uring"), 0);
	assert_int_equal(o.transport, FUSE_TRANSPORT_URING);
	assert_int_equal(parse(&o, "transport=uring,transport=dev"), 0);
	assert_int_equal(o.transport, FUSE_TRANSPORT_DEV);
	assert_int_equal(parse(&o, "transport=auto"), 0);
	assert_int_equal(o.transport, FUSE_TRANSPORT_AUTO);
}

static void another_host_may_have_the_mount_daemon(void **state)
{
	struct mount_options o;

	options_init(&o);
	assert_string_equal(o.mounthost, "");
	assert_int_equal(o.proto, PROTOCOL_ANY);
	assert_int_equal(o.mountproto, PROTOCOL_ANY);
	assert_int_equal(parse(&o, "mounthost=filer,proto=tcp,mountproto=tcp6"), 0);
	assert_string_equal(o.mounthost, "filer");
	assert_int_equal(o.proto, PROTOCOL_TCP);
	assert_int_equal(o.mountproto, PROTOCOL_TCP6);
	assert_int_equal(parse(&o, "mounthost=filer.example.org,mounthost=[::1],proto=tcp6"), 0);
	assert_string_equal(o.mounthost, "::1");
	assert_int_equal(o.proto, PROTOCOL_TCP6);
}

/* The kernel's client does the same, and fstabs written for it have such values. */
static void sizes_and_times_above_the_largest_are_the_largest(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "rsize=2097152,wsize=4294967295,timeo=9999"), 0);
	assert_int_equal(o.rsize, 1048576);
	assert_int_equal(o.wsize, 1048576);
	assert_int_equal(o.timeo, 6000);
	assert_int_equal(parse(&o, "rsize=0,port=0,mountport=0"), 0);
	assert_int_equal(o.rsize, 0); /* 0: the server chooses */
}

static void one_of_several_flavours_must_be_sys(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "sec=krb5p:sys"), 0);
	assert_int_equal(parse(&o, "sec=krb5:krb5i"), -EINVAL);
	assert_int_equal(parse(&o, "sec=system"), -EINVAL);
}

static void a_backslash_protects_a_comma(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "registry=/run/a\\,b,ro"), 0);
	assert_string_equal(o.registry, "/run/a,b");
	assert_true(o.ro);
}

static void quotation_marks_protect_commas(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "registry=\"/run/a,b\",ro"), 0);
	assert_string_equal(o.registry, "/run/a,b");
	assert_true(o.ro);
	assert_int_equal(parse(&o, "registry=/run/a\\\"b"), 0);
	assert_string_equal(o.registry, "/run/a\"b");
}

static void ten_thousand_commas_are_an_empty_list(void **state)
{
	struct mount_options o;
	static char commas[10001];

	memset(commas, ',', sizeof(commas) - 1);
	assert_int_equal(parse(&o, commas), 0);
}

/* A long value leaves room for the rest of the sentence. */
static void a_long_value_is_shortened(void **state)
{
	static char list[5001];
	struct mount_options o;

	memset(list, 'x', sizeof(list) - 1);
	assert_int_equal(parse(&o, list), -EINVAL);
	assert_non_null(strstr(sentence, "xxx... is not known; localiofs --help"));
	memcpy(list, "port=", 5);
	assert_int_equal(parse(&o, list), -EINVAL);
	assert_non_null(strstr(sentence, "xxx...: expected a number from 0 to 65535"));
}

static void the_text_of_options_makes_the_same_options(void **state)
{
	static const char *const lists[] = {"", "ro,nosuid,nodev,noexec,noatime,noac,noresvport,noacl,debug",
		"local=off,registry=/run/a\\,b\\\\c\\\"d,port=1,rsize=8192,acregmin=0",
		"actimeo=5,nocto,lookupcache=positive", "lookupcache=none", "rdirplus=force,write=wait,sync",
		"mounthost=[::1],proto=tcp,mountproto=tcp6", "nolock,local_lock=posix", "metrics=/run/a\\,b.prom"};

	for (size_t n = 0; n < ARRAY_SIZE(lists); n++) {
		struct mount_options o, again;
		char text[2048], small[40];

		assert_int_equal(parse(&o, lists[n]), 0);
		assert_int_equal(options_text(&o, text, sizeof(text)), 0);
		assert_int_equal(parse(&again, text), 0);
		assert_memory_equal(&again, &o, sizeof(o));
		assert_int_equal(options_text(&o, small, sizeof(small)), -ENOBUFS);
	}
}

static void mount_flags_are_those_of_mount_2(void **state)
{
	struct mount_options o;

	assert_int_equal(parse(&o, "rw"), 0);
	assert_int_equal(options_mount_flags(&o), 0);
	assert_int_equal(parse(&o, "ro,nosuid,nodev,noexec,noatime"), 0);
	assert_int_equal(options_mount_flags(&o), MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME);
	assert_int_equal(parse(&o, "ro,rw,noexec,exec"), 0);
	assert_int_equal(options_mount_flags(&o), 0);
}

static int remount(const char *running_list, const char *list)
{
	struct mount_options running, agreed, wanted;

	assert_int_equal(parse(&running, running_list), 0);
	agreed = running;
	assert_int_equal(options_parse(&agreed, "rsize=65536,port=2049", false, sentence, sizeof(sentence)), 0);
	assert_true(options_ask_remount(list));
	wanted = running;
	wanted.remount = true;
	assert_int_equal(options_parse(&wanted, list, false, sentence, sizeof(sentence)), 0);
	return options_check_remount(&running, &agreed, &wanted, sentence, sizeof(sentence));
}

static void a_remount_changes_mount_flags_only(void **state)
{
	assert_int_equal(remount("", "remount"), 0);
	assert_int_equal(remount("local=off,noac", "ro,remount,nosuid,noatime"), 0);
	assert_int_equal(remount("ro", "remount,rw"), 0);
	assert_int_equal(remount("", "remount,local=off"), -EINVAL);
	assert_non_null(strstr(sentence, "option local=off: a remount cannot change local=auto"));
	assert_int_equal(remount("", "remount,registry=/run/other"), -EINVAL);
	assert_int_equal(remount("", "remount,noac"), -EINVAL);
	assert_non_null(strstr(sentence, "option noac"));
	assert_int_equal(remount("noac", "remount,ac"), -EINVAL);
	assert_int_equal(remount("", "remount,mountport=5"), -EINVAL);
	assert_int_equal(remount("", "remount,mounttimeout=5"), -EINVAL);
	assert_non_null(strstr(sentence, "not given"));
	assert_int_equal(remount("mounthost=a,proto=tcp", "remount,mounthost=a,proto=tcp,ro"), 0);
	assert_int_equal(remount("mounthost=a", "remount,mounthost=b"), -EINVAL);
	assert_non_null(strstr(sentence, "option mounthost=b: a remount cannot change mounthost=a"));
	assert_int_equal(remount("", "remount,proto=tcp6"), -EINVAL);
	assert_non_null(strstr(sentence, "not given"));
	assert_int_equal(remount("", "remount,sync"), -EINVAL);
	assert_int_equal(remount("sync", "remount,async"), -EINVAL);
	assert_int_equal(remount("sync", "remount,sync,ro"), 0);
	assert_int_equal(remount("", "remount,actimeo=5"), -EINVAL);
	assert_int_equal(remount("actimeo=5", "remount,actimeo=5"), 0);
}

static void a_remount_may_repeat_the_running_options(void **state)
{
	assert_int_equal(remount("local=off,rsize=1048576,noac,acregmin=7,registry=/run/r",
				 "remount,local=off,rsize=1048576,noac,acregmin=7,registry=/run/r"),
		0);
	/* Also the values that were agreed with the server. */
	assert_int_equal(remount("rsize=1048576", "remount,rsize=65536,port=2049"), 0);
	assert_int_equal(remount("rsize=1048576", "remount,rsize=4096"), -EINVAL);
	/* The options that mount(8) reads from the kernel's mount table. */
	assert_int_equal(remount("", "rw,relatime,remount,user_id=0,group_id=0,allow_other,max_read=1048576"), 0);
}

static int change(const char *running_list, const char *list)
{
	struct mount_options running, wanted;

	assert_int_equal(parse(&running, running_list), 0);
	wanted = running;
	assert_int_equal(options_parse(&wanted, list, false, sentence, sizeof(sentence)), 0);
	return options_check_change(&running, &wanted, sentence, sizeof(sentence));
}

static void a_running_mount_changes_live_options_only(void **state)
{
	assert_int_equal(change("", "acregmin=1,acregmax=2,acdirmin=1,acdirmax=2,actimeo=5"), 0);
	assert_int_equal(change("local=uring", "local=off,lookupcache=none,nocto,commit=fsync,reprobe=7,debug"), 0);
	assert_int_equal(change("debug,nocto,ro", "nodebug,cto,ro"), 0);
	assert_int_equal(change("", "ro"), -EINVAL);
	assert_string_equal(sentence, "option ro cannot be changed while the mount runs; mount -o remount changes it");
	assert_int_equal(change("noac", "acregmin=1,ac"), -EINVAL);
	assert_string_equal(sentence,
		"option ac cannot be changed while the mount runs; unmount it and mount it again");
	assert_int_equal(change("", "soft"), -EINVAL);
	assert_int_equal(change("", "registry=/run/other"), -EINVAL);
	assert_int_equal(change("", "remount"), -EINVAL);
}

/* The sentence names the wrong option, its value, and the expected values. */
static void wrong_options_are_explained(void **state)
{
	static const char *const wrong[][3] = {
		{"locale=off", "locale", "not known"},
		{"local=maybe", "local=maybe", "auto|passthrough|uring|off|required"},
		{"local", "local", "local=auto|passthrough|uring|off|required"},
		{"probeport=0", "probeport=0", "1 to 65535"},
		{"probeport=70000", "probeport=70000", "1 to 65535"},
		{"probeport=12x", "probeport=12x", "a number"},
		{"probeport=", "probeport=", "a number"},
		{"ro=1", "ro=1", "no value"},
		{"registry=relative", "registry=relative", "absolute"},
		{"vers=4", "vers=4", "give vers=3, or mount it with -t nfs"},
		{"nfsvers=4.2", "nfsvers=4.2", "give vers=3"},
		{"vers=5", "vers=5", "expected 3"},
		{"vers=2", "vers=2", "give vers=3"},
		{"v4.1", "v4.1", "give vers=3"},
		{"minorversion=1", "minorversion", "give vers=3"},
		{"mountvers=2", "mountvers=2", "leave it out"},
		{"sec=krb5", "sec=krb5", "give sec=sys"},
		{"sec=krb5p", "sec=krb5p", "give sec=sys"},
		{"sec=lkey", "sec=lkey", "expected sys"},
		{"proto=udp", "proto=udp", "give proto=tcp"},
		{"proto=rdma", "proto=rdma", "give proto=tcp"},
		{"rdma", "rdma", "TCP"},
		{"mountproto=udp", "mountproto=udp", "leave it out"},
		{"xprtsec=tls", "xprtsec=tls", "no TLS"},
		{"softreval", "softreval", "soft"},
		{"lookupcache=some", "lookupcache=some", "all|none|pos|positive"},
		{"actimeo=x", "actimeo=x", "0 to 31536000"},
		{"nomand=1", "nomand=1", "no value"},
		{"udp", "udp", "TCP"},
		{"mounthost=", "mounthost=", "a host name"},
		{"mounthost=[]", "mounthost=", "a host name"},
		{"mounthost", "mounthost", "mounthost=HOST"},
		{"proto=", "proto=", "tcp|tcp6"},
		{"local_lock=fcntl", "local_lock=fcntl", "none|flock|posix|all"},
		{"write=later", "write=later", "lazy|eager|wait"},
		{"transport=tcp", "transport=tcp", "auto|uring|dev"},
		{"rdirplus=yes", "rdirplus=yes", "auto|none|force"},
		{"nordirplus=1", "nordirplus=1", "no value"},
		{"registry=\"/run/a", "/run/a", "quotation mark"},
		{"user_id=0", "user_id", "not known"},
		{"timeo=0", "timeo=0", "1 to 6000"},
		{"retrans=101", "retrans=101", "0 to 100"},
		{"nconnect=17", "nconnect=17", "1 to 16"},
		{"soft=1", "soft=1", "no value"},
	};
	struct mount_options o;

	for (size_t n = 0; n < ARRAY_SIZE(wrong); n++) {
		assert_int_equal(parse(&o, wrong[n][0]), -EINVAL);
		assert_non_null(strstr(sentence, wrong[n][1]));
		assert_non_null(strstr(sentence, wrong[n][2]));
	}
}

static void a_registry_too_long_for_a_socket_is_refused(void **state)
{
	struct mount_options o;
	char list[256] = "registry=/";

	memset(list + strlen(list), 'a', 120);
	assert_int_equal(parse(&o, list), -EINVAL);
	assert_non_null(strstr(sentence, "shorter than"));
}

static void sloppy_ignores_unknown_options_only(void **state)
{
	struct mount_options o;

	options_init(&o);
	assert_int_equal(options_parse(&o, "whatever,ro", true, sentence, sizeof(sentence)), 0);
	assert_true(o.ro);
	assert_int_equal(options_parse(&o, "port=x", true, sentence, sizeof(sentence)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_usage_has_the_defaults),
		cmocka_unit_test(options_set_what_they_name),
		cmocka_unit_test(the_last_option_wins),
		cmocka_unit_test(what_to_do_without_a_server_is_nfs_5),
		cmocka_unit_test(noac_and_ac_switch_the_times),
		cmocka_unit_test(options_of_other_fstabs_are_accepted),
		cmocka_unit_test(options_without_an_effect_are_accepted),
		cmocka_unit_test(actimeo_sets_all_four_times),
		cmocka_unit_test(what_opens_and_names_ask_is_nfs_5),
		cmocka_unit_test(listings_and_writes_are_nfs_5),
		cmocka_unit_test(locks_are_local_and_may_say_so),
		cmocka_unit_test(the_transport_is_chosen_or_forced),
		cmocka_unit_test(another_host_may_have_the_mount_daemon),
		cmocka_unit_test(sizes_and_times_above_the_largest_are_the_largest),
		cmocka_unit_test(one_of_several_flavours_must_be_sys),
		cmocka_unit_test(a_backslash_protects_a_comma),
		cmocka_unit_test(quotation_marks_protect_commas),
		cmocka_unit_test(ten_thousand_commas_are_an_empty_list),
		cmocka_unit_test(a_long_value_is_shortened),
		cmocka_unit_test(the_text_of_options_makes_the_same_options),
		cmocka_unit_test(mount_flags_are_those_of_mount_2),
		cmocka_unit_test(a_remount_changes_mount_flags_only),
		cmocka_unit_test(a_remount_may_repeat_the_running_options),
		cmocka_unit_test(a_running_mount_changes_live_options_only),
		cmocka_unit_test(wrong_options_are_explained),
		cmocka_unit_test(a_registry_too_long_for_a_socket_is_refused),
		cmocka_unit_test(sloppy_ignores_unknown_options_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
