/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An IP address in the form in which servers compare addresses: always the 16 bytes of IPv6. An IPv4 address is
 * ::ffff:a.b.c.d (RFC 4291 2.5.5.2), so that a client has the same address through an IPv4 and a dual-stack socket.
 *
 * A plain value without an owner or a lock.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct ip_address {
	uint8_t bytes[16];
};

/* The size of a buffer for "[address]:port" and the NUL. */
#define IP_ADDRESS_TEXT 56

/* 0, or -EAFNOSUPPORT if the family is neither AF_INET nor AF_INET6. ret_port may be NULL. */
int ip_address_from_sockaddr(const struct sockaddr_storage *from, struct ip_address *ret, uint16_t *ret_port);

/* Returns the length of the socket address. */
socklen_t ip_address_to_sockaddr(const struct ip_address *a, uint16_t port, struct sockaddr_storage *ret);

void ip_address_from_ipv4(const void *four_bytes, struct ip_address *ret);

/*
 * Parses an address or a network ("10.0.0.0/8", "fe80::/64", "::1"); 0 or -EINVAL. *ret_prefix counts the bits of the
 * 16 bytes: 104 for "10.0.0.0/8", 128 for a single address.
 */
int ip_address_parse(const char *text, struct ip_address *ret, unsigned *ret_prefix);

bool ip_address_is_ipv4(const struct ip_address *a);
bool ip_address_equal(const struct ip_address *a, const struct ip_address *b);

/* True if the first prefix bits (of 128) of both are equal, and both are IPv4 or both are IPv6. */
bool ip_address_in(const struct ip_address *a, const struct ip_address *network, unsigned prefix);

/* "192.0.2.1" or "2001:db8::1", and with the port "192.0.2.1:2049" or "[2001:db8::1]:2049". */
void ip_address_format(const struct ip_address *a, char text[IP_ADDRESS_TEXT]);
void ip_address_format_port(const struct ip_address *a, uint16_t port, char text[IP_ADDRESS_TEXT]);
