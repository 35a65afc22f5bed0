/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An IP address as servers compare them: always the 16 bytes of IPv6, an IPv4 address as ::ffff:a.b.c.d
 * (RFC 4291 2.5.5.2), so that a client seen through a dual-stack socket equals itself. A value: no
 * owner, no lock.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct ip_address {
	uint8_t bytes[16];
};

/* Room for "[address]:port" and its NUL. */
#define IP_ADDRESS_TEXT 56

/* -EAFNOSUPPORT for another family. ret_port may be NULL. */
int ip_address_from_sockaddr(const struct sockaddr_storage *from, struct ip_address *ret, uint16_t *ret_port);
/* The address's length. */
socklen_t ip_address_to_sockaddr(const struct ip_address *a, uint16_t port, struct sockaddr_storage *ret);
void ip_address_from_ipv4(const void *four_bytes, struct ip_address *ret);

/* An address or network in text ("10.0.0.0/8", "fe80::/64", "::1"); -EINVAL. */
int ip_address_parse(const char *text, struct ip_address *ret, unsigned *ret_prefix);

bool ip_address_is_ipv4(const struct ip_address *a);
bool ip_address_equal(const struct ip_address *a, const struct ip_address *b);
/* The first prefix bits (of 128) agree. */
bool ip_address_in(const struct ip_address *a, const struct ip_address *network, unsigned prefix);

/* "192.0.2.1" or "2001:db8::1", and with the port "192.0.2.1:2049" or "[2001:db8::1]:2049". */
void ip_address_format(const struct ip_address *a, char text[IP_ADDRESS_TEXT]);
void ip_address_format_port(const struct ip_address *a, uint16_t port, char text[IP_ADDRESS_TEXT]);
