/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the doctor's facts mean: one table of checks, in the order in which they must hold. A check is a pure function
 * of the facts. Its line in the table also names the checks without which it would say nothing. The ids are for scripts
 * and never change; localioctl-doctor(8) has an item for each. Constant; plain values; any thread.
 */
#pragma once

#include <stdio.h>

#include "ctl/facts/doctor_facts.h"

enum check_result {
	CHECK_OK,
	CHECK_ADVICE,  /* the fast path works, but not as well or as surely as it could */
	CHECK_FAIL,    /* without this the data goes through the NFS server */
	CHECK_UNKNOWN, /* it could not be found out */
	CHECK_SKIPPED, /* its precondition does not hold */
};

struct finding {
	enum check_result result;
	char found[400];
	const char *meaning; /* a sentence */
	char todo[600];      /* sentences; empty where there is nothing to do */
	const char *because; /* SKIPPED: the id of the check that failed or is not known */
};

/* Fills the finding of one check. */
typedef void doctor_judge_fn(const struct doctor_facts *f, struct finding *ret);

struct doctor_check {
	const char *id;
	enum doctor_subject subject; /* the least subject for which it is made */
	doctor_judge_fn *judge;
	const char *needs[3]; /* ids of earlier checks without which it would say nothing; NULL: no more */
	const char *meaning;  /* what holds if the check is ok: a sentence */
};

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_checks_size;

/* Fills a finding per check of the table; those of larger subjects are SKIPPED without a reason. */
void doctor_judge(const struct doctor_facts *f, struct finding *ret);

/* The exit status: 0 if the fast path works, 1 if it does not, 2 if that could not be found out. */
int doctor_exit_status(const struct finding *findings);

/*
 * For judges: the finding's result and words. In todo {mount} stands for the mount's directory, and {registry} for the
 * registry.
 */
void PRINTF(2, 3) finding_ok(struct finding *ret, const char *format, ...);
void PRINTF(5, 6) finding_bad(struct finding *ret, enum check_result result, const char *meaning, const char *todo,
	const char *format, ...);

/* The judges, in the files checks_*.c. */
doctor_judge_fn judge_proc, judge_kernel, judge_fuse_device, judge_trial_mount, judge_passthrough, judge_fuse_uring,
	judge_io_uring, judge_user_namespaces, judge_fusermount, judge_reserved_port, judge_callers, judge_registry,
	judge_registry_tmpfs, judge_registry_owner, judge_registry_mark, judge_registry_read_only, judge_broker_socket,
	judge_sidecar_listens, judge_sidecar_version, judge_sidecar_answers, judge_sidecar_registry,
	judge_server_listens, judge_target, judge_defaults, judge_mounted, judge_daemon_alive, judge_daemon_answers,
	judge_daemon_version, judge_local_option, judge_server_name, judge_mount_daemon, judge_server_export,
	judge_nfs_answers, judge_squash, judge_probe_port, judge_same_host, judge_sidecar_limits, judge_server_serving,
	judge_handles, judge_export_known, judge_client_matched, judge_export_options, judge_same_export, judge_session,
	judge_address, judge_owner_proof, judge_backing, judge_mount_passthrough, judge_mount_transport,
	judge_mount_groups, judge_mount_state, judge_mount_grants, judge_mount_open_modes, judge_mount_names,
	judge_mount_notices, judge_file, judge_file_type, judge_file_set_id, judge_file_append_only, judge_file_rights,
	judge_file_grant, judge_file_backing;

/* Lines of clean text: each check, and at the end a sentence. */
void doctor_print_text(FILE *to, const struct finding *findings);

/* {"checks": [...], "unchecked": [...]}; NULL without memory. The caller frees it. */
json_t *doctor_json(const struct finding *findings);
