/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/broker_messages.h"

#include <string.h>

#include "base/util.h"

#define ENTRY_ALIGN 8 /* bytes */

#define EVERY_STATE  (SESSION_NEW | SESSION_ANNOUNCED | SESSION_MATCHED | SESSION_READY)
#define NEW_OR_READY (SESSION_NEW | SESSION_READY)

/* The first columns of a line. */
#define TYPE(name) BROKER_##name, #name
#define BODY(name) sizeof(struct broker_##name)
#define EMPTY      0
#define NO_REPLY   0, 0
/* The last columns: offsets of the file handles and of the credential. */
#define NO_FH              -1, -1, -1
#define FH(body, member)   offsetof(struct broker_##body, member), -1, -1
#define FH_AND_CRED(body)  offsetof(struct broker_##body, fh), -1, offsetof(struct broker_##body, cred)
#define DIR_AND_CRED(body) offsetof(struct broker_##body, dir), -1, offsetof(struct broker_##body, cred)
#define TWO_AND_CRED(body, member)                                                   \
	offsetof(struct broker_##body, dir), offsetof(struct broker_##body, member), \
		offsetof(struct broker_##body, cred)
#define FILE_AND_CRED(body) \
	offsetof(struct broker_##body, fh), offsetof(struct broker_##body, dir), offsetof(struct broker_##body, cred)

/* clang-format off */
static const struct broker_message messages[] = {
	/* type            body             reply              states           descriptor  handles, credential */
	{TYPE(ANNOUNCE),  BODY(announce),  BODY(announced),   NEW_OR_READY,    false, NO_FH},
	{TYPE(HELLO),     BODY(hello),     BODY(hello_reply), SESSION_MATCHED, true,  FH(hello, root)},
	{TYPE(OPEN),      BODY(open),      BODY(open_reply),  SESSION_READY,   false, FH_AND_CRED(open)},
	{TYPE(RELEASE),   BODY(release),   BODY(status),      SESSION_READY,   false, NO_FH},
	{TYPE(COMMIT),    BODY(commit),    BODY(status),      SESSION_READY,   false, NO_FH},
	{TYPE(PING),      EMPTY,           BODY(status),      EVERY_STATE,     false, NO_FH},
	{TYPE(FALLOCATE), BODY(range),     BODY(status),      SESSION_READY,   false, NO_FH},
	{TYPE(SEEK),      BODY(range),     BODY(amount),      SESSION_READY,   false, NO_FH},
	{TYPE(COPY),      BODY(copy),      BODY(amount),      SESSION_READY,   false, NO_FH},
	{TYPE(TRUNCATE),  BODY(truncate),  BODY(truncated),   SESSION_READY,   false, FH_AND_CRED(truncate)},
	{TYPE(SYNC_DIR),  BODY(sync_dir),  BODY(status),      SESSION_READY,   false, FH_AND_CRED(sync_dir)},
	{TYPE(LOOKUP),    BODY(lookup),    BODY(found),       SESSION_READY,   false, DIR_AND_CRED(lookup)},
	{TYPE(DIGEST),    BODY(digest),    BODY(digested),    SESSION_READY,   false, DIR_AND_CRED(digest)},
	{TYPE(LIST),      BODY(list),      BODY(listed),      SESSION_READY,   false, DIR_AND_CRED(list)},
	{TYPE(MAKE),      BODY(make),      BODY(made),        SESSION_READY,   false, DIR_AND_CRED(make)},
	{TYPE(SYMLINK),   BODY(symlink),   BODY(made),        SESSION_READY,   false, DIR_AND_CRED(symlink)},
	{TYPE(REMOVE),    BODY(remove),    BODY(changed),     SESSION_READY,   false, DIR_AND_CRED(remove)},
	{TYPE(RENAME),    BODY(rename),    BODY(changed),     SESSION_READY,   false, TWO_AND_CRED(rename, dir2)},
	{TYPE(LINK),      BODY(link),      BODY(changed),     SESSION_READY,   false, FILE_AND_CRED(link)},
	{TYPE(SETATTR),   BODY(setattr),   BODY(changed),     SESSION_READY,   false, FH_AND_CRED(setattr)},
	{TYPE(PROVE),     EMPTY,           BODY(status),      SESSION_MATCHED, true,  NO_FH},
	/* from the sidecar, unasked */
	{TYPE(MATCHED),   BODY(matched),   NO_REPLY,                           false, NO_FH},
	{TYPE(REVOKE),    BODY(revoke),    NO_REPLY,                           false, NO_FH},
	{TYPE(GOODBYE),   BODY(status),    NO_REPLY,                           false, NO_FH},
	{TYPE(NOTICE),    BODY(notice),    NO_REPLY,                           false, NO_FH},
};
/* clang-format on */

const struct broker_message *broker_message_find(uint32_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		if (messages[i].type == type)
			return &messages[i];
	return NULL;
}

uint32_t broker_packet_length(uint32_t type)
{
	const struct broker_message *m = broker_message_find(type & ~(uint32_t)BROKER_REPLY);
	bool reply = (type & BROKER_REPLY) != 0;

	if (m == NULL || (reply && m->reply_length == 0))
		return 0;
	return (uint32_t)sizeof(struct broker_header) + (reply ? m->reply_length : m->length);
}

bool broker_packet_fits(uint32_t type, uint32_t length)
{
	uint32_t least = broker_packet_length(type);

	if (type == (BROKER_LIST | BROKER_REPLY))
		return length >= least && length <= BROKER_MAX_LISTED;
	return least != 0 && length == least;
}

size_t broker_entry_size(uint32_t fh_length, uint32_t name_length)
{
	size_t bytes = sizeof(struct broker_entry) + fh_length + name_length + 1;

	return (bytes + ENTRY_ALIGN - 1) / ENTRY_ALIGN * ENTRY_ALIGN;
}

bool broker_entry_put(uint8_t *to, size_t room, size_t *used, const struct broker_entry_ref *e)
{
	size_t size = broker_entry_size(e->entry.fh_length, e->entry.name_length);
	uint8_t *at = to + *used;

	if (size > room - *used)
		return false;
	memset(at, 0, size);
	memcpy(at, &e->entry, sizeof(e->entry));
	if (e->entry.fh_length > 0)
		memcpy(at + sizeof(e->entry), e->fh, e->entry.fh_length);
	memcpy(at + sizeof(e->entry) + e->entry.fh_length, e->name, e->entry.name_length);
	*used += size;
	return true;
}

bool broker_entry_get(const uint8_t *from, size_t length, size_t *at, struct broker_entry_ref *ret)
{
	const struct broker_entry *e = &ret->entry;
	size_t size, left = length - *at;
	const uint8_t *end;

	if (left < sizeof(*e))
		return false;
	memcpy(&ret->entry, from + *at, sizeof(ret->entry));
	if (e->fh_length > BROKER_MAX_FH || e->name_length == 0 || e->name_length > BROKER_MAX_NAME)
		return false;
	size = broker_entry_size(e->fh_length, e->name_length);
	if (size > left)
		return false;
	ret->fh = from + *at + sizeof(*e);
	ret->name = (const char *)ret->fh + e->fh_length;
	end = (const uint8_t *)ret->name + e->name_length;
	*at += size;
	return *end == 0 && strlen(ret->name) == e->name_length && strchr(ret->name, '/') == NULL;
}
