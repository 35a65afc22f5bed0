/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/doctor/doctor_checks.h"

#include <stdarg.h>

/* clang-format off */
const struct doctor_check doctor_checks[] = {
	{"proc",               DOCTOR_MACHINE, judge_proc,                 {NULL},              "The mount table can be read."},
	{"kernel",             DOCTOR_MACHINE, judge_kernel,               {NULL},              "The kernel is new enough."},
	{"fuse-device",        DOCTOR_MACHINE, judge_fuse_device,          {NULL},              "This user can open /dev/fuse."},
	{"fuse-mount",         DOCTOR_MACHINE, judge_trial_mount,          {"fuse-device"},     "The kernel mounts FUSE."},
	{"passthrough",        DOCTOR_MACHINE, judge_passthrough,          {"fuse-mount"},      "The kernel can move file data past the daemon."},
	{"fuse-uring",         DOCTOR_MACHINE, judge_fuse_uring,           {"fuse-device"},     "Requests can come over io_uring."},
	{"io-uring",           DOCTOR_MACHINE, judge_io_uring,             {NULL},              "The daemon can read and write local files."},
	{"user-namespaces",    DOCTOR_MACHINE, judge_user_namespaces,      {NULL},              "Containers of ordinary users can mount."},
	{"fusermount",         DOCTOR_MACHINE, judge_fusermount,           {NULL},              "Ordinary users can mount."},
	{"reserved-port",      DOCTOR_MACHINE, judge_reserved_port,        {NULL},              "Exports that demand a privileged port accept this user."},
	{"callers",            DOCTOR_MACHINE, judge_callers,              {"proc"},            "The groups of callers are visible."},
	{"defaults",           DOCTOR_MACHINE, judge_defaults,             {NULL},              "The defaults file has no fault."},
	{"mounted",            DOCTOR_MOUNT,   judge_mounted,              {"proc"},            "The path lies in a localiofs mount."},
	{"daemon-alive",       DOCTOR_MOUNT,   judge_daemon_alive,         {"mounted"},         "The mount has its daemon."},
	{"daemon-answers",     DOCTOR_MOUNT,   judge_daemon_answers,       {"daemon-alive"},    "The daemon serves requests."},
	{"daemon-version",     DOCTOR_MOUNT,   judge_daemon_version,       {"daemon-answers"},  "Daemon and doctor are of the same release."},
	{"target",             DOCTOR_SERVER,  judge_target,               {"mounted"},         "Server, export and options are well-formed."},
	{"local-option",       DOCTOR_SERVER,  judge_local_option,         {"target"},          "The options allow local paths."},
	{"registry",           DOCTOR_MACHINE, judge_registry,             {"proc"},            "The sidecar's registry is there."},
	{"registry-tmpfs",     DOCTOR_MACHINE, judge_registry_tmpfs,       {"registry"},        "The registry is in this host's memory."},
	{"registry-owner",     DOCTOR_MACHINE, judge_registry_owner,       {"registry-tmpfs"},  "Only the sidecar can write to the registry."},
	{"registry-mark",      DOCTOR_MACHINE, judge_registry_mark,        {"registry-owner"},  "A sidecar of this host made the registry."},
	{"registry-read-only", DOCTOR_MACHINE, judge_registry_read_only,   {"registry-mark"},   "This container cannot disturb the registry."},
	{"broker-socket",      DOCTOR_MACHINE, judge_broker_socket,        {"registry-mark"},   "The sidecar's socket is in the registry."},
	{"sidecar-listens",    DOCTOR_MACHINE, judge_sidecar_listens,      {"broker-socket"},   "A sidecar runs."},
	{"sidecar-version",    DOCTOR_MACHINE, judge_sidecar_version,      {"sidecar-listens"}, "The sidecar is of the same release."},
	{"sidecar-answers",    DOCTOR_MACHINE, judge_sidecar_answers,      {"sidecar-version"}, "The sidecar accepts clients."},
	{"sidecar-registry",   DOCTOR_MACHINE, judge_sidecar_registry,     {"sidecar-answers"}, "Registry and socket belong together."},
	{"server-listens",     DOCTOR_MACHINE, judge_server_listens,       {"sidecar-registry"}, "The sidecar sees the NFS server."},
	{"server-name",        DOCTOR_SERVER,  judge_server_name,          {"target"},          "The server's name has an address."},
	{"mount-daemon",       DOCTOR_SERVER,  judge_mount_daemon,         {"server-name"},     "The server can be asked for its exports."},
	{"server-export",      DOCTOR_SERVER,  judge_server_export,        {"mount-daemon"},    "The server exports the directory to this client."},
	{"nfs-answers",        DOCTOR_SERVER,  judge_nfs_answers,          {"server-export"},   "The NFS server answers."},
	{"squash",             DOCTOR_SERVER,  judge_squash,               {"nfs-answers"},     "root is root at the server."},
	{"probe-port",         DOCTOR_SERVER,  judge_probe_port,           {"local-option", "server-listens", "nfs-answers"}, "The sidecar's port is reachable from here."},
	{"same-host",          DOCTOR_SERVER,  judge_same_host,            {"probe-port"},      "The NFS server is on this host."},
	{"sidecar-limits",     DOCTOR_SERVER,  judge_sidecar_limits,       {"same-host"},       "The sidecar has room."},
	{"server-serving",     DOCTOR_SERVER,  judge_server_serving,       {"sidecar-limits"},  "The sidecar sees the client at the server."},
	{"handles",            DOCTOR_SERVER,  judge_handles,              {"server-serving"},  "The sidecar understands the server's file handles."},
	{"export-known",       DOCTOR_SERVER,  judge_export_known,         {"handles"},         "The sidecar has read the export."},
	{"client-matched",     DOCTOR_SERVER,  judge_client_matched,       {"export-known"},    "The export is for this client."},
	{"export-options",     DOCTOR_SERVER,  judge_export_options,       {"client-matched"},  "The export's options allow local paths."},
	{"same-export",        DOCTOR_SERVER,  judge_same_export,          {"export-options"},  "Sidecar and server mean the same directory."},
	{"session",            DOCTOR_SERVER,  judge_session,              {"same-export"},     "The sidecar gives this client local paths."},
	{"address",            DOCTOR_SERVER,  judge_address,              {"session"},         "No address translation is in between."},
	{"owner-proof",        DOCTOR_SERVER,  judge_owner_proof,          {"session"},         "The client may also get descriptors for writing."},
	{"backing",            DOCTOR_SERVER,  judge_backing,              {"session"},         "The export lies on a filesystem that is tested."},
	{"mount-passthrough",  DOCTOR_MOUNT,   judge_mount_passthrough,    {"daemon-answers", "local-option"}, "The mount can use passthrough."},
	{"mount-transport",    DOCTOR_MOUNT,   judge_mount_transport,      {"daemon-answers"},  "The mount gets its requests over io_uring."},
	{"mount-groups",       DOCTOR_MOUNT,   judge_mount_groups,         {"daemon-answers"},  "The server gets the groups of callers."},
	{"mount-state",        DOCTOR_MOUNT,   judge_mount_state,          {"daemon-answers", "session"}, "The mount is local."},
	{"mount-grants",       DOCTOR_MOUNT,   judge_mount_grants,         {"mount-state"},     "Opens get their local paths."},
	{"mount-open-modes",   DOCTOR_MOUNT,   judge_mount_open_modes,     {"mount-state"},     "Opens of one file do not hinder each other."},
	{"mount-names",        DOCTOR_MOUNT,   judge_mount_names,          {"mount-state"},     "Names are looked up and changed by the sidecar."},
	{"mount-notices",      DOCTOR_MOUNT,   judge_mount_notices,        {"mount-state"},     "Names are believed for long."},
	{"file",               DOCTOR_FILE,    judge_file,                 {"session"},         "The file exists."},
	{"file-type",          DOCTOR_FILE,    judge_file_type,            {"file"},            "It is a regular file."},
	{"file-set-id",        DOCTOR_FILE,    judge_file_set_id,          {"file-type"},       "It has no set-id bits."},
	{"file-append-only",   DOCTOR_FILE,    judge_file_append_only,     {"file-set-id"},     "It has no attributes that forbid changes."},
	{"file-rights",        DOCTOR_FILE,    judge_file_rights,          {"file-append-only"}, "Somebody may read it."},
	{"file-grant",         DOCTOR_FILE,    judge_file_grant,           {"file-rights"},     "The sidecar grants it."},
	{"file-backing",       DOCTOR_FILE,    judge_file_backing,         {"file-grant"},      "The kernel can pass it through."},
};
/* clang-format on */
const size_t doctor_checks_size = ARRAY_SIZE(doctor_checks);

