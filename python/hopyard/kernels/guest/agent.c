/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The first process of a guest kernel: sets up its network, runs the ends of flows, and samples its sockets.
 *
 * It reads its orders from the file /orders, and writes reports: `messages.h` has both. Times are nanoseconds of simulated
 * time. The console is for people. Each role is a thread: threads share one memory, which costs the machine one process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent.h"

static void carry_out(const struct head *head)
{
	const void *order = head;

	switch (head->kind) {
	case order_sysctl:
		return set_sysctl(order);
	case order_mtu:
		return set_mtu(order);
	case order_address: {
		const struct order_address *it = order;

		return set_address(it->rest, it->address, it->prefix);
	}
	case order_route:
		return set_route(order);
	case order_module:
		return load_module(((const struct order_module *)order)->rest);
	case order_mptcp:
		return set_endpoint(order);
	case order_sample:
		return start(sample, order);
	case order_sink:
		return start(sink, order);
	case order_source:
		return start(source, order);
	case order_root:
		return set_root(((const struct order_root *)order)->rest);
	case order_show:
		return show(((const struct order_show *)order)->rest);
	case order_program:
		return start(program, order);
	case order_end:
		return start(finish, order);
	case order_ping:
		return start(ping, order);
	case order_spin:
		return start(spin, order);
	case order_crash:
		return start(crash, order);
	}
	errno = EINVAL;
	fail("order", "of an unknown kind");
}

int main(void)
{
	int console, orders = open("/orders", O_RDONLY);
	struct stat found = { 0 };
	struct utsname kernel;
	char *next, *end;

	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	console = open("/dev/console", O_RDWR);
	if (console >= 0) {
		dup2(console, 0);
		dup2(console, 1);
		dup2(console, 2);
	}
	open_channel();
	/* Threads wake up when they want to, and not up to 50 microseconds later. */
	prctl(PR_SET_TIMERSLACK, 1);
	set_address("lo", (struct in_addr){ htonl(INADDR_LOOPBACK) }, 8);
	/* Orders stay where they are: roles read them. */
	fstat(orders, &found);
	next = malloc(found.st_size);
	end = next + found.st_size;
	if (orders < 0 || read(orders, next, found.st_size) != found.st_size)
		fail("orders", "/orders");
	for (; next < end; next += ((struct head *)next)->length)
		carry_out((struct head *)next);
	uname(&kernel);
	REPORT(report_ready, kernel.release, strlen(kernel.release) + 1, now());
	for (;;)
		pause();
}
