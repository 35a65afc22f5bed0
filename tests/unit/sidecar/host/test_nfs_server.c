/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sockets of our own on loopback play the NFS server, its clients, and strangers beside them. */
#include "cmocka_setup.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>

#include "sidecar/host/nfs_server.h"
#include "base/util.h"

#define SOMEBODY 1000

static int at(int fd, const char *address, uint16_t port, int (*call)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

	(void)inet_pton(AF_INET, address, &in.sin_addr);
	return call(fd, (const struct sockaddr *)&in, sizeof(in));
}

static int listen_at(const char *address, uint16_t *port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in in;
	socklen_t len = sizeof(in);

	assert_true(fd >= 0);
	assert_return_code(at(fd, address, *port, bind), errno);
	assert_return_code(listen(fd, 8), errno);
	assert_return_code(getsockname(fd, (struct sockaddr *)&in, &len), errno);
	*port = ntohs(in.sin_port);
	return fd;
}

static int connect_from(const char *own, const char *address, uint16_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_return_code(at(fd, own, 0, bind), errno);
	assert_return_code(at(fd, address, port, connect), errno);
	return fd;
}

static bool has(uint16_t port, const char *address)
{
	struct ip_address peer;
	unsigned prefix;
	int r;

	assert_return_code(ip_address_parse(address, &peer, &prefix), 0);
	r = nfs_server_has_client(port, &peer);
	assert_return_code(r, 0);
	return r > 0;
}

/* Who is connected to the server is a client, whatever uid the kernel shows of the accepted socket. */
static void test_clients(void **state)
{
	uint16_t port = 0;
	int server = listen_at("127.0.0.1", &port), one, two, first, second;

	if (geteuid() != 0)
		skip();
	assert_false(has(port, "127.0.0.3"));
	one = connect_from("127.0.0.3", "127.0.0.1", port);
	assert_true(has(port, "127.0.0.3"));
	first = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	assert_true(has(port, "127.0.0.3"));
	two = connect_from("127.0.0.4", "127.0.0.1", port);
	(void)setfsuid(SOMEBODY); /* a thread of knfsd behind a request of his */
	second = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	(void)setfsuid(0);
	assert_true(has(port, "127.0.0.4"));
	assert_false(has(port, "127.0.0.5"));
	(void)close_fd(one);
	(void)close_fd(first);
	assert_false(has(port, "127.0.0.3"));
	assert_true(has(port, "127.0.0.4"));
	(void)close_fd(two);
	(void)close_fd(second);
	(void)close_fd(server);
}

/* The port at another address is anybody's. */
static void test_strangers(void **state)
{
	uint16_t port = 0;
	int server = listen_at("127.0.0.1", &port), stranger, client, accepted;
	struct nfs_listener list[NFS_SERVER_MAX_LISTENERS];

	if (geteuid() != 0)
		skip();
	(void)setfsuid(SOMEBODY);
	stranger = listen_at("127.0.0.2", &port);
	(void)setfsuid(0);
	assert_int_equal(nfs_server_listeners(port, list), 1);
	client = connect_from("127.0.0.3", "127.0.0.2", port);
	accepted = accept4(stranger, NULL, NULL, SOCK_CLOEXEC); /* with a uid of 0 */
	assert_true(accepted >= 0);
	assert_false(has(port, "127.0.0.3"));
	(void)close_fd(client);
	(void)close_fd(accepted);
	(void)close_fd(stranger);
	(void)close_fd(server);
}

static void test_cover(void **state)
{
	struct nfs_listener all4 = {.ipv4 = true}, all = {.ipv4 = false}, all6 = {.v6only = true};
	struct ip_address v4, v6;
	unsigned prefix;

	assert_return_code(ip_address_parse("192.0.2.1", &v4, &prefix), 0);
	assert_return_code(ip_address_parse("2001:db8::1", &v6, &prefix), 0);
	assert_true(nfs_listeners_cover(&all4, 1, &v4));
	assert_false(nfs_listeners_cover(&all4, 1, &v6));
	assert_true(nfs_listeners_cover(&all, 1, &v4));
	assert_true(nfs_listeners_cover(&all, 1, &v6));
	assert_false(nfs_listeners_cover(&all6, 1, &v4));
	assert_true(nfs_listeners_cover(&all6, 1, &v6));
	assert_false(nfs_listeners_cover(&all, 0, &v4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_cover),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
