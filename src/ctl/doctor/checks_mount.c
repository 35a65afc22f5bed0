/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The judges of the target, of a mount and its daemon, and of one file. */
#include <sys/stat.h>

#include "ctl/doctor/doctor_checks.h"
#include "mount/defaults/defaults.h"

void judge_target(const struct doctor_facts *f, struct finding *ret)
{
	if (f->spec_error == 0)
		finding_ok(ret, "%s is well-formed", f->target);
	else
		finding_bad(ret, CHECK_FAIL, "mount(8) would refuse this.",
			"Correct it; localiofs(5) lists the options.", "%s", f->spec_sentence);
}

void judge_defaults(const struct doctor_facts *f, struct finding *ret)
{
	if (f->defaults.error < 0)
		finding_bad(ret, f->subject < DOCTOR_MOUNT ? CHECK_FAIL : CHECK_ADVICE,
			"Mounting is refused until this is mended; mounts that exist go on.",
			"Correct it; localiofs.conf(5) shows the form. localioctl doctor then checks it again.", "%s",
			f->defaults.sentence);
	else if (f->defaults.there)
		finding_ok(ret, "%s has no fault", DEFAULTS_FILE);
	else
		finding_ok(ret, "there is no %s, and none is needed", DEFAULTS_FILE);
}

void judge_mounted(const struct doctor_facts *f, struct finding *ret)
{
	if (f->mount.there)
		finding_ok(ret, "%s is mounted on %s", f->mount.source, f->directory);
	else
		finding_bad(ret, CHECK_FAIL, "No data of this path goes through localiofs.",
			"Mount it: mount -t localiofs SERVER:/EXPORT DIR. localioctl status lists the mounts.",
			"%s is neither SERVER:/EXPORT nor below a localiofs mount", f->target);
}

void judge_daemon_alive(const struct doctor_facts *f, struct finding *ret)
{
	if (f->mount.error != -ENOTCONN)
		finding_ok(ret, "the mount has a daemon");
	else
		finding_bad(ret, CHECK_FAIL, "The mount's localiofs has ended: every access fails with ENOTCONN.",
			"See why in its log (journalctl -t localiofs), then umount -l {mount}, and mount it again.",
			"%s: %s", f->directory, strerror(ENOTCONN));
}

void judge_daemon_answers(const struct doctor_facts *f, struct finding *ret)
{
	if (f->mount.error == 0)
		finding_ok(ret, "the daemon answers");
	else if (f->mount.error == -ETIMEDOUT)
		finding_bad(ret, CHECK_FAIL, "The daemon is stopped or hangs, and every access waits.",
			"See its state (ps -C localiofs). kill -CONT continues a stopped daemon; otherwise kill -KILL "
			"it, then umount -l {mount}, and mount it again.",
			"%s: no answer within %d s", f->directory, IN_CHILD_SECONDS);
	else
		finding_bad(ret, CHECK_UNKNOWN,
			"Only the user who mounted may ask the daemon, and root with allow_other.",
			"Run this command as the user who mounted.", "%s: %s", f->directory, strerror(-f->mount.error));
}

static const char *text_at(const struct doctor_facts *f, const char *group, const char *key)
{
	const json_t *from = group ? json_object_get(f->mount.status, group) : f->mount.status;
	const char *text = json_string_value(json_object_get(from, key));

	return text ? text : "";
}

static bool flag_at(const struct doctor_facts *f, const char *group, const char *key)
{
	return json_is_true(json_object_get(json_object_get(f->mount.status, group), key));
}

void judge_daemon_version(const struct doctor_facts *f, struct finding *ret)
{
	const char *version = text_at(f, NULL, "version");

	if (strcmp(version, LOCALIOFS_VERSION) == 0)
		finding_ok(ret, "the daemon has version %s, like this program", version);
	else
		finding_bad(ret, CHECK_ADVICE,
			"The daemon was started before an update, and still runs the old program.",
			"Unmount and mount when convenient.", "the daemon has version %s, this program %s", version,
			LOCALIOFS_VERSION);
}

void judge_local_option(const struct doctor_facts *f, struct finding *ret)
{
	if (f->options.local != LOCAL_OFF)
		finding_ok(ret, "local=%s", local_mode_name(f->options.local));
	else
		finding_bad(ret, CHECK_FAIL, "The mount was told to use the NFS server only.",
			/* A mount that was made with it never asked the kernel for passthrough. */
			flag_at(f, "kernel", "passthrough") ? "localioctl set {mount} local=auto"
							    : "Mount without local=off.",
			"local=off");
}

void judge_mount_passthrough(const struct doctor_facts *f, struct finding *ret)
{
	if (flag_at(f, "kernel", "passthrough"))
		finding_ok(ret, "the mount can use FUSE passthrough");
	else if (f->options.local == LOCAL_URING)
		finding_bad(ret, CHECK_ADVICE, "The daemon reads and writes the files, which costs more.",
			"Mount without local=uring.", "the mount has local=uring");
	else
		finding_bad(ret, CHECK_FAIL, "The kernel and this daemon have not agreed on passthrough.",
			"Build localiofs with libfuse 3.17 or later, and mount again after an update of the kernel.",
			"the mount cannot use FUSE passthrough");
}

