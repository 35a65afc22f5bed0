/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * FIFOs, sockets and devices. The kernel opens and connects to these itself and asks the daemon for no permission
 * (fs/fuse/dir.c fuse_permission). All it asks is a LOOKUP with each walk, as it is never told to believe their names;
 * the answer decides who reaches which inode. Two inodes are two FIFOs, and a socket's name is its inode.
 *
 * A caller to whom the server grants all that one can do with the file gets the true inode: read and write, of a
 * socket write (net/unix/af_unix.c unix_find_bsd). LOOKUP does not say what for, and the same inode serves
 * reader and writer, so who has one right of the two must not get it. He gets a decoy, as do all others: an inode for
 * this file and his uid, with the true one's number and attributes, but for the device number, 0:0, which no
 * driver has. Names and attributes are the same file's, so a decoy is removed, renamed, linked, and changed as such.
 */
#pragma once

struct request;

/* then() of a LOOKUP: replies with the found entry, or with the caller's decoy of it, and ends the request. */
void special_file_reply_entry(struct request *r);
