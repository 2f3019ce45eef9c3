/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Messages of netlink: attributes, exchanges, families.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "agent.h"

/* Adds an attribute to a message, and returns where its content is. */
void *attribute(struct nlmsghdr *message, int type, const void *content, int length)
{
	struct nlattr *added = (void *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));

	added->nla_type = type;
	added->nla_len = NLA_HDRLEN + length;
	if (length)
		memcpy((char *)added + NLA_HDRLEN, content, length);
	message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + NLA_ALIGN(added->nla_len);
	return added;
}

/* A nest ends, whose attributes have been added since. */
void end_nest(struct nlmsghdr *message, struct nlattr *nest)
{
	nest->nla_len = (char *)message + message->nlmsg_len - (char *)nest;
}

/* Begins a message about a network device. */
void begin_link(struct nlmsghdr *message, int flags, int index)
{
	struct ifinfomsg *link = NLMSG_DATA(message);

	memset(message, 0, 512);
	message->nlmsg_type = RTM_NEWLINK;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	message->nlmsg_len = NLMSG_LENGTH(sizeof *link);
	link->ifi_index = index;
}

/* Begins a message of generic netlink. */
void begin_generic(struct nlmsghdr *message, int family, int command, int version)
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
int exchange(int generic, struct nlmsghdr *message, int type, const char *what)
{
	char buffer[8192];
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

/* The number of a family of generic netlink, or -1. */
int family_of(int generic, const char *name)
{
	char buffer[512] __attribute__((aligned(8)));
	struct nlmsghdr *message = (struct nlmsghdr *)buffer;

	begin_generic(message, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	attribute(message, CTRL_ATTR_FAMILY_NAME, name, strlen(name) + 1);
	return exchange(generic, message, CTRL_ATTR_FAMILY_ID, name);
}