void finding_ok(struct finding *ret, const char *format, ...)
{
	va_list ap;

	ret->result = CHECK_OK;
	va_start(ap, format);
	(void)vsnprintf(ret->found, sizeof(ret->found), format, ap);
	va_end(ap);
}

void finding_bad(struct finding *ret, enum check_result result, const char *meaning, const char *todo,
	const char *format, ...)
{
	va_list ap;

	ret->result = result;
	ret->meaning = meaning;
	(void)snprintf(ret->todo, sizeof(ret->todo), "%s", todo);
	va_start(ap, format);
	(void)vsnprintf(ret->found, sizeof(ret->found), format, ap);
	va_end(ap);
}

static size_t number_of(const char *id)
{
	size_t n = 0;

	while (n < doctor_checks_size && strcmp(doctor_checks[n].id, id) != 0)
		n++;
	return n;
}

/* The id of the check whose failure makes this one meaningless, or NULL. */
static const char *obstacle(const struct doctor_facts *f, const struct finding *findings, const struct doctor_check *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->needs) && c->needs[i]; i++) {
		size_t n = number_of(c->needs[i]);

		/* A check that is not made for this subject is no obstacle. */
		if (n == doctor_checks_size || doctor_checks[n].subject > f->subject)
			continue;
		if (findings[n].result == CHECK_SKIPPED)
			return findings[n].because;
		if (findings[n].result == CHECK_FAIL || findings[n].result == CHECK_UNKNOWN)
			return c->needs[i];
	}
	return NULL;
}

