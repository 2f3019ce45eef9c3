/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The messages between the simulation and the agent, as `agent.rs` of the crate `kernels` declares them; a test compares
 * both. A message begins with a head. What has no length of its own, texts with a zero at the end and lists, follows the
 * other fields.
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

/* Writes a value to a file below /proc/sys. */
MESSAGE(order_sysctl, 1, char rest[] /* path, value */;);
/* The longest packet of a device. */
MESSAGE(order_mtu, 2, uint32_t bytes; char rest[] /* device */;);
/* An IPv4 address of a device, which is then up; without ARP: frames are for us. */
MESSAGE(order_address, 3, struct in_addr address; uint32_t prefix; char rest[] /* device */;);
/* A device reaches these addresses without a router; prefix 0: all. */
MESSAGE(order_route, 4, struct in_addr address; uint32_t prefix; char rest[] /* device */;);
/* Loads the module /modules/NAME.ko. */
MESSAGE(order_module, 5, char rest[] /* name */;);
/* MPTCP announces this address of the device, and uses it. */
MESSAGE(order_mptcp, 6, struct in_addr address; char rest[] /* device */;);
/* The TCP sockets are reported at each multiple of an interval, and at two further times. */
MESSAGE(order_sample, 7, int64_t interval, from, to;);
/* Receives on a port, from as many connections as come. The largest segment has `mss` bytes, options included;
 * 0: as the device allows. */
MESSAGE(order_sink, 8, uint16_t port; uint32_t mss;);
/* Sends a number of bytes (none: without end) in pieces of `chunk`, and nothing from `stop` on. With writes it
 * writes these numbers of bytes at these times instead. */
MESSAGE(order_source, 9, struct in_addr to; uint16_t port, own_port; uint32_t mss, chunk; int64_t start, bytes, stop; char rest[] /* variant, writes */;);
/* The machine's file system, read-only, is at /host from now on. The host has this name. */
MESSAGE(order_root, 10, char rest[] /* name */;);
/* A folder of the machine that a temporary file system hides in /host is seen again. */
MESSAGE(order_show, 11, char rest[] /* folder */;);
/* Runs a program in /host, and reports its output and its end. The texts are its folder, its path, its
 * arguments, and its environment. */
MESSAGE(order_program, 12, uint32_t number; int64_t start; uint32_t arguments; char rest[] /* texts */;);
/* Programs are asked to end 2 ms before this time, and are killed 1 ms before it. */
MESSAGE(order_end, 13, int64_t start;);
/* Sends echo requests, a second apart (for tests). */
MESSAGE(order_ping, 14, struct in_addr to; int64_t start; uint32_t count;);
/* Computes without end (for tests of the watchdog). */
MESSAGE(order_spin, 15, int64_t start;);
/* Ends the kernel (for tests). */
MESSAGE(order_crash, 16, int64_t start;);
/* All orders are carried out or begun. The kernel calls itself so. */
MESSAGE(report_ready, 1, char rest[] /* release */;);
/* Something failed, with this error number of Linux. */
MESSAGE(report_error, 2, int32_t number; char rest[] /* place, value */;);
/* A connection was accepted. */
MESSAGE(report_accepted, 3, uint16_t port;);
/* A connection has ended, and its last byte has come at this time. */
MESSAGE(report_received, 4, uint16_t port; uint64_t bytes; int64_t last;);
/* The connection of a source is open. The timeouts of its socket follow, where the kernel counts them. */
MESSAGE(report_connected, 5, uint16_t port; int64_t timeouts;);
/* The other side has acknowledged everything that a source has sent. */
MESSAGE(report_sent, 6, uint16_t port; uint32_t retransmissions; int64_t timeouts;);
/* A connection was given up, with this error number of Linux. */
MESSAGE(report_broken, 7, uint16_t port; int32_t number;);
/* Timeouts and fast retransmits of all sockets of the kernel. */
MESSAGE(report_counters, 8, uint64_t timeouts, fast;);
/* The state of a socket, as the kernel counts: windows in segments, times in microseconds. */
MESSAGE(report_socket, 9, uint16_t port, peer; uint32_t state, cwnd, ssthresh, srtt, rto, unacknowledged, retransmissions; int64_t timeouts;);
/* A program has begun. */
MESSAGE(report_began, 10, uint32_t program;);
/* A piece of what a program has written to its standard output (1) or its standard error (2). */
MESSAGE(report_output, 11, uint32_t program, stream; char rest[] /* bytes */;);
/* A program has ended, with this status or by this signal. */
MESSAGE(report_ended, 12, uint32_t program; int32_t status, signal;);
/* The answer to an echo request has come after a time, or has not. */
MESSAGE(report_answer, 13, uint32_t number; int64_t after;);
