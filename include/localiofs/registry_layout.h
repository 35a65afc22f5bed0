/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The registry: a directory on tmpfs with the socket broker.sock and the file "registry". Constant values and layouts.
 * Only the sidecar writes to the registry. Clients only read, so a container gets the directory as a read-only bind
 * mount.
 *
 * The directory, the socket and the file belong to a system user that is reserved for the sidecar, and each of the
 * three has a mark: the extended attribute REGISTRY_MARK, whose value names the inode that has the attribute. On tmpfs,
 * only a process with CAP_SYS_ADMIN in the user namespace that mounted the tmpfs may set or remove an attribute of
 * security.* (security/commoncap.c cap_inode_setxattr); every process may read the attribute. So a mark proves that
 * root of this host, or root of the container that mounted the tmpfs, made the inode.
 *
 * The file has a fixed size: a header and REGISTRY_SLOTS slots, in host byte order. A slot holds the hash of a nonce
 * that a client of the sidecar has announced. Every process can read the file, but no process can compute a nonce from
 * its hash.
 */
#pragma once

#include <stdint.h>

#define REGISTRY_DIR_MODE    0711 /* not listable: getdents(2) into a page that is never served would keep the lock */
#define REGISTRY_FILE_NAME   "registry"
#define REGISTRY_FILE_MODE   0644
#define REGISTRY_SOCKET_MODE 0666

#define REGISTRY_MARK        "security.localiofs"
#define REGISTRY_MARK_FORMAT "LIOFSMK1"

/* The value of REGISTRY_MARK. */
struct registry_mark {
	char format[8];  /* REGISTRY_MARK_FORMAT, no NUL */
	uint64_t device; /* st_dev and st_ino of the inode that has the mark, so that a copy of the mark is invalid */
	uint64_t inode;
};

#define REGISTRY_MAGIC   "LIOFSREG"
#define REGISTRY_VERSION 1
#define REGISTRY_SLOTS   512

struct registry_header {
	char magic[8];        /* REGISTRY_MAGIC, no NUL */
	uint32_t version;     /* REGISTRY_VERSION */
	uint32_t slots;       /* REGISTRY_SLOTS */
	uint8_t boot_id[16];  /* /proc/sys/kernel/random/boot_id of the kernel under which the file was made */
	uint8_t reserved[32]; /* zero */
};

enum registry_slot_state {
	REGISTRY_SLOT_FREE = 0,
	REGISTRY_SLOT_ANNOUNCED = 1,
	REGISTRY_SLOT_USED = 2, /* UUID_IS_LOCAL came with the nonce; a second UUID_IS_LOCAL has no effect */
};

struct registry_slot {
	uint8_t hash[16]; /* nonce_hash() of the nonce, wire/nonce.h */
	uint32_t state;   /* enum registry_slot_state */
	uint32_t reserved[3];
};

struct registry_file {
	struct registry_header header;
	struct registry_slot slots[REGISTRY_SLOTS];
};

_Static_assert(sizeof(struct registry_mark) == 24, "registry_mark layout");
_Static_assert(sizeof(struct registry_header) == 64, "registry_header layout");
_Static_assert(sizeof(struct registry_slot) == 32, "registry_slot layout");
_Static_assert(sizeof(struct registry_file) == 64 + 32 * REGISTRY_SLOTS, "registry_file layout");

/*
 * The proof that a client owns the machine: a memfd with the attribute OWNER_PROOF, which the client sends with PROVE.
 * Only a process with CAP_SYS_ADMIN in the initial user namespace may set an attribute of trusted.* (fs/xattr.c
 * xattr_permission); the kernel's own tmpfs, which holds every memfd, belongs to the initial user namespace.
 */
#define OWNER_PROOF "trusted.localiofs"

/* The value of OWNER_PROOF. */
struct owner_proof {
	uint8_t challenge[16]; /* from the reply to ANNOUNCE */
	uint64_t device;       /* st_dev and st_ino of the socket to which the client is connected, so that no */
	uint64_t inode;        /* sidecar can pass on the challenge of another sidecar */
};

_Static_assert(sizeof(struct owner_proof) == 32, "owner_proof layout");
