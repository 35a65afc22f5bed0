/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/addresses.h"

#include <netdb.h>
#include <stdatomic.h>
#include <string.h>

#include "net/tcp.h"

/* One resolution of the name. The thread and the struct addresses have a reference each; the last one frees it. */
struct resolver {
	atomic_uint refs;
	atomic_bool finished;
	int family;
	struct addrinfo *found; /* belongs to the thread until finished is set; NULL if the name has no address */
	char host[];
};

static void resolver_unref(struct resolver *r)
{
	if (atomic_fetch_sub(&r->refs, 1) > 1)
		return;
	if (r->found)
		freeaddrinfo(r->found);
	free(r);
}

static void *resolve(void *arg)
{
	struct resolver *r = arg;
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = r->family};

	if (getaddrinfo(r->host, NULL, &hints, &r->found) != 0)
		r->found = NULL;
	r->finished = true;
	resolver_unref(r);
	return NULL;
}

/* NULL without memory or a thread; then the caller continues with the old addresses. */
static struct resolver *resolver_new(const char *host, int family)
{
	size_t size = strlen(host) + 1;
	struct resolver *r = calloc(1, sizeof(*r) + size);
	pthread_attr_t detached;
	pthread_t thread;
	int error;

	if (!r)
		return NULL;
	r->refs = 2;
	r->family = family;
	memcpy(r->host, host, size);
	(void)pthread_attr_init(&detached);
	(void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &detached, resolve, r);
	(void)pthread_attr_destroy(&detached);
	if (error != 0) {
		free(r);
		return NULL;
	}
	return r;
}

static void take_list(struct addresses *a, const struct addrinfo *found)
{
	size_t n = 0;

	for (; found && n < ADDRESSES_MAX; found = found->ai_next) {
		if (found->ai_family != AF_INET && found->ai_family != AF_INET6)
			continue;
		memset(&a->list[n], 0, sizeof(a->list[n]));
		memcpy(&a->list[n], found->ai_addr, found->ai_addrlen);
		address_set_port(&a->list[n++], a->port);
	}
	if (n == 0)
		return;
	a->count = n;
	a->current = 0;
}

int addresses_init(struct addresses *a, const char *host, const char *numeric, unsigned port, int family)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found;

	memset(a, 0, sizeof(*a));
	if (getaddrinfo(numeric, NULL, &hints, &found) != 0)
		return -EINVAL;
	a->port = port;
	a->family = family;
	take_list(a, found);
	freeaddrinfo(found);
	if (a->count == 0)
		return -EINVAL;
	/* A host that is a numeric address is never resolved again. */
	if (host && getaddrinfo(host, NULL, &hints, &found) == 0) {
		freeaddrinfo(found);
		return 0;
	}
	a->host = host ? strdup(host) : NULL;
	return host && !a->host ? -ENOMEM : 0;
}

void addresses_done(struct addresses *a)
{
	if (a->resolver)
		resolver_unref(STEAL_PTR(a->resolver));
	free(a->host);
	a->host = NULL;
}

const struct sockaddr_storage *addresses_current(struct addresses *a)
{
	if (a->resolver && a->resolver->finished) {
		take_list(a, a->resolver->found);
		resolver_unref(STEAL_PTR(a->resolver));
	}
	return &a->list[a->current];
}

bool addresses_failed(struct addresses *a)
{
	a->current = (a->current + 1) % a->count;
	if (a->current > 0)
		return false;
	if (a->host && !a->resolver)
		a->resolver = resolver_new(a->host, a->family);
	return true;
}

void addresses_answered(struct addresses *a)
{
	struct sockaddr_storage current = a->list[a->current];

	a->list[a->current] = a->list[0];
	a->list[0] = current;
	a->current = 0;
}
