/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The registry: a directory on tmpfs with the socket broker.sock and the file "registry" in it. The sidecar alone
 * writes there. A client needs both for reading only, so a container can get the directory as a read-only bind mount.
 *
 * Directory, socket and file belong to a system user of the sidecar's own, and each of the three carries a mark: the
 * extended attribute REGISTRY_MARK, whose value names the very inode that it was set on. On tmpfs only a process with
 * CAP_SYS_ADMIN in the user namespace that mounted the tmpfs may set or remove an attribute of security.*
 * (security/commoncap.c cap_inode_setxattr), and everybody may read one. So a mark says: root of this host, or
 * of the container whose tmpfs it is, made this.
 *
 * The file has a fixed size: a header and REGISTRY_SLOTS slots, in host byte order. A slot holds a hash of a nonce
 * that a client of the sidecar has announced. Everybody can read the file, and nobody gets a nonce from its hash.
 */
#pragma once

#include <stdint.h>

#define REGISTRY_DIR_MODE    0711 /* nobody lists it: getdents(2) into a page that never comes would hold its lock */
#define REGISTRY_FILE_NAME   "registry"
#define REGISTRY_FILE_MODE   0644
#define REGISTRY_SOCKET_MODE 0666

#define REGISTRY_MARK        "security.localiofs"
#define REGISTRY_MARK_FORMAT "LIOFSMK1"

/* The value of REGISTRY_MARK. */
struct registry_mark {
	char format[8];  /* REGISTRY_MARK_FORMAT, no NUL */
	uint64_t device; /* st_dev and st_ino of the inode that carries the mark: a copied mark is none */
	uint64_t inode;
};

#define REGISTRY_MAGIC   "LIOFSREG"
#define REGISTRY_VERSION 1
#define REGISTRY_SLOTS   512

struct registry_header {
	char magic[8];        /* REGISTRY_MAGIC, no NUL */
	uint32_t version;     /* REGISTRY_VERSION */
	uint32_t slots;       /* REGISTRY_SLOTS */
	uint8_t boot_id[16];  /* /proc/sys/kernel/random/boot_id: the file is another kernel's where it differs */
	uint8_t reserved[32]; /* zero */
};

enum registry_slot_state {
	REGISTRY_SLOT_FREE = 0,
	REGISTRY_SLOT_ANNOUNCED = 1,
	REGISTRY_SLOT_USED = 2, /* UUID_IS_LOCAL has come for it, and comes in vain from now on */
};

struct registry_slot {
	uint8_t hash[16]; /* nonce_hash() of the nonce, probe/nonce.h */
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
 * The proof that a client owns the machine: a memfd with the attribute OWNER_PROOF, which the client sends with
 * PROVE. Nobody without CAP_SYS_ADMIN in the initial user namespace may set an attribute of trusted.*
 * (fs/xattr.c xattr_permission), and the kernel's own tmpfs, on which every memfd lies, is the initial namespace's.
 */
#define OWNER_PROOF "trusted.localiofs"

/* The value of OWNER_PROOF. */
struct owner_proof {
	uint8_t challenge[16]; /* what the sidecar's answer to ANNOUNCE has said */
	uint64_t device;       /* st_dev and st_ino of the socket that the client is connected to, */
	uint64_t inode;        /* so that nobody can pass the challenge of another sidecar on */
};

_Static_assert(sizeof(struct owner_proof) == 32, "owner_proof layout");
