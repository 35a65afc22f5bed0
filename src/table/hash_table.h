/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A hash table of structs that contain a struct hash_node. Each chain is a list of nodes, so insertion and removal
 * allocate no memory for an entry. The caller hashes its keys and compares them; it uses keyed_hash() for keys that a
 * peer chooses.
 *
 * An insertion doubles the number of chains when there are as many nodes as chains. If that allocation fails, the table
 * keeps its chains, and they become longer. So an insertion never fails.
 *
 * The nodes and the lock belong to the caller. A change needs an exclusive lock, a lookup at least a shared lock. The
 * table must stay at its address after hash_table_init().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_node {
	struct hash_node *next;
	uint64_t hash;
};

struct hash_table {
	struct hash_node **chains;
	size_t nchains;               /* a power of two */
	size_t count;                 /* nodes */
	struct hash_node *only_chain; /* the chain before the first allocation */
};

/* True if the node has this key. The table calls the function only if the hash of the node equals that of the key. */
typedef bool (*hash_table_equal)(const struct hash_node *node, const void *key);

void hash_table_init(struct hash_table *t);

/* Frees the chains, not the nodes. */
void hash_table_done(struct hash_table *t);

/* Allocates chains for this number of nodes: insertions up to this number allocate nothing. 0 or -ENOMEM. */
int hash_table_reserve(struct hash_table *t, size_t nodes);

/* Adds a node that is in no table. A node with the same key stays in the table, but lookups find the new node. */
void hash_table_insert(struct hash_table *t, struct hash_node *node, uint64_t hash);

/* Removes a node that is in this table. */
void hash_table_remove(struct hash_table *t, struct hash_node *node);

/* The node of a key, or NULL. The function is in the header so that the compiler can inline the comparison. */
static inline struct hash_node *hash_table_find(const struct hash_table *t, uint64_t hash, hash_table_equal equal,
	const void *key)
{
	struct hash_node *node = t->chains[hash & (t->nchains - 1)];

	while (node && (node->hash != hash || !equal(node, key)))
		node = node->next;
	return node;
}

/* Calls fn for each node, in no particular order. fn may remove the node and free it, but must not insert nodes. */
void hash_table_foreach(struct hash_table *t, void (*fn)(void *arg, struct hash_node *node), void *arg);
