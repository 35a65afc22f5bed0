/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/libnfs/libnfs_guard.h"

#include <errno.h>

#ifdef LIBNFS_UNCHECKED_LENGTHS

#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include <nfsc/libnfs-zdr.h>

#define EXPORTED __attribute__((visibility("default")))

typedef bool_t bytes_fn(ZDR *zdrs, char **bufp, uint32_t *size, uint32_t maxsize);
typedef bool_t opaque_fn(ZDR *zdrs, char *objp, uint32_t size);
typedef bool_t string_fn(ZDR *zdrs, char **strp, uint32_t maxsize);
typedef bool_t array_fn(ZDR *zdrs, char **arrp, uint32_t *size, uint32_t maxsize, uint32_t elsize, zdrproc_t proc);

/* The functions in libnfs. */
static bytes_fn *real_bytes;
static opaque_fn *real_opaque;
static string_fn *real_string;
static array_fn *real_array;

/* Returns the number of bytes after the position; 0 if the position is outside of the buffer. */
static uint32_t left(const ZDR *zdrs)
{
	return zdrs->pos < 0 || zdrs->pos > zdrs->size ? 0 : (uint32_t)(zdrs->size - zdrs->pos);
}

/* True if the next length in the buffer is at most max, and the buffer has as many units of size bytes. */
static bool_t fits(const ZDR *zdrs, uint32_t max, uint32_t size)
{
	uint32_t length;

	if (zdrs->x_op != ZDR_DECODE)
		return TRUE;
	if (left(zdrs) < sizeof(length))
		return FALSE;
	memcpy(&length, &zdrs->buf[zdrs->pos], sizeof(length));
	length = ntohl(length);
	return length <= max && length <= (left(zdrs) - sizeof(length)) / size;
}

/* Bytes without a length: libnfs 4 does not check that the buffer has so many. */
EXPORTED bool_t libnfs_zdr_opaque(ZDR *zdrs, char *objp, uint32_t size)
{
	return (zdrs->x_op != ZDR_DECODE || size <= left(zdrs)) && real_opaque(zdrs, objp, size);
}

/* libnfs decodes a verifier into an array of its own, of maxsize bytes: only then maxsize must be checked. */
EXPORTED bool_t libnfs_zdr_bytes(ZDR *zdrs, char **bufp, uint32_t *size, uint32_t maxsize)
{
	const char *given;

	/* libnfs may pass a misaligned bufp. */
	memcpy(&given, (const void *)(uintptr_t)bufp, sizeof(given));
	return fits(zdrs, given ? maxsize : UINT32_MAX, 1) && real_bytes(zdrs, bufp, size, maxsize);
}

EXPORTED bool_t libnfs_zdr_string(ZDR *zdrs, char **strp, uint32_t maxsize)
{
	return fits(zdrs, UINT32_MAX, 1) && real_string(zdrs, strp, maxsize);
}

/* An element has at least four bytes. */
EXPORTED bool_t libnfs_zdr_array(ZDR *zdrs, char **arrp, uint32_t *size, uint32_t maxsize, uint32_t elsize,
	zdrproc_t proc)
{
	return fits(zdrs, UINT32_MAX, 4) && real_array(zdrs, arrp, size, maxsize, elsize, proc);
}

static void look_up(void)
{
	void *bytes = dlsym(RTLD_NEXT, "libnfs_zdr_bytes");
	void *opaque = dlsym(RTLD_NEXT, "libnfs_zdr_opaque");
	void *string = dlsym(RTLD_NEXT, "libnfs_zdr_string");
	void *array = dlsym(RTLD_NEXT, "libnfs_zdr_array");

	memcpy(&real_bytes, &bytes, sizeof(bytes));
	memcpy(&real_opaque, &opaque, sizeof(opaque));
	memcpy(&real_string, &string, sizeof(string));
	memcpy(&real_array, &array, sizeof(array));
}

int libnfs_guard(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, look_up);
	return real_bytes && real_opaque && real_string && real_array ? 0 : -ENOSYS;
}

#else

int libnfs_guard(void)
{
	return 0;
}

#endif
