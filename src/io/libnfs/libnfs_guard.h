/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Guards for the decoding functions of libnfs 4. libnfs 4 adds a length from the wire to its position before it
 * compares, in signed arithmetic: a file handle that claims 4294901760 bytes passes the comparison, the position goes
 * backwards, and the daemon crashes. The length of a verifier is not compared at all. libnfs calls these functions
 * through the dynamic linker, which finds the guards first: they check the length, and then call the function in
 * libnfs.
 *
 * meson.build finds out whether the installed libnfs needs the guards (LIBNFS_UNCHECKED_LENGTHS).
 *
 * No state: the guards are constant once the program is linked; any thread may run them.
 */
#pragma once

/* Links the guards into the program and finds libnfs's functions. Call it before the first context. 0 or -ENOSYS. */
int libnfs_guard(void);
