/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Addresses that MPTCP announces and uses, set through generic netlink.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/mptcp.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"

/* Adds an attribute to a message, and returns where its content is. */
static void *attribute(struct nlmsghdr *message, int type, const void *content, int length)
{
	struct nlattr *added = (void *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));

	added->nla_type = type;
	added->nla_len = NLA_HDRLEN + length;
	if (length)
		memcpy((char *)added + NLA_HDRLEN, content, length);
	message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + NLA_ALIGN(added->nla_len);
	return added;
}

/* Begins a message of generic netlink. */
static void begin(struct nlmsghdr *message, int family, int command, int version)
{
	struct genlmsghdr *header = NLMSG_DATA(message);

	memset(message, 0, 512);
	message->nlmsg_type = family;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	message->nlmsg_len = NLMSG_LENGTH(sizeof *header);
	header->cmd = command;
	header->version = version;
}

/* Sends a message, and takes its answers: the attribute of a type with 16 bits, or -1. */
static int exchange(int generic, struct nlmsghdr *message, int type, const char *what)
{
	char buffer[4096];
	int found = -1;

	if (send(generic, message, message->nlmsg_len, 0) < 0)
		fail(what, "");
	for (;;) {
		int length = recv(generic, buffer, sizeof buffer, 0);
		struct nlmsghdr *answer = (struct nlmsghdr *)buffer;

		if (length <= 0) {
			fail(what, "");
			return -1;
		}
		for (; NLMSG_OK(answer, length); answer = NLMSG_NEXT(answer, length)) {
			struct nlattr *it = (void *)((char *)NLMSG_DATA(answer) + GENL_HDRLEN);

			if (answer->nlmsg_type == NLMSG_ERROR) {
				errno = -((struct nlmsgerr *)NLMSG_DATA(answer))->error;
				if (errno)
					fail(what, "");
				return found;
			}
			while ((char *)it + NLA_HDRLEN <= (char *)answer + answer->nlmsg_len && it->nla_len) {
				if (it->nla_type == type)
					found = *(uint16_t *)((char *)it + NLA_HDRLEN);
				it = (void *)((char *)it + NLA_ALIGN(it->nla_len));
			}
		}
	}
}

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

	begin(message, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	attribute(message, CTRL_ATTR_FAMILY_NAME, MPTCP_PM_NAME, sizeof MPTCP_PM_NAME);
	family = exchange(generic, message, CTRL_ATTR_FAMILY_ID, "mptcp");
	begin(message, family, MPTCP_PM_CMD_SET_LIMITS, MPTCP_PM_VER);
	attribute(message, MPTCP_PM_ATTR_RCV_ADD_ADDRS, &limit, sizeof limit);
	attribute(message, MPTCP_PM_ATTR_SUBFLOWS, &limit, sizeof limit);
	exchange(generic, message, 0, "limits of mptcp");
	begin(message, family, MPTCP_PM_CMD_ADD_ADDR, MPTCP_PM_VER);
	nest = attribute(message, MPTCP_PM_ATTR_ADDR | NLA_F_NESTED, NULL, 0);
	attribute(message, MPTCP_PM_ADDR_ATTR_FAMILY, &internet_family, sizeof internet_family);
	attribute(message, MPTCP_PM_ADDR_ATTR_ADDR4, &name, sizeof name);
	attribute(message, MPTCP_PM_ADDR_ATTR_FLAGS, &flags, sizeof flags);
	attribute(message, MPTCP_PM_ADDR_ATTR_IF_IDX, &index, sizeof index);
	nest->nla_len = (char *)message + message->nlmsg_len - (char *)nest;
	exchange(generic, message, 0, "endpoint of mptcp");
	close(generic);
}
