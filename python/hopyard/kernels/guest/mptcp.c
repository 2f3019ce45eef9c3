/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Addresses that MPTCP announces and uses, set through generic netlink.
 */
#define _GNU_SOURCE
#include <linux/genetlink.h>
#include <linux/mptcp.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"

/* MPTCP announces an address, and takes up to eight addresses and subflows. */
void set_endpoint(const void *of)
{
	const struct order_mptcp *order = of;
	char buffer[512] __attribute__((aligned(8)));
	struct nlmsghdr *message = (struct nlmsghdr *)buffer;
	struct in_addr name = order->address;
	int generic = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), family, index = if_nametoindex(order->rest);
	uint32_t limit = 8, flags = MPTCP_PM_ADDR_FLAG_SIGNAL;
	uint16_t internet_family = AF_INET;
	struct nlattr *nest;

	family = family_of(generic, MPTCP_PM_NAME);
	begin_generic(message, family, MPTCP_PM_CMD_SET_LIMITS, MPTCP_PM_VER);
	attribute(message, MPTCP_PM_ATTR_RCV_ADD_ADDRS, &limit, sizeof limit);
	attribute(message, MPTCP_PM_ATTR_SUBFLOWS, &limit, sizeof limit);
	exchange(generic, message, 0, "limits of mptcp");
	begin_generic(message, family, MPTCP_PM_CMD_ADD_ADDR, MPTCP_PM_VER);
	nest = attribute(message, MPTCP_PM_ATTR_ADDR | NLA_F_NESTED, NULL, 0);
	attribute(message, MPTCP_PM_ADDR_ATTR_FAMILY, &internet_family, sizeof internet_family);
	attribute(message, MPTCP_PM_ADDR_ATTR_ADDR4, &name, sizeof name);
	attribute(message, MPTCP_PM_ADDR_ATTR_FLAGS, &flags, sizeof flags);
	attribute(message, MPTCP_PM_ADDR_ATTR_IF_IDX, &index, sizeof index);
	end_nest(message, nest);
	exchange(generic, message, 0, "endpoint of mptcp");
	close(generic);
}
