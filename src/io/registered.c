/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/registered.h"

void registered_init(struct registered *t, struct io_uring *uring, unsigned ring, unsigned nrings)
{
	*t = (struct registered){.uring = uring, .ring = ring};
	/*
	 * True since Linux 6.14. In older kernels a removed file stays open until earlier requests of other files end.
	 */
	if ((uring->features & IORING_FEAT_RW_ATTR) && io_uring_register_files_sparse(uring, REGISTERED_FILES) == 0)
		for (short place = REGISTERED_FILES; place > 0; place--)
			t->free[t->nfree++] = place;
	if (io_uring_register_buffers_sparse(uring, REGISTERED_PAYLOADS / nrings) == 0)
		t->npayloads = REGISTERED_PAYLOADS / nrings;
}

/* Returns the file's place, or 0. Without a place, places[] counts the file's requests as a negative number. */
static int place_of(struct registered *t, struct uring_file *file)
{
	short *place = &file->places[t->ring];

	if (*place > 0)
		return *place;
	if (*place > -REGISTERED_OFTEN) {
		(*place)--;
		return 0;
	}
	if (t->nfree == 0)
		return 0;
	*place = t->free[t->nfree - 1];
	if (io_uring_register_files_update(t->uring, (unsigned)*place - 1, &file->fd, 1) == 1)
		t->nfree--;
	else
		*place = 0;
	return *place;
}

/* Returns the index of the registered payload that contains the request's buffer, or -1. */
static int payload_of(struct registered *t, const struct uring_io *io)
{
	struct iovec start = {io->payload.iov_base, MIN(io->payload.iov_len, (size_t)REGISTERED_BYTES)};
	size_t end = start.iov_base ? (size_t)(io->buf + io->size - (uint8_t *)start.iov_base) : SIZE_MAX;
	unsigned n = (unsigned)((uint64_t)(uintptr_t)start.iov_base * 0x9e3779b97f4a7c15 >> 32);
	__u64 tag = 0;

	if (t->npayloads == 0 || end > start.iov_len)
		return -1;
	n %= t->npayloads;
	if (!t->payloads[n].start)
		t->payloads[n].start = start.iov_base;
	if (t->payloads[n].start != start.iov_base)
		return -1;
	if (t->payloads[n].asked <= REGISTERED_OFTEN && t->payloads[n].asked++ == REGISTERED_OFTEN)
		t->payloads[n].there = io_uring_register_buffers_update_tag(t->uring, n, &start, &tag, 1) == 1;
	return t->payloads[n].there ? (int)n : -1;
}

void registered_use(struct registered *t, struct io_uring_sqe *sqe, const struct uring_io *io)
{
	int place = place_of(t, io->file), payload = payload_of(t, io);

	if (place > 0) {
		sqe->fd = place - 1;
		sqe->flags |= IOSQE_FIXED_FILE;
	}
	if (payload >= 0) {
		sqe->opcode = io->op == URING_READ ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
		sqe->buf_index = (uint16_t)payload;
	}
}

void registered_forget(const struct registered *t, struct io_uring_sqe *sqe, const struct uring_file *file)
{
	static int none = -1;

	io_uring_prep_files_update(sqe, &none, 1, file->places[t->ring] - 1);
}

void registered_forgotten(struct registered *t, struct uring_file *file, int result)
{
	if (result == 1)
		t->free[t->nfree++] = file->places[t->ring];
	file->places[t->ring] = 0;
}

void registered_end(struct registered *t)
{
	(void)io_uring_unregister_files(t->uring);
}
