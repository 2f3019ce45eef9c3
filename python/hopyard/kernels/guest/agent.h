/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the parts of the agent have in common.
 */
#include <netinet/in.h>

#define BILLION 1000000000ll
#define MILLISECOND 1000000ll

/* What a thread is to do: the words of an order. */
struct role {
	char address[16], variant[16];
	int port, own_port, count, mss, writes;
	long long start, stop, bytes, chunk, interval;
};

/* common.c */
long long now(void);
void sleep_until(long long at);
void fail(const char *what, const char *name);
void start(void *(*role)(void *), void *argument);
struct sockaddr_in internet(const char *address, int port);

/* network.c */
void write_file(const char *path, const char *value);
void set_address(const char *device, const char *address, int prefix);
void set_mtu(const char *device, int bytes);
void set_route(const char *address, int prefix, char *device);
void load_module(const char *name);

/* mptcp.c */
void set_endpoint(const char *address, const char *device);

/* flow.c */
void *sink(void *argument);
void *source(void *argument);

/* sample.c */
/* The words of a report about a socket's timeouts; none if the kernel does not count them. */
struct words {
	char text[24];
};
struct words timeouts_of(const void *info, unsigned length);
void report_counters(long long at);
void *sample(void *argument);

/* program.c */
void set_root(const char *name);
void show(const char *folder);
void *program(void *argument);
void *finish(void *argument);

/* trial.c */
void *ping(void *argument);
void *spin(void *argument);
void *crash(void *argument);
