/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The reasons why a mount, an inode or a grant is not local. The number travels in the broker protocol, the code is for
 * scripts (localioctl status --json), and the sentence, which says the fact and the way out, is for people. A new
 * reason is a line at the end of the table and an item in localiofs-status(7). Numbers and codes never change.
 *
 * No state.
 */
#pragma once

/* clang-format off */
#define REASON_TABLE(X) \
	X(NONE,              0, "none",               "nothing is wrong") \
	X(LOCAL,             1, "local",              "the server is on this host and its sidecar answers") \
	X(PROBING,           2, "probing",            "the first probe has not finished yet; it takes a few seconds at most") \
	X(OFF,               3, "off",                "the mount has local=off; mount it without that option to use local paths") \
	X(NO_PASSTHROUGH,    4, "no-passthrough",     "this kernel or libfuse has no FUSE passthrough; it needs Linux 6.9 with CONFIG_FUSE_PASSTHROUGH") \
	X(NO_REGISTRY,       5, "no-registry",        "the registry directory does not exist; start localiofs-sidecar on this host, or make its registry visible in this container") \
	X(BAD_REGISTRY,      6, "bad-registry",       "the registry cannot be trusted; it must be on tmpfs, made and marked by a sidecar, and writable by nobody else") \
	X(REGISTRY_FULL,     7, "registry-full",      "the sidecar's registry has no free slot; the next probes try again") \
	X(NO_BROKER,         8, "no-broker",          "no process listens on the registry's broker socket; start localiofs-sidecar") \
	X(BAD_BROKER,        9, "bad-broker",         "the broker socket has no mark of a sidecar, or the process behind it does not answer; restart localiofs-sidecar") \
	X(PROBE_REFUSED,    10, "probe-refused",      "the server's host does not answer on the sidecar's port; start localiofs-sidecar there, open the port (probeport=) in the firewall, or map it into the network of the container") \
	X(PROBE_TIMEOUT,    11, "probe-timeout",      "the server's host did not answer the probe in time; check the firewall, the mapping of the port (probeport=) and the load of that host") \
	X(PROBE_DENIED,     12, "probe-denied",       "the program on the sidecar's port refused the probe; check that probeport= is the port of localiofs-sidecar") \
	X(NOT_MATCHED,      13, "not-matched",        "the server's sidecar does not see this mount's registry; the server is on another host, or this container does not share the host's registry") \
	X(WRONG_EXPORT,     14, "wrong-export",       "the sidecar on this host has another filesystem under the export's file handle than the NFS server; check that it serves the same exports") \
	X(NOT_EXPORTED,     15, "not-exported",       "the sidecar finds no export for the file handle; check the exports with localiofs-sidecar --check") \
	X(CLIENT_DENIED,    16, "client-denied",      "the export's options do not allow this client; add the client to the export") \
	X(NOT_SERVING,      17, "not-serving",        "the NFS server does not listen now; start it") \
	X(BAD_HANDLE,       18, "bad-handle",         "the sidecar cannot resolve this kind of file handle, or the file is gone; the NFS server decides") \
	X(BAD_DESCRIPTOR,   19, "bad-descriptor",     "the descriptor that came with HELLO is not the /dev/fuse descriptor of a mount; the next probes try again") \
	X(SESSION_LOST,     20, "session-lost",       "the connection to the sidecar ended; check that localiofs-sidecar runs") \
	X(SIDECAR_STOPPED,  21, "sidecar-stopped",    "the sidecar was stopped; start localiofs-sidecar") \
	X(REVOKED,          22, "revoked",            "the export was withdrawn or its options changed; new opens use the present options") \
	X(LIMIT,            23, "limit",              "a limit of the sidecar is reached; localiofs-sidecar(8) lists the limits") \
	X(NOT_REGULAR,      24, "not-regular",        "only regular files have a local path; the NFS server serves the others") \
	X(APPEND_ONLY,      25, "append-only",        "append-only and immutable files have no local path; the NFS server serves them") \
	X(UNREADABLE,       26, "unreadable",         "no credential that this client may use can read the file; the NFS server decides") \
	X(KERNEL_REFUSED,   27, "kernel-refused",     "the kernel refused to register the backing file; the NFS server serves it") \
	X(PROTOCOL,         28, "protocol",           "the other side broke the broker protocol; install the same release of localiofs and localiofs-sidecar") \
	X(NFS_DOWN,         29, "nfs-down",           "the connection to the NFS server is lost; the next probe begins when it is back") \
	X(SUBTREE_CHECK,    30, "subtree-check",      "the export has subtree_check, which a local path cannot honour; export with no_subtree_check") \
	X(EXPORT_OPTIONS,   31, "export-options",     "the export has an option or a kind of client that the sidecar cannot honour; localiofs-sidecar --check names it") \
	X(NOT_CONNECTED,    32, "not-connected",      "the client has no connection to the NFS server from the address with which it was matched; the next session begins when it has") \
	X(SET_ID,           33, "set-id",             "files with set-id bits have no local path, since the server decides which writers clear the bits") \
	X(NO_URING,         34, "no-uring",           "local=uring needs io_uring, which this kernel does not have or allow; check the sysctl kernel.io_uring_disabled and the container's seccomp filter") \
	X(VERSION,          35, "version",            "the sidecar speaks another version of the broker protocol; install the same release of localiofs and localiofs-sidecar") \
	X(NO_PERMISSION,    36, "no-permission",      "a security module or seccomp filter forbids reading the sidecar's mark on the registry; allow the attribute security.localiofs") \
	X(NO_PROC,          37, "no-proc",            "/proc is not mounted, and checking the registry safely needs it; mount /proc") \
	X(PEER_CHANGED,     38, "peer-changed",       "the client's address changed since its session began; the next session begins at once") \
	X(CLAIMS,           39, "claims",             "the sidecar does not let this client act for that user or group (--claims=peer); the NFS server decides") \
	X(SERVER_DECIDES,   40, "server-decides",     "only the NFS server can answer: a mount point, a refusal, or a name that is none") \
	X(OTHER_MOUNTS,     41, "other-mounts",       "the NFS server's process does not see the same mounts below the export as the sidecar, or is not visible") \
	X(OTHER_HANDLES,    42, "other-handles",      "the sidecar makes other file handles than the NFS server") \
	X(SERVER_REMEMBERS, 43, "server-remembers",   "the NFS server answers from memory, and does not look in time at what the sidecar changes; it need not with Attr_Expiration_Time = 0 in its configuration") \
	X(GROUPS,           44, "groups",             "the answer depends on the caller's groups, which the daemon had not read; it reads them, and the NFS server decides this time")
/* clang-format on */

enum reason {
#define X(name, number, code, text) REASON_##name = number,
	REASON_TABLE(X)
#undef X
};

/* The code and the sentence of a reason; "unknown" for a number that only later versions know. */
const char *reason_code(unsigned reason);
const char *reason_text(unsigned reason);
