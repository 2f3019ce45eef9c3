/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Linux's Wi-Fi: a station joins an ad hoc network (IBSS) or a mesh (802.11s) through nl80211.
 */
#define _GNU_SOURCE
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/nl80211.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"

/* The name of the network, and the identifier of an ad hoc network: nobody has to look for it. */
static const char network[] = "hopyard";
static const uint8_t bssid[6] = { 0x06, 0, 0, 0, 0, 0 };

/* The element HT Capabilities (IEEE Std 802.11-2016 9.4.2.56), of which no header for programs has a form. */
struct ieee80211_ht_cap {
	uint16_t cap_info;
	uint8_t ampdu_params;
	/* A byte for each number of streams; ten bytes are modes that can be received. */
	uint8_t mcs[10];
	uint8_t mcs_rest[6];
	uint16_t extended;
	uint32_t beamforming;
	uint8_t antennas;
} __attribute__((packed));

#define CAP_SHORT_GUARD_20 0x0020

static void set_number(struct nlmsghdr *message, int type, uint32_t value)
{
	attribute(message, type, &value, sizeof value);
}

/* What the station can do with 802.11n on 20 MHz. Everything else of the driver stays as it is. */
static void set_ht(struct nlmsghdr *message, int streams, int has_short_guard)
{
	struct ieee80211_ht_cap can = { 0 }, counts = { 0 };

	can.cap_info = has_short_guard ? CAP_SHORT_GUARD_20 : 0;
	counts.cap_info = CAP_SHORT_GUARD_20;
	memset(can.mcs, 0xff, streams);
	memset(counts.mcs, 0xff, sizeof counts.mcs);
	set_number(message, NL80211_ATTR_WIPHY_CHANNEL_TYPE, NL80211_CHAN_HT20);
	attribute(message, NL80211_ATTR_HT_CAPABILITY, &can, sizeof can);
	attribute(message, NL80211_ATTR_HT_CAPABILITY_MASK, &counts, sizeof counts);
}

void set_wifi(const void *of)
{
	const struct order_wifi *order = of;
	const char *device = order->rest;
	char buffer[512] __attribute__((aligned(8)));
	struct nlmsghdr *message = (struct nlmsghdr *)buffer;
	int route = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), generic = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	int family = family_of(generic, NL80211_GENL_NAME), index = if_nametoindex(device);
	struct nlattr *nest;
	/* The rates are in units of 500 kb/s, each a byte. */
	uint8_t basic[8], *end = basic;

	begin_link(message, 0, index);
	attribute(message, IFLA_ADDRESS, &order->mac, 6);
	exchange(route, message, 0, device);

	begin_generic(message, family, NL80211_CMD_SET_INTERFACE, 0);
	set_number(message, NL80211_ATTR_IFINDEX, index);
	set_number(message, NL80211_ATTR_IFTYPE, order->mesh ? NL80211_IFTYPE_MESH_POINT : NL80211_IFTYPE_ADHOC);
	exchange(generic, message, 0, "kind of station");
	bring_up(device);

	begin_generic(message, family, order->mesh ? NL80211_CMD_JOIN_MESH : NL80211_CMD_JOIN_IBSS, 0);
	set_number(message, NL80211_ATTR_IFINDEX, index);
	set_number(message, NL80211_ATTR_WIPHY_FREQ, order->frequency);
	set_number(message, NL80211_ATTR_BEACON_INTERVAL, order->beacon);
	set_number(message, NL80211_ATTR_MCAST_RATE, order->group_rate);
	for (uint64_t rates = order->basic; rates; rates >>= 8)
		*end++ = rates;
	attribute(message, NL80211_ATTR_BSS_BASIC_RATES, basic, end - basic);
	if (order->streams)
		set_ht(message, order->streams, order->short_guard);
	if (order->mesh) {
		uint8_t forwards = order->mesh == 2;

		attribute(message, NL80211_ATTR_MESH_ID, network, sizeof network - 1);
		nest = attribute(message, NL80211_ATTR_MESH_CONFIG | NLA_F_NESTED, NULL, 0);
		attribute(message, NL80211_MESHCONF_FORWARDING, &forwards, sizeof forwards);
		end_nest(message, nest);
	} else {
		attribute(message, NL80211_ATTR_SSID, network, sizeof network - 1);
		attribute(message, NL80211_ATTR_MAC, bssid, sizeof bssid);
		attribute(message, NL80211_ATTR_FREQ_FIXED, NULL, 0);
	}
	exchange(generic, message, 0, order->mesh ? "joining the mesh" : "joining the ad hoc network");
	close(generic);
	close(route);
}
