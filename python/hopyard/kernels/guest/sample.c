/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Samples of the TCP sockets, through INET_DIAG as `ss -ti` takes them, and counters of the kernel.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"

/* Where Linux 6.7 and later have the number of timeouts in `struct tcp_info` (`tcpi_total_rto`, 16 bits). The headers of
 * the machine that compiles the agent may be older than the kernel. */
#define TOTAL_RTO 240

long long timeouts_of(const void *info, unsigned length)
{
	uint16_t count;

	if (length < TOTAL_RTO + sizeof count)
		return -1;
	memcpy(&count, (const char *)info + TOTAL_RTO, sizeof count);
	return count;
}

static void tell(long long at, const struct inet_diag_msg *socket_of, int length)
{
	const struct rtattr *attribute = (const struct rtattr *)(socket_of + 1);
	struct tcp_info info;

	for (; RTA_OK(attribute, length); attribute = RTA_NEXT(attribute, length)) {
		size_t size = RTA_PAYLOAD(attribute);

		if (attribute->rta_type != INET_DIAG_INFO)
			continue;
		memset(&info, 0, sizeof info);
		memcpy(&info, RTA_DATA(attribute), size < sizeof info ? size : sizeof info);
		REPORT(report_socket, NULL, 0, at,
		       .port = ntohs(socket_of->id.idiag_sport), .peer = ntohs(socket_of->id.idiag_dport),
		       .state = info.tcpi_ca_state, .cwnd = info.tcpi_snd_cwnd, .ssthresh = info.tcpi_snd_ssthresh,
		       .srtt = info.tcpi_rtt, .rto = info.tcpi_rto, .unacknowledged = info.tcpi_unacked,
		       .retransmissions = info.tcpi_total_retrans, .timeouts = timeouts_of(RTA_DATA(attribute), size));
	}
}

/* A counter of the kernel's TCP, by its name in /proc/net/netstat: a line of names and a line of values. */
static long long counter(const char *text, const char *name)
{
	const char *names = strstr(text, "TcpExt: "), *values = names ? strstr(names + 1, "TcpExt: ") : NULL;
	char word[64];
	int length;

	while (names && values && sscanf(names, "%63s%n", word, &length) == 1) {
		long long value;
		int of_value;

		names += length;
		if (!strcmp(word, name))
			return sscanf(values, "%lld", &value) == 1 ? value : -1;
		if (sscanf(values, "%*s%n", &of_value) != 0)
			break;
		values += of_value;
	}
	return -1;
}

/* Reports how many timeouts and fast retransmits the kernel's sockets had, if there are more than before. */
void tell_counters(long long at)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	static char text[16384];
	static long long before = -1;
	int file = open("/proc/net/netstat", O_RDONLY);
	ssize_t length;

	pthread_mutex_lock(&one_at_a_time);
	length = file < 0 ? -1 : read(file, text, sizeof text - 1);
	if (file >= 0)
		close(file);
	if (length > 0) {
		long long timeouts, fast;

		text[length] = 0;
		timeouts = counter(text, "TCPTimeouts");
		/* How often fast recovery began, with and without SACK. */
		fast = counter(text, "TCPSackRecovery") + counter(text, "TCPRenoRecovery");
		if (timeouts + fast != before)
			REPORT(report_counters, NULL, 0, at, .timeouts = timeouts, .fast = fast);
		before = timeouts + fast;
	}
	pthread_mutex_unlock(&one_at_a_time);
}

/* The time of the sample after one: a multiple of the interval, or one of two further times. */
static long long next_after(long long at, const struct order_sample *order)
{
	const long long further[] = { order->from, order->to };
	long long found = (at / order->interval + 1) * order->interval;

	for (int i = 0; i < 2; i++)
		if (further[i] > at && further[i] < found)
			found = further[i];
	return found;
}

/* Reports all TCP sockets that send or receive, at each multiple of the interval and at two further times. */
void *sample(void *argument)
{
	const struct order_sample *order = argument;
	int diagnosis = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG);
	char *buffer = malloc(32768);
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} ask = {
		.header = { .nlmsg_len = sizeof ask, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		/* Established, and the states of closing (the kernel's include/net/tcp_states.h): all but LISTEN and TIME_WAIT. */
		.request = { .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_ext = 1 << (INET_DIAG_INFO - 1),
			     .idiag_states = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11 },
	};

	for (long long at = next_after(0, order);; at = next_after(at, order)) {
		int more = 1;

		sleep_until(at);
		tell_counters(at);
		if (send(diagnosis, &ask, sizeof ask, 0) < 0) {
			fail("sample", "");
			return NULL;
		}
		while (more) {
			int length = recv(diagnosis, buffer, 32768, 0);
			struct nlmsghdr *message = (struct nlmsghdr *)buffer;

			if (length <= 0) {
				fail("sample", "");
				return NULL;
			}
			for (; NLMSG_OK(message, length); message = NLMSG_NEXT(message, length)) {
				if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
					more = 0;
				else
					tell(at, NLMSG_DATA(message), message->nlmsg_len - NLMSG_LENGTH(sizeof(struct inet_diag_msg)));
			}
		}
	}
}