void judge_mount_transport(const struct doctor_facts *f, struct finding *ret)
{
	if (strcmp(text_at(f, NULL, "transport"), "io_uring") == 0)
		finding_ok(ret, "requests come over io_uring");
	else
		finding_bad(ret, CHECK_ADVICE, "Requests about names cost more; file data is not concerned.",
			"Change what the reason names (localiofs-status(7), TRANSPORT CODES), and mount again.",
			"requests come over %s (%s: %s)", text_at(f, NULL, "transport"),
			text_at(f, NULL, "transport_reason"), text_at(f, NULL, "transport_detail"));
}

void judge_mount_groups(const struct doctor_facts *f, struct finding *ret)
{
	if (flag_at(f, "callers", "groups_visible"))
		finding_ok(ret, "the daemon sees the groups of callers");
	else
		finding_bad(ret, CHECK_ADVICE, "The server gets no supplementary groups, and may deny what they allow.",
			"Let the daemon see the callers' /proc: the same pid namespace, and no hidepid.",
			"the daemon does not see the groups of callers");
}

static long long count_at(const struct doctor_facts *f, const char *group, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(f->mount.status, group), key));
}

/* What the daemon's own session got, whose limits are not those of the doctor's. */
void judge_mount_grants(const struct doctor_facts *f, struct finding *ret)
{
	long long denied = count_at(f, "grants", "denied");

	if (denied == 0)
		finding_ok(ret, "every open that asked for a local path got one");
	else
		finding_bad(ret, CHECK_ADVICE, "The NFS server served these opens.",
			"Do what the reason says (localiofs-status(7), REASON CODES), and ask for one of the files.",
			"%lld opens got no local path; the last reason is %s", denied,
			text_at(f, "grants", "last_denial"));
}

void judge_mount_open_modes(const struct doctor_facts *f, struct finding *ret)
{
	long long shared = count_at(f, "opens", "shared"), direct = count_at(f, "opens", "passthrough_direct");

	if (shared + direct == 0)
		finding_ok(ret, "no open was remote because the file was open in another way");
	else
		finding_bad(ret, CHECK_ADVICE, "All opens of a file that overlap take the way of the first.",
			"If this is the file's way (fuser -v FILE shows who has it open): close all its opens.",
			"%lld opens were remote because the file was open remotely, %lld because it was passed through",
			shared, direct);
}

void judge_mount_state(const struct doctor_facts *f, struct finding *ret)
{
	const char *state = text_at(f, NULL, "state");

	if (strcmp(state, "local") == 0)
		finding_ok(ret, "the mount is local");
	else
		finding_bad(ret, CHECK_FAIL, "All is well from here, and yet the mount's daemon says otherwise.",
			"Let it look again: localioctl probe {mount}. If that does not help: the daemon is in another "
			"container, "
			"where this command must run.",
			"the mount is %s (%s: %s)", state, text_at(f, NULL, "reason"), text_at(f, NULL, "detail"));
}

/* Before the first names are compared there is nothing to mend. An older daemon says nothing about names. */
void judge_mount_names(const struct doctor_facts *f, struct finding *ret)
{
	const char *reason = text_at(f, "names", "reason");
	const char *meaning =
		"The NFS server looks names up and changes them, which takes longer; data is local all the same.";

	if (flag_at(f, "names", "local"))
		finding_ok(ret, "the sidecar looks names up and changes them");
	else if (reason[0] == '\0' || strcmp(reason, reason_code(REASON_PROBING)) == 0)
		finding_ok(ret, "the first names that are looked up will show whether the sidecar can do it");
	else if (strcmp(reason, reason_code(REASON_OTHER_MOUNTS)) == 0)
		finding_bad(ret, CHECK_ADVICE, meaning,
			"The kernel's NFS server: export without crossmnt, if no filesystem below the export needs it "
			"(exportfs -v shows the options). NFS-Ganesha: run it and the sidecar in the same pid and "
			"mount "
			"namespaces, and no other process with its name in others. Then: localioctl probe {mount}",
			"names go by RPC (%s): the export has crossmnt, or the sidecar does not see the server's "
			"process, or sees other mounts below the export than the server",
			reason);
	else if (strcmp(reason, reason_code(REASON_OTHER_HANDLES)) == 0)
		finding_bad(ret, CHECK_ADVICE, meaning,
			"Report this as a bug, with the versions of server, kernel and filesystem.",
			"names go by RPC (%s): the sidecar makes other file handles than the server", reason);
	else
		finding_bad(ret, CHECK_ADVICE, meaning, "Do what the reason says (localiofs-status(7), REASON CODES).",
			"names go by RPC (%s)", reason);
}

