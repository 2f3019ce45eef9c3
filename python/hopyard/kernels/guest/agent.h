/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the parts of the agent have in common.
 */
#include <linux/netlink.h>
#include <netinet/in.h>

#include "messages.h"

#define BILLION 1000000000ll
#define MILLISECOND 1000000ll

/* Reports a message with these fields, and with bytes after them. */
#define REPORT(name, rest, length, time, ...) \
	report(&(struct name){ .head = { .kind = name, .at = time }, __VA_ARGS__ }, sizeof(struct name), rest, length)

/* common.c */
long long now(void);
void sleep_until(long long at);
void open_channel(void);
/* Reports that something failed, with `errno`. */
void fail(const char *place, const char *value);
void report(void *message, size_t fixed, const void *rest, size_t length);
void start(void *(*role)(void *), const void *argument);
struct sockaddr_in internet(struct in_addr address, int port);

/* network.c */
void set_sysctl(const void *message);
void set_address(const void *message);
void set_mtu(const void *message);
void set_route(const void *message);
void load_module(const void *message);
void set_up(const void *message);
void bring_up(const char *device);
void set_address6(const void *message);
void set_via(const void *message);
void set_route6(const void *message);

/* netlink.c */
void *attribute(struct nlmsghdr *message, int type, const void *content, int length);
/* Begins a message about a network device, by its number or, for a new one, 0. */
void begin_link(struct nlmsghdr *message, int flags, int index);
void end_nest(struct nlmsghdr *message, struct nlattr *nest);
void begin_generic(struct nlmsghdr *message, int family, int command, int version);
int exchange(int netlink, struct nlmsghdr *message, int type, const char *what);
int family_of(int generic, const char *name);

/* mesh.c */
void set_mesh(const void *message);
void *originators(void *argument);

/* wifi.c */
void set_wifi(const void *message);

/* routes.c */
void watch_routes(const void *message);

/* mptcp.c */
void set_endpoint(const void *message);

/* flow.c */
void *sink(void *argument);
void *source(void *argument);

/* sample.c */
/* The timeouts of a socket; -1 if the kernel does not count them. */
long long timeouts_of(const void *info, unsigned length);
void tell_counters(long long at);
void *sample(void *argument);

/* program.c */
void set_root(const void *message);
void show(const void *message);
void *program(void *argument);
void *finish(void *argument);

/* trial.c */
void *ping(void *argument);
void *spin(void *argument);
void *crash(void *argument);
