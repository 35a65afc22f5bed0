/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the doctor has seen: plain values, without any judgement (doctor_checks.h has those). Each function below fills
 * its part, and none waits for longer than the times in its comment. One thread. Errors are negative errnos, 0 is
 * success; a fact that was not looked for has its field's zero.
 */
#pragma once

#include <jansson.h>

#include "ctl/mounts/in_child.h"
#include "io/nfs_types.h"
#include "localiofs/broker_protocol.h"
#include "mount/mount_spec.h"
#include "mount/options.h"
#include "probe/probe.h"
#include "wire/registry.h"

/* The subject of the question: each kind includes the checks of those before it. */
enum doctor_subject {
	DOCTOR_MACHINE,
	DOCTOR_SERVER, /* SERVER:/EXPORT, which need not be mounted */
	DOCTOR_MOUNT,
	DOCTOR_FILE, /* a file in a mount */
};

struct machine_facts {
	unsigned major, minor; /* of the kernel's release */
	char release[65];
	int proc_error;          /* of reading /proc/self/mountinfo */
	int device_error;        /* of opening /dev/fuse for reading and writing */
	int mount_error;         /* of mounting FUSE in a mount namespace of the doctor's own */
	uint64_t fuse_features;  /* the flags of the kernel's INIT */
	char enable_uring;       /* Y, N, or 0: the kernel has no such parameter */
	int io_uring_error;      /* of making a ring */
	int64_t user_namespaces; /* user.max_user_namespaces; -1: not known */
	int reserved_error;      /* of binding a port below 1024 */
	int64_t first_port;      /* net.ipv4.ip_unprivileged_port_start; -1: not known */
	bool root;               /* the doctor's user may mount */
	bool fusermount;         /* fusermount3 is in PATH */
	bool sees_others;        /* the doctor's /proc shows processes of other users */
};

struct registry_facts {
	char path[REGISTRY_MAX_PATH];
	int place_error; /* of finding a directory on tmpfs */
	int error;       /* of the checks of its owner, mode and mark */
	int socket_error;
	struct registry_fault place, fault, socket; /* the sentences about these errors */
	unsigned mode, uid;
	bool bound, read_only; /* the registry is a mount of its own; that mount is read-only */
	char type[32];         /* of the filesystem; empty: the directory does not exist */
};

struct sidecar_facts {
	int connect_error;
	int answer_error;    /* of the reply to ANNOUNCE: -ETIMEDOUT, -ENOTCONN, -EPROTO */
	enum reason goodbye; /* with which the sidecar ended the connection */
	struct broker_announced announced;
	int slot_error; /* of finding the announced nonce in the registry */
	struct registry_fault slot;
};

struct server_facts {
	int find_error, connect_error, root_error;
	char sentence[400]; /* about the first of these errors */
	char address[64];
	unsigned port;
	uint32_t root_access; /* the ACCESS bits that the server gives uid 0 on the root */
	struct nfs_attr root;
	struct probe_status probe;
	bool remembers;             /* the server answers from memory, as NFS-Ganesha does */
	bool trusted;               /* the sidecar believes that this process owns the machine */
	int backing_error;          /* of looking at the backing filesystem */
	unsigned long backing_type; /* f_type of statfs(2); 0: not visible */
};

struct defaults_facts {
	bool there;
	int error; /* of reading the defaults file */
	char sentence[400];
};

struct mount_facts {
	bool there; /* mountinfo has a localiofs mount on the directory */
	char source[1300];
	int error;      /* of the question for the status: -ETIMEDOUT, -ENOTCONN, -EPERM, -EACCES... */
	json_t *status; /* NULL without an answer */
};

struct file_facts {
	char path[1024]; /* below the mount */
	int lookup_error;
	uint32_t mode;
	int open_error; /* of the question to the sidecar */
	struct broker_open_reply open;
	unsigned long type; /* f_type of the granted descriptor; 0: none was granted */
};

struct doctor_facts {
	enum doctor_subject subject;
	char target[1300];    /* as the user gave it */
	char directory[1024]; /* of the mount */
	int spec_error;       /* of the target and the options */
	char spec_sentence[300];
	struct mount_spec spec;
	struct mount_options options;
	struct machine_facts machine;
	struct registry_facts registry;
	struct sidecar_facts sidecar;
	struct server_facts server;
	struct defaults_facts defaults;
	struct mount_facts mount;
	struct file_facts file;
};

/* FUSE's INIT flags, include/uapi/linux/fuse.h of Linux 6.14. */
#define DOCTOR_FUSE_PASSTHROUGH (1ULL << 37)
#define DOCTOR_FUSE_OVER_URING  (1ULL << 41)
#define DOCTOR_QUESTION_SECONDS 5 /* for each answer of the sidecar and the server */

/* This machine. At most 5 s. */
void facts_of_machine(struct machine_facts *m);

/* The registry on that path, and the sidecar behind it. At most 14 s. */
void facts_of_registry(struct registry_facts *r, struct sidecar_facts *s);

/* Reads the defaults file, and changes the options by its sections for all and for the server, if that is known. */
void facts_of_defaults(struct doctor_facts *f);

/*
 * Finds out what the target is, reads the mount table, and asks the mount's daemon, for at most IN_CHILD_SECONDS,
 * in a process of its own, which may stay behind if it hangs. Fills subject, directory, spec, options, defaults,
 * mount, file.path.
 */
void facts_of_target(struct doctor_facts *f, const char *target, const char *options);

/* The NFS server, the probe and the file. Each question has a time limit; 40 s in all. */
void facts_of_server(struct doctor_facts *f);

void facts_done(struct doctor_facts *f);
