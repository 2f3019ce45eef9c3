/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The messages between the simulation and the agent, as `agent.rs` of the crate `kernels` declares and explains them; a
 * test compares both. A message begins with a head. Texts, with a zero at the end, and lists follow the other fields.
 */
#include <netinet/in.h>
#include <stdint.h>

/* The length of the whole message, its kind, and the time of a report. */
struct head {
	uint32_t length, kind;
	int64_t at;
} __attribute__((packed));

#define MESSAGE(name, number, ...) \
	enum { name = number }; \
	struct name { \
		struct head head; \
		__VA_ARGS__ \
	} __attribute__((packed))

MESSAGE(order_sysctl, 1, char rest[] /* path, value */;);
MESSAGE(order_mtu, 2, uint32_t bytes; char rest[] /* device */;);
MESSAGE(order_address, 3, struct in_addr address; uint32_t prefix, arp; char rest[] /* device */;);
MESSAGE(order_route, 4, struct in_addr address; uint32_t prefix; char rest[] /* device */;);
MESSAGE(order_module, 5, char rest[] /* name */;);
MESSAGE(order_mptcp, 6, struct in_addr address; char rest[] /* device */;);
MESSAGE(order_sample, 7, int64_t interval, from, to;);
MESSAGE(order_sink, 8, uint16_t port; uint32_t mss;);
MESSAGE(order_source, 9, struct in_addr to; uint16_t port, own_port; uint32_t mss, chunk; int64_t start, bytes, stop; char rest[] /* variant, writes */;);
MESSAGE(order_root, 10, char rest[] /* name */;);
MESSAGE(order_show, 11, char rest[] /* folder */;);
MESSAGE(order_program, 12, uint32_t number; int64_t start; uint32_t arguments; char rest[] /* texts */;);
MESSAGE(order_end, 13, int64_t start;);
MESSAGE(order_ping, 14, struct in_addr to; int64_t start; uint32_t count;);
MESSAGE(order_spin, 15, int64_t start;);
MESSAGE(order_crash, 16, int64_t start;);
MESSAGE(order_up, 17, char rest[] /* device */;);
MESSAGE(order_address6, 18, struct in6_addr address; uint32_t prefix; char rest[] /* device */;);
MESSAGE(order_mesh, 19, uint64_t mac; char rest[] /* mesh, device, algorithm */;);
MESSAGE(order_routes, 20, int64_t start;);
MESSAGE(order_via, 21, struct in_addr address, router; char rest[] /* device */;);
MESSAGE(order_originators, 22, int64_t interval; char rest[] /* mesh */;);
MESSAGE(order_route6, 23, struct in6_addr address, router; char rest[] /* device */;);
MESSAGE(order_wifi, 24, uint64_t mac, basic; uint32_t mesh, frequency, beacon, group_rate, streams, short_guard; char rest[] /* device */;);

MESSAGE(report_ready, 1, char rest[] /* release */;);
MESSAGE(report_failed, 2, int32_t number; char rest[] /* place, value */;);
MESSAGE(report_accepted, 3, uint16_t port;);
MESSAGE(report_received, 4, uint16_t port; uint64_t bytes; int64_t last;);
MESSAGE(report_connected, 5, uint16_t port; int64_t timeouts;);
MESSAGE(report_sent, 6, uint16_t port; uint32_t retransmissions; int64_t timeouts;);
MESSAGE(report_broken, 7, uint16_t port; int32_t number;);
MESSAGE(report_counters, 8, uint64_t timeouts, fast;);
MESSAGE(report_socket, 9, uint16_t port, peer; uint32_t state, cwnd, ssthresh, srtt, rto, unacknowledged, retransmissions; int64_t timeouts;);
MESSAGE(report_began, 10, uint32_t program;);
MESSAGE(report_output, 11, uint32_t program, stream; char rest[] /* bytes */;);
MESSAGE(report_ended, 12, uint32_t program; int32_t status, signal;);
MESSAGE(report_answer, 13, uint32_t number; int64_t after;);
MESSAGE(report_route, 14, uint32_t added, size, prefix, metric, protocol; char rest[] /* addresses */;);
