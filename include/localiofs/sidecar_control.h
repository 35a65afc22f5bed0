/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The control socket of localiofs-sidecar, by which localioctl(8) asks for the sidecar's view. A stream socket:
 *
 *	sidecar   "localiofs-sidecar 1 CHALLENGE\n", with SIDECAR_CHALLENGE hexadecimal digits
 *	client    sets the attribute SIDECAR_PROOF CHALLENGE of the socket's inode, then sends SIDECAR_SHOW
 *	sidecar   removes the attribute, sends one JSON object, and closes the connection
 *
 * Only a process with CAP_SYS_ADMIN in the initial user namespace can set a trusted attribute (fs/xattr.c
 * xattr_permission): neither uid 0 in a container nor a uid map can feign this, and a pid that is used again does not
 * matter. A client without the proof gets an object with the key "error". Constants only; no state.
 */
#pragma once

#define SIDECAR_CONTROL_DEFAULT "/run/localiofs/sidecar.sock"
#define SIDECAR_GREETING        "localiofs-sidecar 1 "
#define SIDECAR_CHALLENGE       32
#define SIDECAR_PROOF           "trusted.localiofs."
#define SIDECAR_SHOW            "show\n"
