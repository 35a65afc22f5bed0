/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The keys of a mount's status, in the order of the JSON text. The daemon (src/fuse/control/status.c) makes the JSON
 * from this table, localioctl (src/ctl/mounts/show.c) reads the values by it, and man/check compares it with the list
 *of keys in localiofs-status(7). A new key is a line of the table and an item in that page. Keys never change their
 *meaning.
 *
 * The columns of STATUS_KEYS and STATUS_CONNECTION_KEYS:
 *
 *	key      the path in the JSON; a dot leads into an object
 *	type     one of those in enum status_type
 *	unit     of a number; empty where there is none
 *	value    an expression of src/fuse/control/status.c and src/fuse/metrics.c, where v is a struct status_view; no
 *	         other file expands this column
 *	meaning  a sentence without its end, for people and for metrics
 *
 * Counters count from the mount's start. This header has no state.
 */
#pragma once

enum status_type {
	STATUS_CODE,    /* a word that never changes, for scripts */
	STATUS_TEXT,    /* a string from outside or for people; bytes that are not UTF-8 become '?' */
	STATUS_FLAG,    /* true or false */
	STATUS_NUMBER,  /* an integer that may rise and fall */
	STATUS_COUNTER, /* an integer that only rises */
	STATUS_TIME,    /* seconds since the epoch; 0: never */
	STATUS_TREE,    /* an array, or an object whose keys are not in this table */
};

