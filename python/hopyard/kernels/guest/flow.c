/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The ends of flows: sources and sinks of TCP.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

/* How long a source waits after it has found no route, at first and at most: as long as for the answer to a SYN. */
#define FIRST_WAIT BILLION
#define LONGEST_WAIT (64 * BILLION)

static void broken(int port)
{
	int number = errno;

	REPORT(report_broken, NULL, 0, now(), .port = port, .number = number);
}

static void *receive(void *argument)
{
	long long bytes = 0, last = 0;
	int *descriptors = argument, port = descriptors[0], connection = descriptors[1];
	char *buffer = malloc(65536);
	ssize_t count;

	REPORT(report_accepted, NULL, 0, now(), .port = port);
	while ((count = read(connection, buffer, 65536)) > 0) {
		bytes += count;
		last = now();
	}
	if (count < 0)
		broken(port);
	/* When the connection was closed, and when the last byte came. */
	REPORT(report_received, NULL, 0, now(), .port = port, .bytes = bytes, .last = last);
	close(connection);
	free(buffer);
	free(descriptors);
	return NULL;
}

void *sink(void *argument)
{
	const struct order_sink *order = argument;
	struct sockaddr_in name = internet((struct in_addr){ INADDR_ANY }, order->port);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (order->mss && setsockopt(listener, IPPROTO_TCP, TCP_MAXSEG, &order->mss, sizeof order->mss))
		fail("mss", "");
	if (bind(listener, (struct sockaddr *)&name, sizeof name) || listen(listener, 16))
		fail("sink", "");
	for (;;) {
		int *descriptors = malloc(2 * sizeof *descriptors);

		descriptors[0] = order->port;
		descriptors[1] = accept(listener, NULL, NULL);
		if (descriptors[1] < 0) {
			fail("accept", "");
			return NULL;
		}
		start(receive, descriptors);
	}
}

/* Writes bytes. Returns how many could not be written because the time to stop (-1: none) came first, or -1. */
static long long put(int connection, const char *buffer, long long chunk, long long bytes, long long stop)
{
	while (bytes > 0) {
		long long piece = bytes < chunk ? bytes : chunk, left = stop - now();
		ssize_t count;

		if (stop >= 0) {
			struct pollfd wanted = { .fd = connection, .events = POLLOUT };
			struct timespec time = { left / BILLION, left % BILLION };

			if (left <= 0 || ppoll(&wanted, 1, &time, NULL) == 0)
				return bytes;
		}
		count = send(connection, buffer, piece, stop >= 0 ? MSG_DONTWAIT : 0);
		if (count <= 0 && !(stop >= 0 && errno == EAGAIN))
			return -1;
		bytes -= count > 0 ? count : 0;
	}
	return 0;
}

/* What the application of a flow writes: what the writes of the order say, if it has any, otherwise all at once. */
static long long write_all(int connection, const struct order_source *order, const char *buffer)
{
	const char *write = order->rest + strlen(order->rest) + 1, *end = (const char *)order + order->head.length;
	long long left = 0;

	if (write == end)
		return put(connection, buffer, order->chunk, order->bytes < 0 ? INT64_MAX : order->bytes, order->stop);
	for (; !left && write < end; write += 2 * sizeof(int64_t)) {
		int64_t at, bytes;

		memcpy(&at, write, sizeof at);
		memcpy(&bytes, write + sizeof at, sizeof bytes);
		sleep_until(at);
		left = put(connection, buffer, order->chunk, bytes, -1);
	}
	return left;
}

/* A socket for the connection of a source. */
static int prepared(const struct order_source *order)
{
	struct sockaddr_in own = internet((struct in_addr){ INADDR_ANY }, order->own_port);
	int connection = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(connection, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (setsockopt(connection, IPPROTO_TCP, TCP_CONGESTION, order->rest, strlen(order->rest)))
		fail("variant", order->rest);
	if (order->mss && setsockopt(connection, IPPROTO_TCP, TCP_MAXSEG, &order->mss, sizeof order->mss))
		fail("mss", "");
	if (bind(connection, (struct sockaddr *)&own, sizeof own))
		fail("bind", "");
	return connection;
}

void *source(void *argument)
{
	const struct order_source *order = argument;
	struct sockaddr_in peer = internet(order->to, order->port);
	int connection = prepared(order);
	long long wait = FIRST_WAIT;
	char *buffer = calloc(1, order->chunk);
	/* Room for more than the headers of the compiler's machine know. */
	union {
		struct tcp_info info;
		char room[512];
	} state = { .room = { 0 } };
	socklen_t length = sizeof state;

	sleep_until(order->start);
	while (connect(connection, (struct sockaddr *)&peer, sizeof peer)) {
		int again = errno == ENETUNREACH || errno == EHOSTUNREACH;

		broken(order->own_port);
		close(connection);
		if (!again || (order->stop >= 0 && now() + wait >= order->stop))
			return NULL;
		/* Routing may have no route yet, or none for a while. Linux gives a connection up at once then, even if
		 * another node says so; where a lost SYN is not answered, it would repeat it at these intervals. */
		sleep_until(now() + wait);
		wait = wait < LONGEST_WAIT ? 2 * wait : wait;
		connection = prepared(order);
	}
	tell_counters(now());
	getsockopt(connection, IPPROTO_TCP, TCP_INFO, &state, &length);
	/* Those of the SYN are none of the data's. */
	REPORT(report_connected, NULL, 0, now(), .port = order->own_port, .timeouts = timeouts_of(&state, length));
	length = sizeof state;
	if (write_all(connection, order, buffer) < 0) {
		broken(order->own_port);
		return NULL;
	}
	/* The last byte is acknowledged when the other side has closed too. */
	shutdown(connection, SHUT_WR);
	while (read(connection, buffer, order->chunk) > 0)
		;
	getsockopt(connection, IPPROTO_TCP, TCP_INFO, &state, &length);
	REPORT(report_sent, NULL, 0, now(), .port = order->own_port, .retransmissions = state.info.tcpi_total_retrans,
	       .timeouts = timeouts_of(&state, length));
	close(connection);
	return NULL;
}
