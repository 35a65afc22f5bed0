/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ONC RPC program 400122: the question "is the client with this UUID local to you?", as the kernel
 * asks it (include/linux/nfslocalio.h, fs/nfs/localio.c nfs_server_uuid_is_local).
 * UUID_IS_LOCAL takes opaque[16], fixed, and returns nothing. The reply proves nothing to the
 * asker: only MATCHED on its own broker connection does. Constants; no state.
 */
#pragma once

#define LOCAL_RPC_PROGRAM       400122
#define LOCAL_RPC_VERSION       1
#define LOCAL_RPC_NULL          0
#define LOCAL_RPC_UUID_IS_LOCAL 1
#define LOCAL_RPC_PORT          20122 /* probeport='s default */
#define LOCAL_RPC_UUID_SIZE     16
#define REGISTRY_DEFAULT        "/dev/shm/localiofs"
#define REGISTRY_MAX_PATH       88 /* with its NUL: other programs find broker.sock by its path, of 108 bytes at most */
