/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The guest's network: devices, addresses, routes, parameters, modules.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent.h"

void set_sysctl(const void *message)
{
	const struct order_sysctl *order = message;
	const char *path = order->rest, *value = path + strlen(path) + 1;
	char file[256], text[512];
	int descriptor;

	snprintf(file, sizeof file, "/proc/sys/%s", path);
	descriptor = open(file, O_WRONLY);
	if (descriptor < 0 || write(descriptor, value, strlen(value)) < 0) {
		snprintf(text, sizeof text, "%s=%s", path, value);
		fail("sysctl", text);
	}
	if (descriptor >= 0)
		close(descriptor);
}

static struct in_addr mask_of(int prefix)
{
	return (struct in_addr){ htonl(prefix ? ~0u << (32 - prefix) : 0) };
}

void set_address(const void *message)
{
	const struct order_address *order = message;
	const char *device = order->rest;
	int socket_of = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in name = internet(order->address, 0);
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, IFNAMSIZ, "%s", device);
	memcpy(&request.ifr_addr, &name, sizeof name);
	if (ioctl(socket_of, SIOCSIFADDR, &request))
		fail("address of", device);
	name.sin_addr = mask_of(order->prefix);
	memcpy(&request.ifr_netmask, &name, sizeof name);
	if (ioctl(socket_of, SIOCSIFNETMASK, &request))
		fail("prefix of", device);
	ioctl(socket_of, SIOCGIFFLAGS, &request);
	/* A host's receiver is found by its IP address, in the simulated network. */
	request.ifr_flags |= IFF_UP | (order->arp || !strcmp(device, "lo") ? 0 : IFF_NOARP);
	if (ioctl(socket_of, SIOCSIFFLAGS, &request))
		fail("bringing up", device);
	close(socket_of);
}

void set_up(const void *message)
{
	bring_up(((const struct order_up *)message)->rest);
}

void bring_up(const char *device)
{
	int socket_of = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, IFNAMSIZ, "%s", device);
	if (ioctl(socket_of, SIOCGIFFLAGS, &request))
		fail("device", device);
	request.ifr_flags |= IFF_UP;
	if (ioctl(socket_of, SIOCSIFFLAGS, &request))
		fail("bringing up", device);
	close(socket_of);
}

void set_address6(const void *message)
{
	const struct order_address6 *order = message;
	int socket_of = socket(AF_INET6, SOCK_DGRAM, 0);
	struct in6_ifreq request = { order->address, order->prefix, if_nametoindex(order->rest) };

	if (ioctl(socket_of, SIOCSIFADDR, &request))
		fail("IPv6 address of", order->rest);
	close(socket_of);
}

void set_mtu(const void *message)
{
	const struct order_mtu *order = message;
	int socket_of = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, IFNAMSIZ, "%s", order->rest);
	request.ifr_mtu = order->bytes;
	if (ioctl(socket_of, SIOCSIFMTU, &request))
		fail("mtu of", order->rest);
	close(socket_of);
}

void set_route(const void *message)
{
	const struct order_route *order = message;
	int socket_of = socket(AF_INET, SOCK_DGRAM, 0);
	struct rtentry route = { .rt_dev = (char *)order->rest, .rt_flags = RTF_UP };
	struct sockaddr_in name = internet(order->address, 0);

	memcpy(&route.rt_dst, &name, sizeof name);
	name.sin_addr = mask_of(order->prefix);
	memcpy(&route.rt_genmask, &name, sizeof name);
	if (ioctl(socket_of, SIOCADDRT, &route))
		fail("route over", order->rest);
	close(socket_of);
}

void set_via(const void *message)
{
	const struct order_via *order = message;
	int socket_of = socket(AF_INET, SOCK_DGRAM, 0);
	struct rtentry route = { .rt_dev = (char *)order->rest, .rt_flags = RTF_UP | RTF_HOST | RTF_GATEWAY };
	struct sockaddr_in name = internet(order->address, 0);

	memcpy(&route.rt_dst, &name, sizeof name);
	name.sin_addr = order->router;
	memcpy(&route.rt_gateway, &name, sizeof name);
	if (ioctl(socket_of, SIOCADDRT, &route))
		fail("route by way of a neighbour over", order->rest);
	close(socket_of);
}

void set_route6(const void *message)
{
	const struct order_route6 *order = message;
	int socket_of = socket(AF_INET6, SOCK_DGRAM, 0);
	struct in6_rtmsg route = { .rtmsg_dst = order->address, .rtmsg_gateway = order->router, .rtmsg_dst_len = 128,
				   .rtmsg_metric = 1, .rtmsg_flags = RTF_UP | RTF_HOST,
				   .rtmsg_ifindex = if_nametoindex(order->rest) };

	if (!IN6_IS_ADDR_UNSPECIFIED(&order->router))
		route.rtmsg_flags |= RTF_GATEWAY;
	if (ioctl(socket_of, SIOCADDRT, &route))
		fail("IPv6 route over", order->rest);
	close(socket_of);
}

void load_module(const void *message)
{
	const char *name = ((const struct order_module *)message)->rest;
	char path[128];
	int file;

	snprintf(path, sizeof path, "/modules/%s.ko", name);
	file = open(path, O_RDONLY);
	if (file < 0 || syscall(SYS_finit_module, file, "", 0))
		fail("module", name);
	if (file >= 0)
		close(file);
}