/* Lookups whose answer came from the sidecar. */
static long long lookups_by_sidecar(const struct doctor_facts *f)
{
	const json_t *lookups = json_object_get(json_object_get(f->mount.status, "operations"), "LOOKUP");

	return json_integer_value(json_object_get(json_object_get(lookups, "sidecar"), "count"));
}

/* Before the sidecar has answered a lookup, the daemon does not know. An older daemon says nothing about a watch. */
void judge_mount_notices(const struct doctor_facts *f, struct finding *ret)
{
	const json_t *watched = json_object_get(json_object_get(f->mount.status, "notices"), "watched");

	if (f->options.nonotices)
		finding_ok(ret, "the option nonotices was given");
	else if (json_is_true(watched))
		finding_ok(ret, "the sidecar watches the export's filesystem, and tells of changes");
	else if (!watched || !flag_at(f, "names", "local") || lookups_by_sidecar(f) == 0)
		finding_ok(ret, "the sidecar has looked up no name yet, and will watch when it does");
	else
		finding_bad(ret, CHECK_ADVICE,
			"Names are believed for as long as the options say (acdirmin=), as by NFS clients: the daemon "
			"is "
			"asked more often, and changes by others are seen later.",
			"Export a directory of ext4, xfs or btrfs (no subvolume). If it is one, see the sidecar's log "
			"for "
			"\"change notices\" (journalctl -u localiofs-sidecar). The client needs Linux 6.16 or later.",
			"the sidecar answers lookups, but does not watch the directories for changes");
}

/* ---- a file ---- */

void judge_file(const struct doctor_facts *f, struct finding *ret)
{
	if (f->file.lookup_error == 0)
		finding_ok(ret, "the server has %s", f->file.path);
	else if (f->file.lookup_error == -ENOENT || f->file.lookup_error == -ENOTDIR)
		finding_bad(ret, CHECK_FAIL, "There is nothing to be local.", "Correct the path.", "%s: %s",
			f->file.path, strerror(-f->file.lookup_error));
	else
		finding_bad(ret, CHECK_UNKNOWN, "The server does not let this user look.",
			"Run this command as a user who may read the file.", "%s: %s", f->file.path,
			strerror(-f->file.lookup_error));
}

void judge_file_type(const struct doctor_facts *f, struct finding *ret)
{
	if (S_ISREG(f->file.mode))
		finding_ok(ret, "it is a regular file");
	else
		finding_bad(ret, CHECK_FAIL, "Directories, links and special files have no data that could be local.",
			"Nothing: ask for a regular file.", "it has the type 0%o", f->file.mode & S_IFMT);
}

void judge_file_set_id(const struct doctor_facts *f, struct finding *ret)
{
	if (f->file.open.reason != REASON_SET_ID)
		finding_ok(ret, "it has no set-id bits");
	else
		finding_bad(ret, CHECK_FAIL,
			"The server decides which writers clear the bits, so it must see the writes.",
			"Where the bits are not needed: chmod u-s,g-s", "it has set-id bits (mode %04o)",
			f->file.mode & 07777);
}

void judge_file_append_only(const struct doctor_facts *f, struct finding *ret)
{
	if (f->file.open.reason != REASON_APPEND_ONLY)
		finding_ok(ret, "it is neither append-only nor immutable");
	else
		finding_bad(ret, CHECK_FAIL, "Such attributes do not hold for a file that is passed through.",
			"Where they are not needed, on the server's side: chattr -a -i",
			"it is append-only or immutable");
}

void judge_file_rights(const struct doctor_facts *f, struct finding *ret)
{
	enum reason reason = (enum reason)f->file.open.reason;

	if (reason != REASON_UNREADABLE && reason != REASON_CLAIMS)
		finding_ok(ret, "this user's rights at the server are 0x%x", f->file.open.access);
	else
		finding_bad(ret, CHECK_FAIL, "No user whom this client may name can read the file.",
			"Give the file's owner, or others, the permission to read, or ask as another user.", "%s: %s",
			reason_code(reason), reason_text(reason));
}

void judge_file_grant(const struct doctor_facts *f, struct finding *ret)
{
	if (f->file.open_error < 0)
		finding_bad(ret, CHECK_UNKNOWN, "The session with the sidecar has ended.", "Try again.",
			"no answer about this file: %s", strerror(-f->file.open_error));
	else if (f->file.open.error < 0 || f->file.open.reason != REASON_NONE)
		finding_bad(ret, CHECK_FAIL, "The sidecar gives no local path for this file.",
			"Do what the reason says; localiofs-status(7) lists the reasons.", "%s: %s",
			reason_code(f->file.open.reason), reason_text(f->file.open.reason));
	else
		finding_ok(ret, "the sidecar grants it%s",
			f->file.open.writable || f->server.trusted ? "" : ", for reading");
}
