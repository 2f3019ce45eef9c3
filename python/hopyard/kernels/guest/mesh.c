/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A mesh device of batman-adv: set up through netlink, and asked for its routes.
 */
#define _GNU_SOURCE
#include <linux/batman_adv.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"

void set_mesh(const void *of)
{
	const struct order_mesh *order = of;
	const char *name = order->rest, *device = name + strlen(name) + 1, *algorithm = device + strlen(device) + 1;
	char buffer[512] __attribute__((aligned(8)));
	struct nlmsghdr *message = (struct nlmsghdr *)buffer;
	int route = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), generic = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	struct nlattr *about, *data;
	uint32_t index;
	uint8_t off = 0;

	begin_link(message, NLM_F_CREATE | NLM_F_EXCL, 0);
	attribute(message, IFLA_IFNAME, name, strlen(name) + 1);
	attribute(message, IFLA_ADDRESS, &order->mac, 6);
	about = attribute(message, IFLA_LINKINFO | NLA_F_NESTED, NULL, 0);
	attribute(message, IFLA_INFO_KIND, "batadv", sizeof "batadv");
	data = attribute(message, IFLA_INFO_DATA | NLA_F_NESTED, NULL, 0);
	attribute(message, IFLA_BATADV_ALGO_NAME, algorithm, strlen(algorithm) + 1);
	end_nest(message, data);
	end_nest(message, about);
	exchange(route, message, 0, algorithm);

	index = if_nametoindex(name);
	begin_link(message, 0, if_nametoindex(device));
	attribute(message, IFLA_MASTER, &index, sizeof index);
	exchange(route, message, 0, device);

	begin_generic(message, family_of(generic, BATADV_NL_NAME), BATADV_CMD_SET_MESH, 1);
	attribute(message, BATADV_ATTR_MESH_IFINDEX, &index, sizeof index);
	attribute(message, BATADV_ATTR_BRIDGE_LOOP_AVOIDANCE_ENABLED, &off, sizeof off);
	exchange(generic, message, 0, "bridge loop avoidance");
	close(generic);
	close(route);
}

#define BUFFER 32768
#define MAC 6

/* The best next hop of an originator that was reported last, and whether the kernel still has it. */
struct hop {
	uint8_t addresses[2 * MAC];
	int is_there;
};

static struct hop *hops;
static int known;

static void tell(const struct hop *hop, int added, uint32_t metric, long long at)
{
	REPORT(report_route, hop->addresses, sizeof hop->addresses, at, .added = added, .size = MAC, .prefix = 8 * MAC,
	       .metric = metric);
}

/* An answer is about a next hop of an originator, which may be the best one. */
static void read_answer(struct nlmsghdr *answer, long long at)
{
	struct nlattr *it = (void *)((char *)NLMSG_DATA(answer) + GENL_HDRLEN);
	const char *end = (char *)answer + answer->nlmsg_len;
	struct hop found = { .is_there = 1 };
	uint32_t metric = 0;
	int is_best = 0, place;

	for (; (char *)it + NLA_HDRLEN <= end && it->nla_len; it = (void *)((char *)it + NLA_ALIGN(it->nla_len))) {
		const void *content = (char *)it + NLA_HDRLEN;

		if (it->nla_type == BATADV_ATTR_ORIG_ADDRESS)
			memcpy(found.addresses, content, MAC);
		else if (it->nla_type == BATADV_ATTR_NEIGH_ADDRESS)
			memcpy(found.addresses + MAC, content, MAC);
		else if (it->nla_type == BATADV_ATTR_THROUGHPUT)
			metric = *(uint32_t *)content;
		else if (it->nla_type == BATADV_ATTR_TQ)
			metric = *(uint8_t *)content;
		else if (it->nla_type == BATADV_ATTR_FLAG_BEST)
			is_best = 1;
	}
	if (!is_best)
		return;
	for (place = 0; place < known; place++)
		if (!memcmp(hops[place].addresses, found.addresses, MAC))
			break;
	if (place == known)
		hops = realloc(hops, ++known * sizeof *hops);
	else if (!memcmp(&hops[place].addresses, &found.addresses, sizeof found.addresses)) {
		hops[place].is_there = 1;
		return;
	}
	hops[place] = found;
	tell(&found, 1, metric, at);
}

/* Reports the changes of the best next hops of all originators, at each multiple of the interval. */
void *originators(void *argument)
{
	const struct order_originators *order = argument;
	int generic = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), family = family_of(generic, BATADV_NL_NAME);
	char request[512] __attribute__((aligned(8))), *buffer = malloc(BUFFER);
	struct nlmsghdr *message = (struct nlmsghdr *)request;
	uint32_t index = if_nametoindex(order->rest);

	for (long long at = order->interval;; at += order->interval) {
		int more = 1;

		sleep_until(at);
		for (int i = 0; i < known; i++)
			hops[i].is_there = 0;
		begin_generic(message, family, BATADV_CMD_GET_ORIGINATORS, 1);
		message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
		attribute(message, BATADV_ATTR_MESH_IFINDEX, &index, sizeof index);
		if (send(generic, message, message->nlmsg_len, 0) < 0)
			more = -1;
		while (more > 0) {
			int length = recv(generic, buffer, BUFFER, 0);
			struct nlmsghdr *answer = (struct nlmsghdr *)buffer;

			if (length <= 0)
				more = -1;
			for (; NLMSG_OK(answer, length); answer = NLMSG_NEXT(answer, length)) {
				if (answer->nlmsg_type == NLMSG_DONE || answer->nlmsg_type == NLMSG_ERROR)
					more = 0;
				else
					read_answer(answer, at);
			}
		}
		if (more < 0) {
			fail("originators", order->rest);
			return NULL;
		}
		for (int i = 0; i < known; i++)
			if (!hops[i].is_there) {
				tell(&hops[i], 0, 0, at);
				hops[i--] = hops[--known];
			}
	}
}
