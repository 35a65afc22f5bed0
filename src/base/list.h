/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An intrusive doubly linked list: a struct contains the node, and CONTAINER_OF() leads from the node to the struct.
 * The head of the list is a node, too. The head of an empty list and a node that is in no list point to themselves.
 *
 * Items, heads and locks belong to the caller.
 */
#pragma once

#include <stdbool.h>

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_append(struct list *head, struct list *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}

/* The item points to itself afterwards, so that a second removal is harmless. */
static inline void list_remove(struct list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

/* Moves all items of one list to the end of another. */
static inline void list_splice(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

/* The body of the loop may remove or free the item of pos. It must not remove the item after pos. */
#define LIST_FOREACH(pos, head)                                                       \
	for (struct list *pos = (head)->next, *pos##_next = pos->next; pos != (head); \
		pos = pos##_next, pos##_next = pos->next)
