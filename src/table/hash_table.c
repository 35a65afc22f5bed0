/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "table/hash_table.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CHAINS 16

void hash_table_init(struct hash_table *t)
{
	*t = (struct hash_table){.chains = &t->only_chain, .nchains = 1};
}

void hash_table_done(struct hash_table *t)
{
	if (t->chains != &t->only_chain)
		free(t->chains);
	hash_table_init(t);
}

static struct hash_node **chain_of(const struct hash_table *t, uint64_t hash)
{
	return &t->chains[hash & (t->nchains - 1)];
}

static void push(struct hash_table *t, struct hash_node *node)
{
	struct hash_node **chain = chain_of(t, node->hash);

	node->next = *chain;
	*chain = node;
}

/* Distributes all nodes over nchains new chains (a power of two). -ENOMEM changes nothing. */
static int resize(struct hash_table *t, size_t nchains)
{
	struct hash_table old = *t;
	struct hash_node **chains = calloc(nchains, sizeof(*chains));

	if (!chains)
		return -ENOMEM;
	t->chains = chains;
	t->nchains = nchains;
	for (size_t n = 0; n < old.nchains; n++)
		for (struct hash_node *node = old.chains[n], *next; node; node = next) {
			next = node->next;
			push(t, node);
		}
	if (old.chains != &t->only_chain)
		free(old.chains);
	return 0;
}

int hash_table_reserve(struct hash_table *t, size_t nodes)
{
	size_t nchains = FIRST_CHAINS;

	while (nchains < nodes)
		nchains *= 2;
	return nchains > t->nchains ? resize(t, nchains) : 0;
}

void hash_table_insert(struct hash_table *t, struct hash_node *node, uint64_t hash)
{
	if (t->count >= t->nchains)
		(void)hash_table_reserve(t, t->count + 1);
	node->hash = hash;
	push(t, node);
	t->count++;
}

void hash_table_remove(struct hash_table *t, struct hash_node *node)
{
	struct hash_node **p = chain_of(t, node->hash);

	while (*p != node)
		p = &(*p)->next;
	*p = node->next;
	t->count--;
}

void hash_table_foreach(struct hash_table *t, void (*fn)(void *arg, struct hash_node *node), void *arg)
{
	for (size_t n = 0; n < t->nchains; n++)
		for (struct hash_node *node = t->chains[n], *next; node; node = next) {
			next = node->next;
			fn(arg, node);
		}
}
