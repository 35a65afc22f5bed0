/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/registry/nonces.h"

#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/util.h"

static int write_slot(void *to, const void *from, size_t size)
{
	struct iovec source = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};
	struct iovec target = {.iov_base = to, .iov_len = size};

	if (process_vm_writev(getpid(), &source, 1, &target, 1, 0) == (ssize_t)size)
		return 0;
	if (errno == EFAULT)
		return -EFAULT;
	memcpy(to, from, size); /* a seccomp filter forbids process_vm_writev() */
	return 0;
}

/* Writes the state last, so that a reader who sees the state sees the hash, too. */
static int publish(struct registry_slot *slot, const uint8_t hash[NONCE_BYTES], enum registry_slot_state state)
{
	const uint32_t number = (uint32_t)state;
	int r = hash != NULL ? write_slot(slot->hash, hash, sizeof(slot->hash)) : 0;

	__atomic_thread_fence(__ATOMIC_RELEASE);
	return r < 0 ? r : write_slot(&slot->state, &number, sizeof(number));
}

/* Ignores a failed write: the next nonces_announce() fails, too, and reports the error. */
static void release(struct nonces *n, uint32_t slot)
{
	n->entries[slot] = (struct nonce_entry){0};
	(void)publish(&n->slots[slot], NULL, REGISTRY_SLOT_FREE);
}

void nonces_init(struct nonces *n, struct registry_slot *slots)
{
	memset(n, 0, sizeof(*n));
	n->slots = slots;
}

int nonces_announce(struct nonces *n, void *owner, const uint8_t half[NONCE_BYTES], uint8_t ret_half[NONCE_BYTES],
	uint32_t *ret_slot)
{
	uint8_t hash[NONCE_BYTES];
	uint32_t slot = 0;

	nonces_forget(n, owner);
	while (slot < REGISTRY_SLOTS && n->entries[slot].owner != NULL)
		slot++;
	if (slot == REGISTRY_SLOTS)
		return -EUSERS;
	n->entries[slot] = (struct nonce_entry){.owner = owner, .announced_ms = now_ms()};
	nonce_half(ret_half);
	nonce_make(half, ret_half, n->entries[slot].nonce);
	nonce_hash(n->entries[slot].nonce, hash);
	*ret_slot = slot;
	return publish(&n->slots[slot], hash, REGISTRY_SLOT_ANNOUNCED);
}

static struct nonce_entry *find(const struct nonces *n, const uint8_t nonce[NONCE_BYTES])
{
	for (uint32_t i = 0; i < REGISTRY_SLOTS; i++) {
		const struct nonce_entry *e = &n->entries[i];

		if (e->owner != NULL && !e->used && memcmp(e->nonce, nonce, sizeof(e->nonce)) == 0 &&
			time_since(e->announced_ms, now_ms()) <= NONCE_LIFETIME_S * 1000)
			return (struct nonce_entry *)e;
	}
	return NULL;
}

void *nonces_find(const struct nonces *n, const uint8_t nonce[NONCE_BYTES])
{
	const struct nonce_entry *e = find(n, nonce);

	return e != NULL ? e->owner : NULL;
}

void *nonces_use(struct nonces *n, const uint8_t nonce[NONCE_BYTES])
{
	struct nonce_entry *e = find(n, nonce);

	if (e == NULL)
		return NULL;
	e->used = true;
	(void)publish(&n->slots[e - n->entries], NULL, REGISTRY_SLOT_USED);
	return e->owner;
}

void nonces_forget(struct nonces *n, const void *owner)
{
	for (uint32_t i = 0; i < REGISTRY_SLOTS; i++)
		if (n->entries[i].owner == owner)
			release(n, i);
}