/* clang-format off */
#define STATUS_KEYS(X) \
	X("version",                 CODE,    "",         LOCALIOFS_VERSION,                           "The daemon's version") \
	X("spec",                    TEXT,    "",         v->fs->spec,                                 "SERVER:/EXPORT as it was given to the mount") \
	X("state",                   CODE,    "",         status_state_name(v->probe.state),                "The mount's state: local, remote, or probing until the first probe ends") \
	X("reason",                  CODE,    "",         reason_code(v->probe.reason),                "The code of the reason for the state") \
	X("detail",                  TEXT,    "",         v->probe.detail,                             "The reason as a sentence for people") \
	X("pid",                     NUMBER,  "",         getpid(),                                    "The daemon's pid in its own pid namespace") \
	X("started",                 TIME,    "seconds",  v->fs->started,                              "When the daemon was started") \
	X("transport",               CODE,    "",         v->over_io_uring ? "io_uring" : "/dev/fuse", "The path of the kernel's requests to the daemon, by which this question came") \
	X("transport_reason",        CODE,    "",         ring_reason_code(v->ring_reason),            "The code of the reason why requests do not come over io_uring") \
	X("transport_detail",        TEXT,    "",         ring_reason_text(v->ring_reason),            "The same reason as a sentence for people") \
	X("options.all",             TEXT,    "",         v->options,                                  "All mount options in effect, those that were not given included") \
	X("options.defaults",        TEXT,    "",         v->fs->defaults,                             "The mount options that the defaults file gave; those of the command line came after them") \
	X("options.local",           CODE,    "",         local_mode_name(v->fs->options->local),      "The value of the mount option local=") \
	X("options.ro",              FLAG,    "",         status_is_read_only(v->fs),                  "True if the mount is read-only now") \
	X("options.rsize",           NUMBER,  "bytes",    v->fs->rsize,                                "The largest READ, as agreed with the server") \
	X("options.wsize",           NUMBER,  "bytes",    v->fs->wsize,                                "The largest WRITE, as agreed with the server") \
	X("options.allow_other",     FLAG,    "",         v->fs->allow_other,                          "True if other users than the owner may use the mount") \
	X("options.map",             CODE,    "",         id_map_name(v->fs->options->map),            "The value of the mount option map=") \
	X("callers.translated",      FLAG,    "",         v->fs->namespaces.translates,                "True if the server gets other ids than the kernel's requests have (map=outside in a user namespace)") \
	X("callers.groups_visible",  FLAG,    "",         v->fs->namespaces.sees_callers,              "True if the daemon can read the supplementary groups of callers; otherwise the server gets none") \
	X("server.address",          TEXT,    "",         v->address,                                  "The NFS server's numeric address, of the last connection") \
	X("server.connected",        FLAG,    "",         v->server.connected,                         "True if at least one NFS connection is up") \
	X("server.acl",              FLAG,    "",         v->fs->has_acls,                             "True if the server has NFSACL and the mount may use it") \
	X("server.reconnects",       COUNTER, "events",   v->server.reconnects,                        "How often a connection came back after all were lost") \
	X("server.connections",      TREE,    "",         connections_json(&v->server),                "An object per connection") \
	X("server.calls",            TREE,    "calls",    calls_json(&v->server, v->server.calls, 1),  "How many calls were answered, by the procedure's name") \
	X("server.round_trips",      TREE,    "microseconds", calls_json(&v->server, v->server.round_trip_ns, 1000), "The time of these calls from the last sending to the answer, in all") \
	X("server.retrans",          COUNTER, "calls",    v->server.repeated,                          "Calls that were sent again for want of an answer") \
	X("sidecar.registry",        TEXT,    "",         v->fs->options->registry,                    "The registry directory") \
	X("sidecar.pid",             NUMBER,  "",         v->probe.sidecar_pid,                        "The sidecar's pid; 0 without a session, or where the pid is not visible") \
	X("sidecar.trusts",          FLAG,    "",         v->fs->probe && probe_is_trusted(v->fs->probe), "True if the sidecar may send descriptors for writing") \
	X("sidecar.peer",            TEXT,    "",         v->probe.peer,                               "This client's address and port, as the sidecar saw the last probe that matched") \
	X("sidecar.export",          TEXT,    "",         v->probe.export_path,                        "The export's path on the server's host, of the last session") \
	X("probe.last",              TIME,    "seconds",  v->probe.last_probe,                         "When the state was last determined") \
	X("probe.attempts",          COUNTER, "probes",   v->probe.attempts,                           "Probes that were started") \
	X("probe.matched",           COUNTER, "probes",   v->probe.matched,                            "Probes that found the server on this host") \
	X("probe.switches",          COUNTER, "events",   v->probe.switches,                           "Changes between local and remote after the first probe") \
	X("kernel.passthrough",      FLAG,    "",         v->fs->passthrough,                          "True if the mount can use FUSE passthrough") \
	X("kernel.libfuse_io_uring", FLAG,    "",         LOCALIOFS_FUSE_IO_URING,                     "True if libfuse was built for FUSE over io_uring") \
	X("opens.passthrough",       COUNTER, "opens",    v->counters->opens[OPEN_PATH_PASSTHROUGH],   "Opens whose data the kernel moves to and from the backing file") \
	X("opens.uring",             COUNTER, "opens",    v->counters->opens_uring,                    "Opens whose data the daemon moves to and from the backing file") \
	X("opens.remote",            COUNTER, "opens",    status_opens_remote(v->counters),            "Opens whose data goes through the NFS server") \
	X("opens.direct",            COUNTER, "opens",    status_opens_direct(v->counters),            "Remote opens without the page cache") \
	X("opens.passthrough_direct", COUNTER, "opens",   v->counters->opens[OPEN_PATH_PASSTHROUGH_DIRECT], "Remote opens of files that have passthrough opens") \
	X("opens.hot",               COUNTER, "opens",    v->counters->opens_hot,                      "Local opens for which the sidecar was not asked about the user's rights") \
	X("opens.shared",            COUNTER, "opens",    v->counters->opens_shared,                   "Remote opens of files that were already open remotely") \
	X("opens.retired",           COUNTER, "opens",    v->counters->opens_retired,                  "Opens that sent the kernel to a fresh inode, as no open mode fitted") \
	X("opens.walked",            COUNTER, "opens",    v->counters->opens_walked,                   "Opens that sent the kernel to look the name up again") \
	X("requests.read",           COUNTER, "requests", v->counters->requests_read,                  "FUSE READ requests that reached the daemon") \
	X("requests.write",          COUNTER, "requests", v->counters->requests_write,                 "FUSE WRITE requests that reached the daemon") \
	X("requests.astray",         COUNTER, "requests", v->counters->requests_astray,                "READ and WRITE requests for passthrough opens, which the kernel should have served") \
	X("requests.flush",          COUNTER, "requests", v->counters->requests_flush,                 "Calls of close(2) that waited for the daemon") \
	X("requests.xattr",          COUNTER, "requests", v->counters->requests_xattr,                 "FUSE requests about extended attributes") \
	X("requests.bytes_read",     COUNTER, "bytes",    v->counters->bytes_read,                     "Bytes of the READ requests that reached the daemon") \
	X("requests.bytes_written",  COUNTER, "bytes",    v->counters->bytes_written,                  "Bytes of the WRITE requests that reached the daemon") \
	X("operations",              TREE,    "requests", operations_json(v),                          "FUSE requests that were answered, by operation and path, with errors, bytes, time and latency") \
	X("names.local",             FLAG,    "",         v->names_reason == REASON_NONE,                "True if the sidecar looks names up and changes them") \
	X("names.reason",            CODE,    "",         reason_code(v->names_reason),                  "The code of the reason why the sidecar does neither") \
	X("names.doubts",            COUNTER, "changes",  v->counters->doubts,                         "Changes that the sidecar had not answered when it ended, so that the server was asked what was done") \
	X("notices.leased",          FLAG,    "",         v->fs->leased != 0,                          "True if the sidecar's notices let names be believed for longer than the options say") \
	X("notices.watched",         FLAG,    "",         lease_is_watched(v->fs),                     "True if the sidecar has said in this session that it watches a directory") \
	X("notices.received",        COUNTER, "notices",  v->counters->notices,                        "Notices of changes that the sidecar has sent") \
	X("notices.forgotten",       COUNTER, "events",   v->counters->notices_forgets,                "How often the kernel was made to forget its names for such a notice, or because no more would come") \
	X("listings.repeated",       COUNTER, "listings", v->counters->listings_repeated,              "How often the server's listing was read again, as its names were not those of the directory") \
	X("lookups.known",           COUNTER, "lookups",  v->counters->lookups_known,                  "Names that were looked up without asking the server") \
	X("refreshes.needed",        FLAG,    "",         fs_server_remembers(v->fs),                  "True if the server answers from memory and must be made to look at files that were changed locally") \
	X("refreshes.done",          COUNTER, "requests", v->counters->refreshes,                      "How often the server was made to look at a file") \
	X("refreshes.failed",        COUNTER, "requests", v->counters->refreshes_failed,               "How often that failed") \
	X("refreshes.touched",       COUNTER, "directories", v->counters->refreshes_touched,           "How often a directory got a new mtime, so that a server that remembers drops the names that it knows there") \
	X("backing_ids.held",        NUMBER,  "ids",      v->ids_held,                                 "Backing ids that the sidecar registered for this mount and has not closed") \
	X("backing_ids.idle",        NUMBER,  "ids",      v->ids_idle,                                 "Held backing ids without an open file") \
	X("backing_ids.left_over",   NUMBER,  "ids",      v->ids_left_over,                            "Backing ids of ended sessions, which the next session closes") \
	X("grants.denied",           COUNTER, "opens",    v->counters->grants_denied,                  "Opens that asked the sidecar and got no local path") \
	X("grants.last_denial",      CODE,    "",         reason_code(v->counters->last_denial),       "The code of the reason for the last of these") \
	X("locks.locked",            NUMBER,  "locks",    v->locks_held,                               "Locks that programs hold on this mount") \
	X("locks.waiting",           NUMBER,  "locks",    v->locks_waiting,                            "Locks that programs wait for on this mount") \
	X("locks.noticed",           FLAG,    "",         v->fs->has_locked,                           "True if a program has locked a file and no mount option says that such locks are local") \
	X("groups_unknown",          COUNTER, "requests", v->counters->groups_unknown,                 "Requests whose caller's groups were not visible to the daemon") \
	X("inodes",                  NUMBER,  "files",    inode_table_count(v->fs->inodes),            "Files of this mount that the kernel knows") \
	X("open_files",              NUMBER,  "files",    v->fs->open_files,                           "Open files")

/* The keys of each object in the array server.connections; c is its struct connection_stats. */
#define STATUS_CONNECTION_KEYS(X) \
	X("connected",               FLAG,    "",         c->connected,                                "True if the connection is up") \
	X("port",                    NUMBER,  "",         c->port,                                     "The connection's source port, which it keeps; 0 before the first time") \
	X("answered",                COUNTER, "calls",    c->answered,                                 "Calls that were answered on the connection")
/* clang-format on */
