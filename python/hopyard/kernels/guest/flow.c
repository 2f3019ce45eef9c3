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

static void *receive(void *argument)
{
	long long bytes = 0, last = 0;
	int *descriptors = argument, port = descriptors[0], connection = descriptors[1];
	char *buffer = malloc(65536);
	ssize_t count;

	printf("@accepted %lld %d\n", now(), port);
	while ((count = read(connection, buffer, 65536)) > 0) {
		bytes += count;
		last = now();
	}
	if (count < 0)
		printf("@broken %lld %d errno %d\n", now(), port, errno);
	/* When the connection was closed, and when the last byte came. */
	printf("@received %lld %d %lld last %lld\n", now(), port, bytes, last);
	close(connection);
	free(buffer);
	free(descriptors);
	return NULL;
}

void *sink(void *argument)
{
	struct role *role = argument;
	struct sockaddr_in name = internet("0.0.0.0", role->port);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (role->mss && setsockopt(listener, IPPROTO_TCP, TCP_MAXSEG, &role->mss, sizeof role->mss))
		fail("mss", "");
	if (bind(listener, (struct sockaddr *)&name, sizeof name) || listen(listener, 16))
		fail("sink", "");
	for (;;) {
		int *descriptors = malloc(2 * sizeof *descriptors);

		descriptors[0] = role->port;
		descriptors[1] = accept(listener, NULL, NULL);
		if (descriptors[1] < 0) {
			fail("accept", "");
			return NULL;
		}
		start(receive, descriptors);
	}
}

/* Writes bytes. Returns how many could not be written because the time to stop came first, or -1. */
static long long put(int connection, const char *buffer, long long chunk, long long bytes, long long stop)
{
	while (bytes > 0) {
		long long piece = bytes < chunk ? bytes : chunk, left = stop - now();
		ssize_t count;

		if (stop) {
			struct pollfd wanted = { .fd = connection, .events = POLLOUT };
			struct timespec time = { left / BILLION, left % BILLION };

			if (left <= 0 || ppoll(&wanted, 1, &time, NULL) == 0)
				return bytes;
		}
		count = send(connection, buffer, piece, stop ? MSG_DONTWAIT : 0);
		if (count <= 0 && !(stop && errno == EAGAIN))
			return -1;
		bytes -= count > 0 ? count : 0;
	}
	return 0;
}

/* What the application of a flow writes: with a file of times and bytes what that says, otherwise all at once. */
static long long write_all(int connection, const struct role *role, const char *buffer)
{
	char path[32];
	FILE *writes;
	long long at, bytes, left = 0;

	if (!role->writes)
		return put(connection, buffer, role->chunk, role->bytes ? role->bytes : INT64_MAX, role->stop);
	snprintf(path, sizeof path, "/writes-%d", role->own_port);
	writes = fopen(path, "r");
	if (!writes)
		fail("writes", path);
	while (writes && !left && fscanf(writes, "%lld %lld", &at, &bytes) == 2) {
		sleep_until(at);
		left = put(connection, buffer, role->chunk, bytes, 0);
	}
	if (writes)
		fclose(writes);
	return left;
}

void *source(void *argument)
{
	struct role *role = argument;
	struct sockaddr_in own = internet("0.0.0.0", role->own_port), peer = internet(role->address, role->port);
	int connection = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	char *buffer = calloc(1, role->chunk);
	/* Room for more than the headers of the compiler's machine know. */
	union {
		struct tcp_info info;
		char room[512];
	} state = { .room = { 0 } };
	socklen_t length = sizeof state;

	setsockopt(connection, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (setsockopt(connection, IPPROTO_TCP, TCP_CONGESTION, role->variant, strlen(role->variant)))
		fail("variant", role->variant);
	if (role->mss && setsockopt(connection, IPPROTO_TCP, TCP_MAXSEG, &role->mss, sizeof role->mss))
		fail("mss", "");
	if (bind(connection, (struct sockaddr *)&own, sizeof own))
		fail("bind", "");
	sleep_until(role->start);
	if (connect(connection, (struct sockaddr *)&peer, sizeof peer)) {
		printf("@broken %lld %d errno %d\n", now(), role->own_port, errno);
		return NULL;
	}
	report_counters(now());
	getsockopt(connection, IPPROTO_TCP, TCP_INFO, &state, &length);
	/* Those of the SYN are none of the data's. */
	printf("@connected %lld %d%s\n", now(), role->own_port, timeouts_of(&state, length).text);
	length = sizeof state;
	if (write_all(connection, role, buffer) < 0) {
		printf("@broken %lld %d errno %d\n", now(), role->own_port, errno);
		return NULL;
	}
	/* The last byte is acknowledged when the other side has closed too. */
	shutdown(connection, SHUT_WR);
	while (read(connection, buffer, role->chunk) > 0)
		;
	getsockopt(connection, IPPROTO_TCP, TCP_INFO, &state, &length);
	printf("@sent %lld %d retransmissions %u%s\n", now(), role->own_port, state.info.tcpi_total_retrans,
	       timeouts_of(&state, length).text);
	close(connection);
	return NULL;
}
