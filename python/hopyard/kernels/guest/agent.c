/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The first process of a guest kernel: sets up its network, runs the ends of flows, and samples its sockets.
 *
 * It reads its orders from the file /orders, and writes reports: `messages.h` has both. Times are nanoseconds of
 * simulated time. The console is for people. Each role is a thread: threads share one memory, which costs the machine
 * one process.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent.h"

/* What an order sets. */
static void (*const settings[])(const void *) = {
	[order_sysctl] = set_sysctl, [order_mtu] = set_mtu, [order_address] = set_address, [order_route] = set_route,
	[order_module] = load_module, [order_mptcp] = set_endpoint, [order_root] = set_root, [order_show] = show,
	[order_up] = set_up, [order_address6] = set_address6, [order_mesh] = set_mesh, [order_routes] = watch_routes,
	[order_via] = set_via, [order_route6] = set_route6, [order_wifi] = set_wifi,
};
/* What it begins. */
static void *(*const roles[])(void *) = {
	[order_sample] = sample, [order_sink] = sink, [order_source] = source, [order_program] = program,
	[order_end] = finish, [order_ping] = ping, [order_spin] = spin, [order_crash] = crash,
	[order_originators] = originators,
};

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
	/* Orders stay where they are: roles read them. */
	fstat(orders, &found);
	next = malloc(found.st_size);
	end = next + found.st_size;
	if (orders < 0 || read(orders, next, found.st_size) != found.st_size)
		fail("orders", "/orders");
	for (; next < end; next += ((struct head *)next)->length) {
		unsigned kind = ((struct head *)next)->kind;

		if (kind < sizeof settings / sizeof *settings && settings[kind])
			settings[kind](next);
		else
			start(roles[kind], next);
	}
	uname(&kernel);
	REPORT(report_ready, kernel.release, strlen(kernel.release) + 1, now());
	for (;;)
		pause();
}
