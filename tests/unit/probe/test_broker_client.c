/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The client's end of a broker connection, against a sidecar that the test plays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "localiofs/reason.h"
#include "probe/broker_client.h"

struct sidecar {
	int listener;
	struct sockaddr_un address;
	struct broker_client *client;
	int socket;
	uint32_t event; /* the last message that was no reply */
	uint32_t reason;
	int answered; /* replies, and calls that have failed */
};

static void on_event(void *arg, uint32_t type, const void *body)
{
	struct sidecar *s = arg;

	s->event = type;
	s->reason = ((const struct broker_status *)body)->reason;
}

static struct sidecar *the_sidecar;

struct change {
	struct broker_call call;
	int times, error;
};

static void on_change_done(struct broker_call *call, int error, const void *body)
{
	struct change *c = CONTAINER_OF(call, struct change, call);

	c->times++;
	c->error = error;
}

static void on_done(struct broker_call *call, int error, const void *body)
{
	the_sidecar->answered++;
}

static int set_up(void **state)
{
	static struct sidecar s;

	s = (struct sidecar){.address = {.sun_family = AF_UNIX}};
	the_sidecar = &s;
	/* An address without a file: the kernel chooses a name. */
	s.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	(void)snprintf(s.address.sun_path + 1, sizeof(s.address.sun_path) - 1, "localiofs-test-%d", (int)getpid());
	if (bind(s.listener, (struct sockaddr *)&s.address, sizeof(s.address)) < 0 || listen(s.listener, 1) < 0 ||
		broker_client_connect(&s.address, on_event, &s, &s.client) < 0)
		return -1;
	s.socket = accept4(s.listener, NULL, NULL, SOCK_CLOEXEC);
	*state = &s;
	return 0;
}

static int tear_down(void **state)
{
	struct sidecar *s = *state;

	broker_client_close(s->client);
	s->client = broker_client_unref(s->client);
	s->socket = close_fd(s->socket);
	s->listener = close_fd(s->listener);
	return 0;
}

static void send_goodbye(int socket, uint32_t reason)
{
	struct {
		struct broker_header header;
		struct broker_status body;
	} packet = {.header = {.type = BROKER_GOODBYE, .length = sizeof(packet)},
		.body = {.error = -1, .reason = reason}};

	assert_int_equal(send(socket, &packet, sizeof(packet), 0), sizeof(packet));
}

/*
 * The sidecar closes the socket of a client over a limit without reading the request. The kernel then reports
 * ECONNRESET before it hands out GOODBYE (net/unix/af_unix.c unix_release_sock).
 */
static void the_reason_arrives_although_the_request_was_not_read(void **state)
{
	struct sidecar *s = *state;
	struct broker_announce body = {.version = BROKER_VERSION};
	struct broker_call call = {.done = on_done};

	broker_client_send(s->client, &call, BROKER_ANNOUNCE, &body, sizeof(body), -1);
	send_goodbye(s->socket, REASON_LIMIT);
	s->socket = close_fd(s->socket);
	assert_int_equal(broker_client_service(s->client), -ENOTCONN);
	assert_int_equal(s->event, BROKER_GOODBYE);
	assert_int_equal(s->reason, REASON_LIMIT);
	broker_client_close(s->client);
	assert_int_equal(s->answered, 1);
}

static void a_closed_connection_ends_all_calls_once(void **state)
{
	struct sidecar *s = *state;
	struct broker_announce body = {.version = BROKER_VERSION};
	struct broker_call calls[3] = {{.done = on_done}, {.done = on_done}, {.done = on_done}};

	for (int n = 0; n < 2; n++)
		broker_client_send(s->client, &calls[n], BROKER_ANNOUNCE, &body, sizeof(body), -1);
	broker_client_close(s->client);
	assert_int_equal(s->answered, 2);
	broker_client_send(s->client, &calls[2], BROKER_ANNOUNCE, &body, sizeof(body), -1);
	assert_int_equal(s->answered, 3);
	assert_int_equal(broker_client_service(s->client), -ENOTCONN);
}

