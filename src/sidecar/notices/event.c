/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/notices/event.h"

#include <string.h>
#include <sys/fanotify.h>

#define APPEARS (FAN_CREATE | FAN_MOVED_TO)
#define GOES    (FAN_DELETE | FAN_MOVED_FROM)

/* The fixed part of a record with a file, and of the struct file_handle in it. */
#define FID_HEAD    sizeof(struct fanotify_event_info_fid)
#define HANDLE_HEAD (2 * sizeof(uint32_t))

/* Takes one record of an event. False if the record does not fit into its length. */
static bool take_record(const uint8_t *record, size_t length, struct notice_event *e)
{
	struct fanotify_event_info_fid info;
	struct event_fid fid;
	uint32_t bytes;

	if (length < FID_HEAD + HANDLE_HEAD)
		return true; /* a record of another kind */
	memcpy(&info, record, FID_HEAD);
	memcpy(fid.fsid, &info.fsid, sizeof(fid.fsid));
	memcpy(&bytes, record + FID_HEAD, sizeof(bytes));
	memcpy(&fid.type, record + FID_HEAD + sizeof(bytes), sizeof(fid.type));
	if (bytes > length - FID_HEAD - HANDLE_HEAD)
		return false;
	fid.length = bytes;
	fid.bytes = record + FID_HEAD + HANDLE_HEAD;
	switch (info.hdr.info_type) {
	case FAN_EVENT_INFO_TYPE_FID:
		e->object = fid;
		break;
	case FAN_EVENT_INFO_TYPE_DFID:
		e->dir = fid;
		break;
	case FAN_EVENT_INFO_TYPE_DFID_NAME:
		e->dir = fid;
		e->name = (const char *)fid.bytes + bytes;
		if (memchr(e->name, '\0', length - FID_HEAD - HANDLE_HEAD - bytes) == NULL)
			return false;
		break;
	default:
		break;
	}
	return true;
}

static bool take_records(const uint8_t *record, size_t left, struct notice_event *e)
{
	while (left >= sizeof(struct fanotify_event_info_header)) {
		struct fanotify_event_info_header header;

		memcpy(&header, record, sizeof(header));
		if (header.len < sizeof(header) || header.len > left || !take_record(record, header.len, e))
			return false;
		record += header.len;
		left -= header.len;
	}
	return true;
}

size_t event_parse(const void *buffer, size_t left, struct notice_event *ret)
{
	struct fanotify_event_metadata m;

	*ret = (struct notice_event){0};
	if (left < sizeof(m))
		return 0;
	memcpy(&m, buffer, sizeof(m));
	if (m.event_len < sizeof(m) || m.event_len > left || m.metadata_len < sizeof(m) || m.metadata_len > m.event_len)
		return 0;
	ret->mask = m.mask;
	ret->thread = m.pid;
	/* An event that nobody understands may be a change of anything. */
	ret->overflow = m.vers != FANOTIFY_METADATA_VERSION || (m.mask & FAN_Q_OVERFLOW) != 0 ||
			!take_records((const uint8_t *)buffer + m.metadata_len, m.event_len - m.metadata_len, ret);
	if (ret->name && strcmp(ret->name, ".") == 0) {
		ret->object = ret->dir;
		ret->dir.length = 0;
		ret->name = NULL;
	}
	/* Without memory the kernel does not say of which directory the event is. */
	if ((m.mask & (APPEARS | GOES)) != 0 ? ret->dir.length == 0 : ret->object.length == 0)
		ret->overflow = true;
	return m.event_len;
}

unsigned event_changes(const struct notice_event *e)
{
	unsigned changes = 0;

	/* A name more or less changes the object's link count and ctime, too. */
	if (e->object.length > 0)
		changes |= EVENT_ATTRIBUTES;
	if ((e->mask & (APPEARS | GOES)) != 0 && e->dir.length > 0)
		changes |= EVENT_NAME;
	return changes;
}

int event_name_state(const struct notice_event *e)
{
	bool appears = (e->mask & APPEARS) != 0, goes = (e->mask & GOES) != 0;

	if (appears == goes)
		return -1;
	if (goes)
		return 0;
	return e->object.length > 0 ? 1 : -1;
}
