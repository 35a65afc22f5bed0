/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnfs 4 adds a length from the wire to its position before it compares, in signed arithmetic: a
 * file handle that claims 4294901760 bytes passes, the position goes backwards, and the daemon dies
 * of what it reads there. For a verifier cut short it does not compare at all. It calls these
 * functions of its own through the dynamic linker, which takes ours instead: those check, and go on
 * to libnfs's. What is decoded how stays libnfs's business.
 *
 * meson.build finds out whether the libnfs that is there needs it (LIBNFS_UNCHECKED_LENGTHS).
 *
 * No state: the guards are constant once the program is linked; any thread may run them.
 */
#pragma once

/* Links the guard in, and looks up what it guards: before the first context is made. 0 or -ENOSYS. */
int libnfs_guard(void);