/* Puts a name in the place of each such word. */
static void insert(char *text, size_t size, const char *word, const char *name)
{
	char *at = text;

	while ((at = strstr(at, word))) {
		_cleanup_free_ char *rest = strdup(at + strlen(word));

		(void)snprintf(at, size - (size_t)(at - text), "%s%s", name, rest ? rest : "");
		at += MIN(strlen(name), strlen(at));
	}
}

void doctor_judge(const struct doctor_facts *f, struct finding *ret)
{
	for (size_t n = 0; n < doctor_checks_size; n++) {
		const struct doctor_check *c = &doctor_checks[n];

		ret[n] = (struct finding){.result = CHECK_SKIPPED, .meaning = c->meaning};
		if (c->subject > f->subject)
			continue;
		ret[n].because = obstacle(f, ret, c);
		if (ret[n].because)
			continue;
		c->judge(f, &ret[n]);
		insert(ret[n].todo, sizeof(ret[n].todo), "{mount}", f->directory);
		insert(ret[n].todo, sizeof(ret[n].todo), "{registry}", f->registry.path);
	}
}

int doctor_exit_status(const struct finding *findings)
{
	int status = 0;

	for (size_t n = 0; n < doctor_checks_size; n++) {
		if (findings[n].result == CHECK_FAIL)
			return 1;
		if (findings[n].result == CHECK_UNKNOWN)
			status = 2;
	}
	return status;
}
