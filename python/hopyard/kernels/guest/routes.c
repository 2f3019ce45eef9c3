/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reports changes of the main routing tables, as `ip monitor route` shows them.
 */
#define _GNU_SOURCE
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"

#define BUFFER 32768

static void tell(const struct nlmsghdr *message, long long at)
{
	const struct rtmsg *route = NLMSG_DATA(message);
	const struct rtattr *it = RTM_RTA(route);
	int left = RTM_PAYLOAD(message), size = route->rtm_family == AF_INET6 ? 16 : 4;
	unsigned char addresses[2 * 16] = { 0 };
	uint32_t metric = 0, added = message->nlmsg_type == RTM_NEWROUTE;

	/* The kernel makes routes of its own for each address. */
	if (route->rtm_table != RT_TABLE_MAIN || route->rtm_protocol == RTPROT_KERNEL ||
	    (route->rtm_family != AF_INET && route->rtm_family != AF_INET6))
		return;
	if (route->rtm_type != RTN_UNICAST) {
		/* A route that says that there is no way, which a daemon may put in the place of a lost one. */
		if (!added)
			return;
		added = 2;
	}
	for (; RTA_OK(it, left); it = RTA_NEXT(it, left)) {
		const void *content = RTA_DATA(it);

		if (it->rta_type == RTA_DST)
			memcpy(addresses, content, size);
		else if (it->rta_type == RTA_GATEWAY)
			memcpy(addresses + size, content, size);
		else if (it->rta_type == RTA_PRIORITY)
			memcpy(&metric, content, sizeof metric);
		else if (it->rta_type == RTA_MULTIPATH) {
			/* The first of several ways stands for all. */
			const struct rtattr *way = RTNH_DATA((struct rtnexthop *)content);

			if (it->rta_len >= RTA_LENGTH(sizeof(struct rtnexthop)) + RTA_LENGTH(size) && way->rta_type == RTA_GATEWAY)
				memcpy(addresses + size, RTA_DATA(way), size);
		}
	}
	REPORT(report_route, addresses, 2 * size, at, .added = added, .size = size,
	       .prefix = route->rtm_dst_len, .metric = metric, .protocol = route->rtm_protocol);
}

static void *read_routes(void *argument)
{
	int events = *(int *)argument;
	char *buffer = malloc(BUFFER);

	for (;;) {
		int length = recv(events, buffer, BUFFER, 0);
		struct nlmsghdr *message = (struct nlmsghdr *)buffer;

		/* More changes than the socket holds have been lost. */
		if (length <= 0) {
			fail("changes of routes", "");
			return NULL;
		}
		for (; NLMSG_OK(message, length); message = NLMSG_NEXT(message, length))
			if (message->nlmsg_type == RTM_NEWROUTE || message->nlmsg_type == RTM_DELROUTE)
				tell(message, now());
	}
}

/* All changes from now on are reported. */
void watch_routes(const void *order)
{
	static int events;
	struct sockaddr_nl groups = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE };
	int room = 1 << 20;

	(void)order;
	events = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	setsockopt(events, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
	if (bind(events, (struct sockaddr *)&groups, sizeof groups))
		fail("changes of routes", "");
	start(read_routes, &events);
}
