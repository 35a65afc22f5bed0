/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * FIFOs, sockets and devices. The kernel opens them and connects to them itself, without asking the daemon for
 * permission (fs/fuse/dir.c fuse_permission). The kernel sends only a LOOKUP per walk, because the daemon never lets it
 * cache names of special files. So the answer to LOOKUP decides which inode a caller reaches. Two inodes are two FIFOs,
 * and the kernel finds a socket's listener by the inode.
 *
 * A caller gets the true inode if the server grants every use of the file: read and write, or write of a socket
 * (net/unix/af_unix.c unix_find_bsd). LOOKUP does not tell the intended use, and the same inode serves readers and
 * writers, so a caller with only one of the two rights must not get the true inode. All other callers get a decoy: an
 * inode per file and uid, with the true inode's number and attributes, except that its device number is 0:0, which no
 * driver has. A decoy has the file's handle, so removing, renaming, linking or changing a decoy does this to the file.
 *
 * No state of its own: the request owns all. Any thread, without locks.
 */
#pragma once

struct request;

/* then() of LOOKUP: replies with the found entry or with the caller's decoy of the entry, and ends the request. */
void special_file_reply_entry(struct request *r);
