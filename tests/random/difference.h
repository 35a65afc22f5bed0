/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The complete list of the differences that are allowed between the mount and a local directory. Each has its cause and
 * its rule. The program counts each difference, and the test reports those that never happen, so that they can be
 * removed from the list. NFSv3 means that the kernel's own NFSv3 client differs in the same way.
 */
#pragma once

#include <stddef.h>

/* Number, name, cause, rule. */
#define DIFFERENCES(X)                                                                                                 \
	X(SILLY_LINKS, "silly-links", "NFSv3",                                                                         \
		"a file removed while open has one more link, its .nfs name, until the last close")                    \
	X(SILLY_DIRECTORY, "silly-directory", "NFSv3",                                                                 \
		"a directory with a .nfs name in it is not empty: rmdir and rename over it fail with ENOTEMPTY")       \
	X(SILLY_TIMES, "silly-times", "NFSv3",                                                                         \
		"the removal of a .nfs name changes the times of its directory, and of a file that has other names")   \
	X(SILLY_STAYS, "silly-stays", "NFSv3",                                                                         \
		"a .nfs name stays if the user who removed the file has lost write permission for the directory")      \
	X(IO_REFUSED, "io-refused", "NFSv3",                                                                           \
		"the server checks permission at each READ, WRITE, COMMIT and SETATTR, so a change of the mode after " \
		"the open counts")                                                                                     \
	X(ERROR_LATE, "error-late", "NFSv3",                                                                           \
		"a write succeeds before the server has the data: fsync and close report the server's refusal")        \
	X(NO_TMPFILE, "no-tmpfile", "NFSv3", "O_TMPFILE fails with EOPNOTSUPP")                                        \
	X(NO_FALLOCATE, "no-fallocate", "NFSv3",                                                                       \
		"fallocate of a regular file fails with EOPNOTSUPP, except on the local paths")                        \
	X(NO_RENAME_FLAGS, "no-rename-flags", "NFSv3", "rename with a flag fails with EINVAL")                         \
	X(NO_XATTR, "no-xattr", "NFSv3", "user extended attributes fail with EOPNOTSUPP")                              \
	X(HOLES_UNKNOWN, "holes-unknown", "NFSv3",                                                                     \
		"SEEK_DATA finds data at any offset, SEEK_HOLE only the end, except on the local paths")               \
	X(CHOWN_OF_NOTHING, "chown-of-nothing", "NFSv3",                                                               \
		"chown(-1, -1) sends no request: the ctime and the set-id bits stay")                                  \
	X(TOUCH_ONE, "touch-one", "NFSv3",                                                                             \
		"setting one time to now needs write permission, as for both times, and not ownership")                \
	X(TIMES_32, "times-32", "NFSv3", "a time outside 1970 to 2106 becomes the nearest time inside")                \
	X(REMOVED, "removed", "NFSv3",                                                                                 \
		"a removed directory, or a removed file that is open without the daemon (O_PATH, a pipe), is ESTALE "  \
		"or ENOENT")                                                                                           \
	X(PIPE_TIMES, "pipe-times", "NFSv3",                                                                           \
		"writing to a pipe does not change its times, because it sends no request")                            \
	X(SETID, "setid", "NFSv3",                                                                                     \
		"truncation may keep set-id bits; a local write clears them, over the network the rights of the user " \
		"who opened the file decide; O_EXCL sets them afterwards, like chmod")                                 \
	X(ENTRY_TYPES, "entry-types", "NFSv3", "a READDIR without attributes has no types of entries: DT_UNKNOWN")     \
	X(DOTS, "dots", "FUSE",                                                                                        \
		"the kernel resolves \".\" and \"..\" without a request, so they need no x permission")                \
	X(SPECIAL_OPEN, "special-open", "FUSE",                                                                        \
		"the kernel opens pipes, sockets and devices without a request: a user who may not both read and "     \
		"write one gets another one")                                                                          \
	X(SPECIAL_DEVICE, "special-device", "FUSE",                                                                    \
		"a user who may not both read and write a device sees its number as 0:0")                              \
	X(STICKY_UNGUARDED, "sticky-unguarded", "FUSE, where they are set",                                            \
		"the kernel sees no sticky bit, so fs.protected_symlinks, _regular and _fifos have no effect (not "    \
		"implemented)")                                                                                        \
	X(NAME_DROPPED, "name-dropped", "FUSE",                                                                        \
		"a refused walk of one user drops the name from the dentry cache for all: getcwd is ENOENT there")     \
	X(MAP_KEEPS_NOTHING, "map-keeps-nothing", "FUSE passthrough",                                                  \
		"a mapping of a closed file keeps no lock: it maps the file of the server, not that of the mount")     \
	X(APPEND_STAYS, "append-stays", "FUSE passthrough",                                                            \
		"O_APPEND of open(2) stays, though F_SETFL removes it (not implemented)")                              \
	X(READ_EIO, "read-eio", "FUSE of Linux 7", "any error of a READ for the page cache becomes EIO")               \
	X(OTHER_REASON, "other-reason", "FUSE",                                                                        \
		"of two reasons to refuse the kernel finds its own first, where a local filesystem checks permission " \
		"first")                                                                                               \
	X(NO_LARGEST_SIZE, "no-largest-size", "FUSE",                                                                  \
		"a position beyond the largest file of the filesystem is no error until data is written there")        \
	X(LINK_TIMES, "link-times", "Ganesha",                                                                         \
		"times of symbolic links stay unchanged, though it answers that they were set")                        \
	X(SQUASHED_OWNER, "squashed-owner", "Ganesha", "with root_squash a chown to uid 0 or gid 0 sets nobody")       \
	X(CHOWN_SETID, "chown-setid", "Ganesha", "a chown by the owner clears the set-group-id bit of a directory")    \
	X(SPECIAL_LINKS, "special-links", "Ganesha",                                                                   \
		"a pipe, socket or device with several names fails with EINVAL after one name was removed (not "       \
		"implemented)")                                                                                        \
	X(DIRECTORY_ACCESS, "directory-access", "knfsd",                                                               \
		"access(2): a directory without x permission has no write permission, either")                         \
	X(LONG_TARGET, "long-target", "localiofs",                                                                     \
		"a symbolic link with a target of more than 3500 bytes fails with ENAMETOOLONG")                       \
	X(MAP_TIMES, "map-times", "FUSE",                                                                              \
		"a write through a mapping changes the times when the server gets the data, even after utimensat; on " \
		"the local paths the kernel sees the times when it asks for the attributes again, and NFS-Ganesha "    \
		"when its own memory of the file ends")

enum difference {
#define DIFFERENCE_ENUM(id, name, whose, rule) DIFFERENCE_##id,
	DIFFERENCES(DIFFERENCE_ENUM)
#undef DIFFERENCE_ENUM
	DIFFERENCE_COUNT,
};

/* Counts a difference. */
void difference_met(enum difference d);

/* Prints "difference NAME COUNT (CAUSE: RULE)" for each, one per line. */
void difference_summary(void);
