/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A hash table of structs that contain a struct hash_node: chains of nodes, so that insertion and removal allocate
 * nothing. The caller hashes its keys, with keyed_hash() where a peer chooses them, and compares them.
 *
 * The number of chains doubles when there are as many nodes as chains. The table allocates the new chains during an
 * insertion; without memory it keeps the chains that it has, which become longer. So insertion never fails.
 *
 * The nodes belong to the caller, and so does the lock: changes need an exclusive lock, lookups at least a shared one.
 * The table must stay at its address after hash_table_init().
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

/* True if the node has this key. The table asks only for nodes whose hash is that of the key. */
typedef bool (*hash_table_equal)(const struct hash_node *node, const void *key);

void hash_table_init(struct hash_table *t);

/* Frees the chains, not the nodes. */
void hash_table_done(struct hash_table *t);

/* Makes chains for this number of nodes, so that the insertions up to that number allocate nothing; -ENOMEM. */
int hash_table_reserve(struct hash_table *t, size_t nodes);

/* Adds a node that is in no table. A node with the same key stays, and later lookups find the new one. */
void hash_table_insert(struct hash_table *t, struct hash_node *node, uint64_t hash);

/* Takes out a node that is in this table. */
void hash_table_remove(struct hash_table *t, struct hash_node *node);

/* The node of a key, or NULL. In the header, so that the compiler inlines the comparison. */
static inline struct hash_node *hash_table_find(const struct hash_table *t, uint64_t hash, hash_table_equal equal,
	const void *key)
{
	struct hash_node *node = t->chains[hash & (t->nchains - 1)];

	while (node && (node->hash != hash || !equal(node, key)))
		node = node->next;
	return node;
}

/* Calls fn for each node, in no order. fn may free the node or remove it from the table, and must not insert. */
void hash_table_foreach(struct hash_table *t, void (*fn)(void *arg, struct hash_node *node), void *arg);
