/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What tests of the simulation order: echo requests, endless computing, a crash.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "agent.h"

static uint16_t checksum(const void *bytes, int length)
{
	const uint16_t *word = bytes;
	uint32_t sum = 0;

	for (; length > 1; length -= 2)
		sum += *word++;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

void *ping(void *argument)
{
	const struct order_ping *order = argument;
	struct sockaddr_in peer = internet(order->to, 0);
	struct timeval patience = { 1, 0 };
	int raw = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);

	setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	for (int i = 0; i < (int)order->count; i++) {
		char request[64] = { 0 }, answer[256];
		struct icmphdr *header = (struct icmphdr *)request;
		long long began;
		ssize_t count;

		sleep_until(order->start + i * BILLION);
		header->type = ICMP_ECHO;
		header->un.echo.id = htons(1);
		header->un.echo.sequence = htons(i);
		header->checksum = checksum(request, sizeof request);
		began = now();
		if (sendto(raw, request, sizeof request, 0, (struct sockaddr *)&peer, sizeof peer) < 0)
			fail("ping", "");
		do
			count = recv(raw, answer, sizeof answer, 0);
		while (count >= 28 && answer[20] != ICMP_ECHOREPLY);
		REPORT(report_answer, NULL, 0, now(), .number = i, .after = count < 0 ? -1 : now() - began);
	}
	close(raw);
	return NULL;
}

void *spin(void *argument)
{
	sleep_until(((const struct order_spin *)argument)->start);
	for (volatile long long i = 0; i >= 0; i++)
		;
	return NULL;
}

void *crash(void *argument)
{
	sleep_until(((const struct order_crash *)argument)->start);
	/* The kernel panics when its first process ends. */
	exit(3);
}
