/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/ip_address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

void ip_address_from_ipv4(const void *four_bytes, struct ip_address *ret)
{
	memcpy(ret->bytes, mapped_prefix, sizeof(mapped_prefix));
	memcpy(ret->bytes + sizeof(mapped_prefix), four_bytes, 4);
}

int ip_address_from_sockaddr(const struct sockaddr_storage *from, struct ip_address *ret, uint16_t *ret_port)
{
	uint16_t port;

	if (from->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)from;

		ip_address_from_ipv4(&in->sin_addr, ret);
		port = ntohs(in->sin_port);
	} else if (from->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)from;

		memcpy(ret->bytes, &in6->sin6_addr, 16);
		port = ntohs(in6->sin6_port);
	} else {
		return -EAFNOSUPPORT;
	}
	if (ret_port != NULL)
		*ret_port = port;
	return 0;
}

socklen_t ip_address_to_sockaddr(const struct ip_address *a, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (void *)ret;
	struct sockaddr_in6 *in6 = (void *)ret;

	*ret = (struct sockaddr_storage){0};
	if (ip_address_is_ipv4(a)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->bytes + sizeof(mapped_prefix), 4);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, a->bytes, 16);
	return sizeof(*in6);
}

int ip_address_parse(const char *text, struct ip_address *ret, unsigned *ret_prefix)
{
	char copy[INET6_ADDRSTRLEN + 8];
	struct ip_address a;
	uint64_t prefix;
	uint8_t four[4];
	unsigned bits;
	char *slash;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	(void)strcpy(copy, text);
	slash = strchr(copy, '/');
	if (slash != NULL)
		*slash++ = '\0';
	if (inet_pton(AF_INET, copy, four) == 1) {
		ip_address_from_ipv4(four, &a);
		bits = 32;
	} else if (inet_pton(AF_INET6, copy, a.bytes) == 1 && !ip_address_is_ipv4(&a)) {
		/* The server takes a mapped address for an IPv6 network, and no client is in this network. */
		bits = 128;
	} else {
		return -EINVAL;
	}
	prefix = bits;
	if (slash != NULL && parse_u64(slash, 0, bits, &prefix) < 0)
		return -EINVAL;
	*ret = a;
	*ret_prefix = 128 - bits + (unsigned)prefix;
	return 0;
}

bool ip_address_is_ipv4(const struct ip_address *a)
{
	return memcmp(a->bytes, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

bool ip_address_equal(const struct ip_address *a, const struct ip_address *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool ip_address_in(const struct ip_address *a, const struct ip_address *network, unsigned prefix)
{
	unsigned whole = prefix / 8, rest = prefix % 8;

	/* As in the server (cidr_contains()): an IPv6 network of any width contains no IPv4 address. */
	if (ip_address_is_ipv4(a) != ip_address_is_ipv4(network))
		return false;
	if (memcmp(a->bytes, network->bytes, whole) != 0)
		return false;
	return rest == 0 || ((a->bytes[whole] ^ network->bytes[whole]) >> (8 - rest)) == 0;
}

void ip_address_format(const struct ip_address *a, char text[IP_ADDRESS_TEXT])
{
	if (ip_address_is_ipv4(a))
		(void)inet_ntop(AF_INET, a->bytes + sizeof(mapped_prefix), text, IP_ADDRESS_TEXT);
	else
		(void)inet_ntop(AF_INET6, a->bytes, text, IP_ADDRESS_TEXT);
}

void ip_address_format_port(const struct ip_address *a, uint16_t port, char text[IP_ADDRESS_TEXT])
{
	char host[INET6_ADDRSTRLEN];

	if (ip_address_is_ipv4(a)) {
		(void)inet_ntop(AF_INET, a->bytes + sizeof(mapped_prefix), host, sizeof(host));
		(void)snprintf(text, IP_ADDRESS_TEXT, "%s:%u", host, port);
	} else {
		(void)inet_ntop(AF_INET6, a->bytes, host, sizeof(host));
		(void)snprintf(text, IP_ADDRESS_TEXT, "[%s]:%u", host, port);
	}
}
