/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a mount, an inode or a grant is not local. One table: the number travels in the broker
 * protocol, the code is stable for scripts (localioctl status --json), the sentence is for people.
 * New reasons are appended; numbers and codes never change.
 */
#pragma once

/* clang-format off */
#define REASON_TABLE(X) \
	X(NONE,              0, "none",               "nothing is wrong") \
	X(LOCAL,             1, "local",              "the server is on this host and its sidecar answers") \
	X(PROBING,           2, "probing",            "the first probe has not finished yet") \
	X(OFF,               3, "off",                "local=off was asked for") \
	X(NO_PASSTHROUGH,    4, "no-passthrough",     "this kernel or libfuse has no FUSE passthrough") \
	X(NO_REGISTRY,       5, "no-registry",        "the registry directory is not there: no sidecar runs on this host, or this container does not see its registry") \
	X(BAD_REGISTRY,      6, "bad-registry",       "the registry is not to be trusted: a sidecar must have made and marked it, on tmpfs, writable by nobody else") \
	X(REGISTRY_FULL,     7, "registry-full",      "the sidecar's registry has no slot left") \
	X(NO_BROKER,         8, "no-broker",          "nobody listens on the registry's broker socket: the sidecar is not running") \
	X(BAD_BROKER,        9, "bad-broker",         "the broker socket carries no mark of a sidecar, or the process behind it does not answer") \
	X(PROBE_REFUSED,    10, "probe-refused",      "the server's host does not answer on probeport=: no sidecar runs there, or a firewall shuts the port") \
	X(PROBE_TIMEOUT,    11, "probe-timeout",      "the server's host did not answer the probe in time") \
	X(PROBE_DENIED,     12, "probe-denied",       "the sidecar on the server's host refused the probe") \
	X(NOT_MATCHED,      13, "not-matched",        "the server's sidecar does not see this mount's registry: it is on another host") \
	X(WRONG_EXPORT,     14, "wrong-export",       "the sidecar on this host has another filesystem under the export's handle than the NFS server") \
	X(NOT_EXPORTED,     15, "not-exported",       "the sidecar finds no export for the handle") \
	X(CLIENT_DENIED,    16, "client-denied",      "the export's options do not allow this client") \
	X(NOT_SERVING,      17, "not-serving",        "the NFS server is not serving now") \
	X(BAD_HANDLE,       18, "bad-handle",         "the file handle is not of a kind that the sidecar can resolve") \
	X(BAD_DESCRIPTOR,   19, "bad-descriptor",     "the descriptor that came with HELLO is no /dev/fuse descriptor of a mount") \
	X(SESSION_LOST,     20, "session-lost",       "the connection to the sidecar ended") \
	X(SIDECAR_STOPPED,  21, "sidecar-stopped",    "the sidecar was stopped") \
	X(REVOKED,          22, "revoked",            "the sidecar withdrew the export or its options changed") \
	X(LIMIT,            23, "limit",              "a limit of the sidecar is reached") \
	X(NOT_REGULAR,      24, "not-regular",        "only regular files have a local path") \
	X(APPEND_ONLY,      25, "append-only",        "append-only and immutable files have no local path") \
	X(UNREADABLE,       26, "unreadable",         "no credential that this client may claim may read the file") \
	X(KERNEL_REFUSED,   27, "kernel-refused",     "the kernel refused to register the backing file") \
	X(PROTOCOL,         28, "protocol",           "the other side broke the broker protocol") \
	X(NFS_DOWN,         29, "nfs-down",           "the connection to the NFS server is lost") \
	X(SUBTREE_CHECK,    30, "subtree-check",      "the export has subtree_check, a promise that a local path cannot keep") \
	X(EXPORT_OPTIONS,   31, "export-options",     "the export has an option or a kind of client that the sidecar cannot honour; localiofs-sidecar --check names it") \
	X(NOT_CONNECTED,    32, "not-connected",      "the client holds no connection to the NFS server at the address that it was matched with") \
	X(SET_ID,           33, "set-id",             "files with set-id bits have no local path: who writes decides whether they keep them") \
	X(NO_URING,         34, "no-uring",           "local=uring was asked for, and this kernel has no io_uring or does not allow it: sysctl kernel.io_uring_disabled, or a seccomp filter of the container") \
	X(VERSION,          35, "version",            "the sidecar speaks another version of the broker protocol: install the same release of localiofs and localiofs-sidecar") \
	X(NO_PERMISSION,    36, "no-permission",      "a security module or seccomp filter keeps the sidecar's mark on the registry from being read") \
	X(NO_PROC,          37, "no-proc",            "/proc is not mounted, by which the registry is looked at safely") \
	X(PEER_CHANGED,     38, "peer-changed",       "the client's address is not the one any more that its session began with")
/* clang-format on */

enum reason {
#define X(name, number, code, text) REASON_##name = number,
	REASON_TABLE(X)
#undef X
};

/* The stable code and the sentence of a reason; "unknown" for a number of a later version. */
const char *reason_code(unsigned reason);
const char *reason_text(unsigned reason);
