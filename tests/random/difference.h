/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every way in which the mount may differ from a local directory, and nothing else may. Each has the
 * reason, the rule that decides (code names the rule's place), and counts: what never happens is no
 * longer needed. NFSv3 means that the kernel's own NFSv3 client differs in the same way.
 */
#pragma once

#include <stddef.h>

/* Number, name, whose difference it is, the rule. */
#define DIFFERENCES(X)                                                                                                 \
	X(SILLY_LINKS, "silly-links", "NFSv3",                                                                         \
		"a file removed while open has one link more: its .nfs name, until the last close")                    \
	X(SILLY_DIRECTORY, "silly-directory", "NFSv3",                                                                 \
		"a directory with a .nfs name in it is not empty: rmdir and rename over it are ENOTEMPTY")             \
	X(SILLY_TIMES, "silly-times", "NFSv3",                                                                         \
		"the end of a .nfs name changes the times of its directory, and of the file where it has more names")  \
	X(SILLY_STAYS, "silly-stays", "NFSv3",                                                                         \
		"a .nfs name stays when the user who removed the file may no longer change the directory")             \
	X(IO_REFUSED, "io-refused", "NFSv3",                                                                           \
		"the server asks for permission at each READ, WRITE, COMMIT and SETATTR: a mode changed after open "   \
		"counts")                                                                                              \
	X(ERROR_LATE, "error-late", "NFSv3",                                                                           \
		"a write is answered before the server has it: what that refuses, fsync and close tell")               \
	X(NO_TMPFILE, "no-tmpfile", "NFSv3", "O_TMPFILE is EOPNOTSUPP")                                                \
	X(NO_FALLOCATE, "no-fallocate", "NFSv3",                                                                       \
		"fallocate of an open regular file is EOPNOTSUPP, but on the local paths")                             \
	X(NO_RENAME_FLAGS, "no-rename-flags", "NFSv3", "rename with any flag is EINVAL")                               \
	X(NO_XATTR, "no-xattr", "NFSv3", "extended attributes of users are EOPNOTSUPP")                                \
	X(HOLES_UNKNOWN, "holes-unknown", "NFSv3",                                                                     \
		"SEEK_DATA finds data everywhere, SEEK_HOLE the end, but on the local paths")                          \
	X(CHOWN_OF_NOTHING, "chown-of-nothing", "NFSv3",                                                               \
		"chown(-1, -1) asks the server nothing: no new ctime, no set-id bits cleared")                         \
	X(TOUCH_ONE, "touch-one", "NFSv3",                                                                             \
		"setting one time to now takes what setting both takes: write permission, not ownership")              \
	X(TIMES_32, "times-32", "NFSv3", "times outside 1970 to 2106 become the nearest one inside")                   \
	X(REMOVED, "removed", "NFSv3",                                                                                 \
		"a removed directory, or what the daemon does not know to be open (O_PATH, a pipe), is ESTALE or "     \
		"ENOENT")                                                                                              \
	X(PIPE_TIMES, "pipe-times", "NFSv3",                                                                           \
		"writing to a pipe does not change its times: the server knows nothing of it")                         \
	X(SETID, "setid", "NFSv3",                                                                                     \
		"truncation may leave set-id bits; a local write clears them, over the network the opener's rights "   \
		"decide; "                                                                                             \
		"O_EXCL sets them afterwards, as chmod does")                                                          \
	X(ENTRY_TYPES, "entry-types", "NFSv3", "a plain READDIR tells no types of entries, DT_UNKNOWN")                \
	X(DOTS, "dots", "FUSE", "the kernel asks nobody for \".\" and \"..\": they need no x permission")              \
	X(SPECIAL_OPEN, "special-open", "FUSE",                                                                        \
		"the kernel asks nobody who opens a pipe, a socket or a device: who may not both read and write it "   \
		"gets another one")                                                                                    \
	X(SPECIAL_DEVICE, "special-device", "FUSE",                                                                    \
		"to who may not both read and write a device stat(2) shows the number 0:0")                            \
	X(STICKY_UNGUARDED, "sticky-unguarded", "FUSE, where they are set",                                            \
		"the kernel sees no sticky bit: fs.protected_symlinks, _regular and _fifos keep nobody out (not done " \
		"here)")                                                                                               \
	X(NAME_DROPPED, "name-dropped", "FUSE",                                                                        \
		"one user's walk that is refused makes the kernel forget the name for all: getcwd there is ENOENT")    \
	X(MAP_KEEPS_NOTHING, "map-keeps-nothing", "FUSE passthrough",                                                  \
		"a mapping whose file is closed keeps no lock: it is one of the server's file, not of the mount's")    \
	X(APPEND_STAYS, "append-stays", "FUSE passthrough",                                                            \
		"O_APPEND that was there at open stays, though F_SETFL takes it away (not done here)")                 \
	X(READ_EIO, "read-eio", "FUSE of Linux 7", "whatever error a READ for the page cache ends with is EIO")        \
	X(OTHER_REASON, "other-reason", "FUSE",                                                                        \
		"of two reasons to refuse the kernel finds its own first, where a local one asks for permission "      \
		"before")                                                                                              \
	X(NO_LARGEST_SIZE, "no-largest-size", "FUSE",                                                                  \
		"a position beyond the filesystem's largest file is no error before something is written there")       \
	X(LINK_TIMES, "link-times", "Ganesha", "times of symbolic links cannot be set, though it says that they were") \
	X(SQUASHED_OWNER, "squashed-owner", "Ganesha", "with root_squash a chown to uid 0 or gid 0 is one to nobody")  \
	X(CHOWN_SETID, "chown-setid", "Ganesha", "a chown by its owner clears a directory's set-group-id bit")         \
	X(SPECIAL_LINKS, "special-links", "Ganesha",                                                                   \
		"a pipe, a socket or a device of which one of several names is removed is EINVAL from then on (not "   \
		"done here)")                                                                                          \
	X(DIRECTORY_ACCESS, "directory-access", "knfsd",                                                               \
		"access(2): what may not be searched may not be written, either")                                      \
	X(LONG_TARGET, "long-target", "localiofs", "a symbolic link's target of more than 3500 bytes is ENAMETOOLONG") \
	X(MAP_TIMES, "map-times", "FUSE",                                                                              \
		"a write through a mapping changes the times when the server gets it, even after they were set; "      \
		"locally the kernel sees them when it asks for the attributes again")

enum difference {
#define DIFFERENCE_ENUM(id, name, whose, rule) DIFFERENCE_##id,
	DIFFERENCES(DIFFERENCE_ENUM)
#undef DIFFERENCE_ENUM
	DIFFERENCE_COUNT,
};

void difference_met(enum difference d);

/* "difference NAME COUNT" for each, one a line. */
void difference_summary(void);
