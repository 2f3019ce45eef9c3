/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A mesh device of batman-adv, set up through netlink.
 */
#define _GNU_SOURCE
#include <linux/batman_adv.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdint.h>
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
