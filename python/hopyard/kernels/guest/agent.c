/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The first process of a guest kernel: sets up its network, runs the ends of flows, and samples its sockets.
 *
 * It reads its orders from the file /orders, one on each line:
 *
 *   address DEVICE ADDRESS PREFIX          an IPv4 address of a device, which is then up; without ARP: frames are for us
 *   route ADDRESS PREFIX DEVICE            a device reaches these addresses without a router; 0.0.0.0 0: all
 *   mtu DEVICE BYTES                       the longest packet of a device
 *   sysctl PATH VALUE                      writes /proc/sys/PATH
 *   sample NANOSECONDS [FROM END]          how often the TCP sockets are reported, from time zero on; 0: never; and at
 *                                          the begin and the end of what is measured
 *   sink PORT [MSS]                        receives on a port, from as many connections as come
 *   source ADDRESS PORT OWN_PORT VARIANT START BYTES CHUNK MSS [STOP [WRITES]]
 *                                          sends BYTES (0: without end) from the time START on, in pieces of CHUNK; the
 *                                          largest segment has MSS bytes, options included (0: as the device allows);
 *                                          writes nothing from STOP on (0: never); with WRITES 1 it writes what the
 *                                          file /writes-OWN_PORT says: on each line a time and a number of bytes
 *   module NAME                            loads the module /modules/NAME.ko
 *   mptcp ADDRESS DEVICE                   MPTCP announces this address of the device, and uses it
 *   root NAME                              the machine's file system, read-only, is at /host from now on; NAME is the host's
 *   show FOLDER                            a folder of the machine that a temporary file system hides there is seen again
 *   program NUMBER START                   runs /program-NUMBER in /host from START on, and reports its output and its end
 *   end TIME                               programs are asked to end 2 ms before this time, and are killed 1 ms before it
 *   ping ADDRESS START COUNT               sends COUNT echo requests, a second apart
 *   spin START                             computes without end from START on (for tests of the watchdog)
 *   crash START                            ends the kernel at START (for tests)
 *
 * It reports on standard output, each report a line of words that begins with "@". Times are nanoseconds of simulated
 * time. Each role is a thread: threads share one memory, which costs the machine one process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent.h"

static void order(const char *line)
{
	char device[IFNAMSIZ], path[128], value[112], file[128];
	struct role *role = calloc(1, sizeof *role);
	int number;

	if (sscanf(line, "address %15s %15s %d", device, value, &number) == 3)
		set_address(device, value, number);
	else if (sscanf(line, "route %15s %d %15s", value, &number, device) == 3)
		set_route(value, number, device);
	else if (sscanf(line, "mtu %15s %d", device, &number) == 2)
		set_mtu(device, number);
	else if (sscanf(line, "sysctl %111s %127[^\n]", value, path) == 2) {
		snprintf(file, sizeof file, "/proc/sys/%s", value);
		write_file(file, path);
	} else if (sscanf(line, "sample %lld %lld %lld", &role->interval, &role->start, &role->stop) >= 1) {
		if (role->interval > 0)
			start(sample, role);
	} else if (sscanf(line, "sink %d %d", &role->port, &role->mss) >= 1)
		start(sink, role);
	else if (sscanf(line, "source %15s %d %d %15s %lld %lld %lld %d %lld %d", role->address, &role->port, &role->own_port,
			role->variant, &role->start, &role->bytes, &role->chunk, &role->mss, &role->stop, &role->writes) >= 8 && role->chunk > 0)
		start(source, role);
	else if (sscanf(line, "module %111s", value) == 1)
		load_module(value);
	else if (sscanf(line, "mptcp %15s %15s", value, device) == 2)
		set_endpoint(value, device);
	else if (sscanf(line, "root %111s", value) == 1)
		set_root(value);
	else if (!strncmp(line, "show ", 5))
		show(line + 5);
	else if (sscanf(line, "program %d %lld", &role->count, &role->start) == 2)
		start(program, role);
	else if (sscanf(line, "end %lld", &role->start) == 1)
		start(finish, role);
	else if (sscanf(line, "ping %15s %lld %d", role->address, &role->start, &role->count) == 3)
		start(ping, role);
	else if (sscanf(line, "spin %lld", &role->start) == 1)
		start(spin, role);
	else if (sscanf(line, "crash %lld", &role->start) == 1)
		start(crash, role);
	else {
		errno = EINVAL;
		fail("order", line);
	}
}

int main(void)
{
	char line[4200];
	FILE *orders;
	int console;

	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	console = open("/dev/console", O_RDWR);
	if (console >= 0) {
		dup2(console, 0);
		dup2(console, 1);
		dup2(console, 2);
	}
	setvbuf(stdout, NULL, _IOLBF, 4096);
	/* Threads wake up when they want to, and not up to 50 microseconds later. */
	prctl(PR_SET_TIMERSLACK, 1);
	set_address("lo", "127.0.0.1", 8);
	orders = fopen("/orders", "r");
	if (!orders)
		fail("orders", "/orders");
	while (orders && fgets(line, sizeof line, orders)) {
		line[strcspn(line, "\n")] = 0;
		if (*line)
			order(line);
	}
	printf("@ready %lld\n", now());
	for (;;)
		pause();
}