static void a_message_of_another_length_breaks_the_protocol(void **state)
{
	struct sidecar *s = *state;
	struct broker_header header = {.type = BROKER_GOODBYE, .length = sizeof(header)};

	assert_int_equal(send(s->socket, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(broker_client_service(s->client), -EPROTO);
	assert_int_equal(s->event, 0);
}

static uint32_t listed; /* bytes of the last reply to LIST */

static void on_listed(struct broker_call *call, int error, const void *body)
{
	const struct broker_listed *reply = body;

	if (error < 0)
		return;
	listed = call->length;
	assert_int_equal(((const uint8_t *)(reply + 1))[call->length - sizeof(*reply) - 1], 'e');
}

/* Sends a request LIST, and a reply of so many bytes. What the client says of the reply. */
static int list(struct sidecar *s, uint32_t length)
{
	static uint8_t packet[2 * BROKER_MAX_LISTED];
	static struct broker_call call; /* after an error it is done at the end of the connection */
	struct broker_list body = {.plus = 1};
	struct broker_header header = {.type = BROKER_LIST | BROKER_REPLY, .length = length};

	call = (struct broker_call){.done = on_listed};
	broker_client_send(s->client, &call, BROKER_LIST, &body, sizeof(body), -1);
	header.id = call.id;
	memset(packet, 'e', sizeof(packet));
	memcpy(packet, &header, sizeof(header));
	assert_int_equal(send(s->socket, packet, length, 0), length);
	return broker_client_service(s->client);
}

static void a_listing_has_any_length(void **state)
{
	struct sidecar *s = *state;

	for (uint32_t length = 121; length <= BROKER_MAX_LISTED; length += 4361) {
		assert_int_equal(list(s, length), 0);
		assert_int_equal(listed, length - sizeof(struct broker_header));
	}
	assert_int_equal(listed, BROKER_MAX_LISTED - sizeof(struct broker_header));
}

static void a_listing_that_is_too_long_breaks_the_protocol(void **state)
{
	assert_int_equal(list(*state, BROKER_MAX_LISTED + 1), -EPROTO);
}

static void a_listing_that_is_too_short_breaks_the_protocol(void **state)
{
	assert_int_equal(list(*state, 119), -EPROTO);
}

static void send_change(struct sidecar *s, struct change *c)
{
	struct broker_remove body = {.name = "a"};

	*c = (struct change){.call = {.done = on_change_done, .changes = true}};
	broker_client_send(s->client, &c->call, BROKER_REMOVE, &body, sizeof(body), -1);
}

static void send_reply(int socket, const struct broker_call *call)
{
	struct {
		struct broker_header header;
		struct broker_changed body;
	} packet = {.header = {.type = call->type | BROKER_REPLY, .length = sizeof(packet), .id = call->id}};

	assert_int_equal(send(socket, &packet, sizeof(packet), 0), sizeof(packet));
}

/* What the sidecar reads until the end of what the client has sent. */
static unsigned count_requests(int socket)
{
	uint8_t packet[BROKER_MAX_MESSAGE];
	unsigned n = 0;

	while (recv(socket, packet, sizeof(packet), 0) > 0)
		n++;
	return n;
}

static void a_change_that_was_sent_outlives_the_clients_end(void **state)
{
	struct sidecar *s = *state;
	struct broker_announce body = {.version = BROKER_VERSION};
	struct broker_call call = {.done = on_done};
	struct change answered, lost, late;

	broker_client_send(s->client, &call, BROKER_ANNOUNCE, &body, sizeof(body), -1);
	send_change(s, &answered);
	send_change(s, &lost);
	assert_true(broker_client_end(s->client));
	assert_int_equal(s->answered, 1); /* the announcement is no change */
	send_change(s, &late);
	assert_int_equal(late.times, 1);
	assert_int_equal(late.call.stage, BROKER_CALL_NEW);
	assert_int_equal(count_requests(s->socket), 3);
	send_goodbye(s->socket, REASON_LIMIT);
	send_reply(s->socket, &call);
	send_reply(s->socket, &answered.call);
	assert_int_equal(broker_client_service(s->client), 0);
	assert_int_equal(s->event, 0);
	assert_int_equal(answered.times, 1);
	assert_int_equal(answered.error, 0);
	assert_int_equal(lost.times, 0);
	s->socket = close_fd(s->socket);
	assert_int_equal(broker_client_service(s->client), -ENOTCONN);
	assert_int_equal(lost.times, 0);
	broker_client_close(s->client);
	assert_int_equal(lost.times, 1);
	assert_int_equal(lost.error, -ENOTCONN);
	assert_int_equal(lost.call.stage, BROKER_CALL_SENT);
}

static void an_ended_connection_is_over_when_all_changes_are_answered(void **state)
{
	struct sidecar *s = *state;
	struct change change;

	send_change(s, &change);
	assert_true(broker_client_end(s->client));
	assert_int_equal(broker_client_service(s->client), 0);
	send_reply(s->socket, &change.call);
	assert_int_equal(broker_client_service(s->client), -ENOTCONN);
	assert_int_equal(change.times, 1);
	assert_int_equal(change.error, 0);
	assert_false(broker_client_end(s->client));
}

static void a_change_that_still_waits_to_be_sent_is_never_sent(void **state)
{
	struct sidecar *s = *state;
	struct change changes[2000];
	size_t sent = 0, n = 0;

	do
		send_change(s, &changes[n]);
	while (changes[n++].call.stage == BROKER_CALL_SENT && n < ARRAY_SIZE(changes));
	sent = n - 1;
	assert_int_equal(changes[sent].call.stage, BROKER_CALL_QUEUED);
	assert_int_equal(changes[sent].times, 0);
	assert_true(broker_client_end(s->client));
	assert_int_equal(changes[sent].times, 1);
	assert_int_equal(changes[sent].error, -ENOTCONN);
	assert_int_equal(changes[sent].call.stage, BROKER_CALL_QUEUED);
	assert_false(broker_client_wants_write(s->client));
	assert_int_equal(count_requests(s->socket), sent);
	for (n = 0; n < sent; n++)
		assert_int_equal(changes[n].times, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_reason_arrives_although_the_request_was_not_read, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_closed_connection_ends_all_calls_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_message_of_another_length_breaks_the_protocol, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_listing_has_any_length, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_listing_that_is_too_long_breaks_the_protocol, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_listing_that_is_too_short_breaks_the_protocol, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_change_that_was_sent_outlives_the_clients_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_ended_connection_is_over_when_all_changes_are_answered, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_change_that_still_waits_to_be_sent_is_never_sent, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
