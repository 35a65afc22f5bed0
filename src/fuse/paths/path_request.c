/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/paths/path_request.h"

#include <string.h>

bool path_read_get_buf(struct path_read *p, size_t size, size_t align)
{
	size_t room;

	if (align == 1 && fuse_req_get_payload(p->r.req, &p->buf, &room, NULL) == 0 && room >= size)
		p->payload = (struct iovec){.iov_base = p->buf, .iov_len = room};
	else
		p->buf = align > 1 ? aligned_alloc(align, size) : malloc(size);
	return p->buf;
}

void path_read_end(struct path_read *p)
{
	if (!p->payload.iov_base)
		free(p->buf);
	request_end(&p->r);
}

bool path_write_keep(struct path_write *p)
{
	char *payload;
	size_t room;

	if (fuse_req_get_payload(p->r.req, &payload, &room, NULL) == 0 && p->buf >= payload &&
		p->buf + p->size <= payload + room) {
		p->payload = (struct iovec){.iov_base = payload, .iov_len = room};
		return true;
	}
	p->copy = malloc(p->size);
	if (p->copy)
		p->buf = memcpy(p->copy, p->buf, p->size);
	return p->copy;
}
