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
 *   sample NANOSECONDS                     how often the TCP sockets are reported, from time zero on; 0: never
 *   sink PORT                              receives on a port, from as many connections as come
 *   source ADDRESS PORT OWN_PORT VARIANT START BYTES CHUNK MSS
 *                                          sends BYTES (0: without end) from the time START on, in pieces of CHUNK; the
 *                                          largest segment has MSS bytes, options included (0: as the device allows)
 *   module NAME                            loads the module /NAME.ko
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
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/inet_diag.h>
#include <linux/mptcp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BILLION 1000000000ll
/* The stack of a thread: its buffers are static or allocated. */
#define STACK (64 * 1024)
#define MILLISECOND 1000000ll
/* How many programs a node can have, and how many bytes of their output a report has. */
#define PROGRAMS 256
#define CHUNK 512

struct role {
	char address[16], variant[16];
	int port, own_port, count, mss;
	long long start, bytes, chunk, interval;
};

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * BILLION + time.tv_nsec;
}

static void sleep_until(long long at)
{
	struct timespec time = { at / BILLION, at % BILLION };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static void fail(const char *what, const char *name)
{
	printf("@error %lld %s %s: %s\n", now(), what, name, strerror(errno));
}

static void write_file(const char *path, const char *value)
{
	int file = open(path, O_WRONLY);

	if (file < 0 || write(file, value, strlen(value)) < 0)
		fail("sysctl", path);
	if (file >= 0)
		close(file);
}

static struct sockaddr_in internet(const char *address, int port)
{
	struct sockaddr_in found = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (!inet_aton(address, &found.sin_addr)) {
		errno = EINVAL;
		fail("address", address);
	}
	return found;
}

static void set_address(const char *device, const char *address, int prefix)
{
	int socket_of = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in name = internet(address, 0);
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, IFNAMSIZ, "%s", device);
	memcpy(&request.ifr_addr, &name, sizeof name);
	if (ioctl(socket_of, SIOCSIFADDR, &request))
		fail("address of", device);
	name.sin_addr.s_addr = htonl(prefix ? ~0u << (32 - prefix) : 0);
	memcpy(&request.ifr_netmask, &name, sizeof name);
	if (ioctl(socket_of, SIOCSIFNETMASK, &request))
		fail("prefix of", device);
	ioctl(socket_of, SIOCGIFFLAGS, &request);
	/* The simulated network finds the receiver by its IP address. */
	request.ifr_flags |= IFF_UP | (strcmp(device, "lo") ? IFF_NOARP : 0);
	if (ioctl(socket_of, SIOCSIFFLAGS, &request))
		fail("bringing up", device);
	close(socket_of);
}

static void set_mtu(const char *device, int bytes)
{
	int socket_of = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, IFNAMSIZ, "%s", device);
	request.ifr_mtu = bytes;
	if (ioctl(socket_of, SIOCSIFMTU, &request))
		fail("mtu of", device);
	close(socket_of);
}

static void set_route(const char *address, int prefix, char *device)
{
	int socket_of = socket(AF_INET, SOCK_DGRAM, 0);
	struct rtentry route = { .rt_dev = device, .rt_flags = RTF_UP };
	struct sockaddr_in name = internet(address, 0);

	memcpy(&route.rt_dst, &name, sizeof name);
	name.sin_addr.s_addr = htonl(prefix ? ~0u << (32 - prefix) : 0);
	memcpy(&route.rt_genmask, &name, sizeof name);
	if (ioctl(socket_of, SIOCADDRT, &route))
		fail("route over", device);
	close(socket_of);
}

static void *receive(void *argument)
{
	long long bytes = 0, last = 0;
	int *descriptors = argument, port = descriptors[0], connection = descriptors[1];
	char *buffer = malloc(65536);
	ssize_t count;

	printf("@accepted %lld %d\n", now(), port);
	while ((count = read(connection, buffer, 65536)) > 0) {
		bytes += count;
		last = now();
	}
	if (count < 0)
		printf("@broken %lld %d errno %d\n", now(), port, errno);
	/* When the connection was closed, and when the last byte came. */
	printf("@received %lld %d %lld last %lld\n", now(), port, bytes, last);
	close(connection);
	free(buffer);
	free(descriptors);
	return NULL;
}

static void start(void *(*role)(void *), void *argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if ((errno = pthread_create(&thread, &attributes, role, argument)))
		fail("thread", "");
	pthread_attr_destroy(&attributes);
}

static void *sink(void *argument)
{
	struct role *role = argument;
	struct sockaddr_in name = internet("0.0.0.0", role->port);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, (struct sockaddr *)&name, sizeof name) || listen(listener, 16))
		fail("sink", "");
	for (;;) {
		int *descriptors = malloc(2 * sizeof *descriptors);

		descriptors[0] = role->port;
		descriptors[1] = accept(listener, NULL, NULL);
		if (descriptors[1] < 0) {
			fail("accept", "");
			return NULL;
		}
		start(receive, descriptors);
	}
}

static void *source(void *argument)
{
	struct role *role = argument;
	struct sockaddr_in own = internet("0.0.0.0", role->own_port), peer = internet(role->address, role->port);
	int connection = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	long long left = role->bytes;
	char *buffer = calloc(1, role->chunk);
	struct tcp_info info = { 0 };
	socklen_t length = sizeof info;

	setsockopt(connection, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (setsockopt(connection, IPPROTO_TCP, TCP_CONGESTION, role->variant, strlen(role->variant)))
		fail("variant", role->variant);
	if (role->mss && setsockopt(connection, IPPROTO_TCP, TCP_MAXSEG, &role->mss, sizeof role->mss))
		fail("mss", "");
	if (bind(connection, (struct sockaddr *)&own, sizeof own))
		fail("bind", "");
	sleep_until(role->start);
	if (connect(connection, (struct sockaddr *)&peer, sizeof peer)) {
		printf("@broken %lld %d errno %d\n", now(), role->own_port, errno);
		return NULL;
	}
	printf("@connected %lld %d\n", now(), role->own_port);
	while (!role->bytes || left > 0) {
		long long piece = role->bytes && left < role->chunk ? left : role->chunk;
		ssize_t count = write(connection, buffer, piece);

		if (count <= 0) {
			printf("@broken %lld %d errno %d\n", now(), role->own_port, errno);
			return NULL;
		}
		left -= count;
	}
	/* The last byte is acknowledged when the other side has closed too. */
	shutdown(connection, SHUT_WR);
	while (read(connection, buffer, role->chunk) > 0)
		;
	getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &length);
	printf("@sent %lld %d retransmissions %u\n", now(), role->own_port, info.tcpi_total_retrans);
	close(connection);
	return NULL;
}

static uint16_t checksum(const void *bytes, int length)
{
	const uint16_t *word = bytes;
	uint32_t sum = 0;

	for (; length > 1; length -= 2)
		sum += *word++;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static void *ping(void *argument)
{
	struct role *role = argument;
	struct sockaddr_in peer = internet(role->address, 0);
	struct timeval patience = { 1, 0 };
	int raw = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);

	setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	for (int i = 0; i < role->count; i++) {
		char request[64] = { 0 }, answer[256];
		struct icmphdr *header = (struct icmphdr *)request;
		long long began;
		ssize_t count;

		sleep_until(role->start + i * BILLION);
		header->type = ICMP_ECHO;
		header->un.echo.id = htons(1);
		header->un.echo.sequence = htons(i);
		header->checksum = checksum(request, sizeof request);
		began = now();
		if (sendto(raw, request, sizeof request, 0, (struct sockaddr *)&peer, sizeof peer) < 0)
			fail("ping", role->address);
		do
			count = recv(raw, answer, sizeof answer, 0);
		while (count >= 28 && answer[20] != ICMP_ECHOREPLY);
		if (count < 0)
			printf("@ping %lld %d lost\n", now(), i);
		else
			printf("@ping %lld %d %lld\n", now(), i, now() - began);
	}
	close(raw);
	return NULL;
}

/* One report for a socket: times in microseconds, windows in segments of `mss` bytes, as the kernel counts them. */
static void report(long long at, const struct inet_diag_msg *socket_of, int length)
{
	const struct rtattr *attribute = (const struct rtattr *)(socket_of + 1);
	struct tcp_info info;

	for (; RTA_OK(attribute, length); attribute = RTA_NEXT(attribute, length)) {
		size_t size = RTA_PAYLOAD(attribute);

		if (attribute->rta_type != INET_DIAG_INFO)
			continue;
		memset(&info, 0, sizeof info);
		memcpy(&info, RTA_DATA(attribute), size < sizeof info ? size : sizeof info);
		printf("@tcp %lld %u %u %u cwnd %u ssthresh %u mss %u srtt %u rttvar %u rto %u unacked %u sacked %u lost %u "
		       "retransmissions %u acked %llu received %llu pacing %llu\n",
		       at, ntohs(socket_of->id.idiag_sport), ntohs(socket_of->id.idiag_dport), info.tcpi_ca_state,
		       info.tcpi_snd_cwnd, info.tcpi_snd_ssthresh, info.tcpi_snd_mss, info.tcpi_rtt, info.tcpi_rttvar,
		       info.tcpi_rto, info.tcpi_unacked, info.tcpi_sacked, info.tcpi_lost, info.tcpi_total_retrans,
		       (unsigned long long)info.tcpi_bytes_acked, (unsigned long long)info.tcpi_bytes_received,
		       (unsigned long long)info.tcpi_pacing_rate);
	}
}

/* A counter of the kernel's TCP, by its name in /proc/net/netstat: a line of names and a line of values. */
static long long counter(const char *text, const char *name)
{
	const char *names = strstr(text, "TcpExt: "), *values = names ? strstr(names + 1, "TcpExt: ") : NULL;
	char word[64];
	int length;

	while (names && values && sscanf(names, "%63s%n", word, &length) == 1) {
		long long value;
		int of_value;

		names += length;
		if (!strcmp(word, name))
			return sscanf(values, "%lld", &value) == 1 ? value : -1;
		if (sscanf(values, "%*s%n", &of_value) != 0)
			break;
		values += of_value;
	}
	return -1;
}

/* Reports how many timeouts and fast retransmits the kernel's sockets had, if there are more than before. */
static void report_counters(long long at)
{
	static char text[16384];
	static long long before = -1;
	int file = open("/proc/net/netstat", O_RDONLY);
	ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);

	if (file >= 0)
		close(file);
	if (length > 0) {
		long long timeouts, fast;

		text[length] = 0;
		timeouts = counter(text, "TCPTimeouts");
		/* How often fast recovery began, with and without SACK. */
		fast = counter(text, "TCPSackRecovery") + counter(text, "TCPRenoRecovery");
		if (timeouts + fast != before)
			printf("@counters %lld timeouts %lld fast %lld\n", at, timeouts, fast);
		before = timeouts + fast;
	}
}

/* Reports all TCP sockets that send or receive, at each multiple of the interval. */
static void *sample(void *argument)
{
	struct role *role = argument;
	int diagnosis = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG);
	char *buffer = malloc(32768);
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} ask = {
		.header = { .nlmsg_len = sizeof ask, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		/* Established, and the states of closing (the kernel's include/net/tcp_states.h): all but LISTEN and TIME_WAIT. */
		.request = { .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_ext = 1 << (INET_DIAG_INFO - 1),
			     .idiag_states = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11 },
	};

	for (long long at = role->interval;; at += role->interval) {
		int more = 1;

		sleep_until(at);
		report_counters(at);
		if (send(diagnosis, &ask, sizeof ask, 0) < 0) {
			fail("sample", "");
			return NULL;
		}
		while (more) {
			int length = recv(diagnosis, buffer, 32768, 0);
			struct nlmsghdr *message = (struct nlmsghdr *)buffer;

			if (length <= 0) {
				fail("sample", "");
				return NULL;
			}
			for (; NLMSG_OK(message, length); message = NLMSG_NEXT(message, length)) {
				if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
					more = 0;
				else
					report(at, NLMSG_DATA(message), message->nlmsg_len - NLMSG_LENGTH(sizeof(struct inet_diag_msg)));
			}
		}
	}
}

static void load_module(const char *name)
{
	char path[128];
	int file;

	snprintf(path, sizeof path, "/%s.ko", name);
	file = open(path, O_RDONLY);
	if (file < 0 || syscall(SYS_finit_module, file, "", 0))
		fail("module", name);
	if (file >= 0)
		close(file);
}

/* Adds an attribute to a message, and returns where its content is. */
static void *attribute(struct nlmsghdr *message, int type, const void *content, int length)
{
	struct nlattr *added = (void *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));

	added->nla_type = type;
	added->nla_len = NLA_HDRLEN + length;
	if (length)
		memcpy((char *)added + NLA_HDRLEN, content, length);
	message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + NLA_ALIGN(added->nla_len);
	return added;
}

/* Begins a message of generic netlink. */
static void begin(struct nlmsghdr *message, int family, int command, int version)
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
static int exchange(int generic, struct nlmsghdr *message, int type, const char *what)
{
	char buffer[4096];
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

/* MPTCP announces an address, and takes up to eight addresses and subflows. */
static void set_endpoint(const char *address, const char *device)
{
	char buffer[512] __attribute__((aligned(8)));
	struct nlmsghdr *message = (struct nlmsghdr *)buffer;
	struct in_addr name = internet(address, 0).sin_addr;
	int generic = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), family, index = if_nametoindex(device);
	uint32_t limit = 8, flags = MPTCP_PM_ADDR_FLAG_SIGNAL;
	uint16_t internet_family = AF_INET;
	struct nlattr *nest;

	begin(message, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	attribute(message, CTRL_ATTR_FAMILY_NAME, MPTCP_PM_NAME, sizeof MPTCP_PM_NAME);
	family = exchange(generic, message, CTRL_ATTR_FAMILY_ID, "mptcp");
	begin(message, family, MPTCP_PM_CMD_SET_LIMITS, MPTCP_PM_VER);
	attribute(message, MPTCP_PM_ATTR_RCV_ADD_ADDRS, &limit, sizeof limit);
	attribute(message, MPTCP_PM_ATTR_SUBFLOWS, &limit, sizeof limit);
	exchange(generic, message, 0, "limits of mptcp");
	begin(message, family, MPTCP_PM_CMD_ADD_ADDR, MPTCP_PM_VER);
	nest = attribute(message, MPTCP_PM_ATTR_ADDR | NLA_F_NESTED, NULL, 0);
	attribute(message, MPTCP_PM_ADDR_ATTR_FAMILY, &internet_family, sizeof internet_family);
	attribute(message, MPTCP_PM_ADDR_ATTR_ADDR4, &name, sizeof name);
	attribute(message, MPTCP_PM_ADDR_ATTR_FLAGS, &flags, sizeof flags);
	attribute(message, MPTCP_PM_ADDR_ATTR_IF_IDX, &index, sizeof index);
	nest->nla_len = (char *)message + message->nlmsg_len - (char *)nest;
	exchange(generic, message, 0, "endpoint of mptcp");
	close(generic);
}

static void mount_at(const char *type, const char *path, unsigned long flags, const char *data)
{
	if (mount(type, path, type, flags, data))
		fail("mounting", path);
}

/* The machine's file system, of which nothing can be changed, with folders for what a program writes. */
static void set_root(const char *name)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" }, { "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" }, { "/proc/self/fd/2", "/dev/stderr" },
	};

	if (sethostname(name, strlen(name)))
		fail("name", name);
	mkdir("/host", 0755);
	mount_at("hostfs", "/host", MS_RDONLY, "/");
	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 0755);
	for (unsigned i = 0; i < sizeof links / sizeof *links; i++)
		if (symlink(links[i][0], links[i][1]))
			fail("link", links[i][1]);
	mount_at("proc", "/host/proc", 0, NULL);
	mount_at("sysfs", "/host/sys", 0, NULL);
	mount_at("devtmpfs", "/host/dev", 0, NULL);
	mount_at("devpts", "/host/dev/pts", 0, "ptmxmode=0666");
	mount_at("tmpfs", "/host/dev/shm", 0, NULL);
	mount_at("tmpfs", "/host/tmp", 0, NULL);
	mount_at("tmpfs", "/host/run", 0, NULL);
	mount_at("tmpfs", "/host/var/tmp", 0, NULL);
	if (mount("/hosts", "/host/etc/hosts", NULL, MS_BIND, NULL))
		fail("mounting", "/etc/hosts");
	/* Name servers of the machine are not in this network. A machine without this file asks nobody. */
	if (mount("/nobody", "/host/etc/resolv.conf", NULL, MS_BIND, NULL) && errno != ENOENT)
		fail("mounting", "/etc/resolv.conf");
}

static void show(const char *folder)
{
	char path[4200];
	struct stat found;

	snprintf(path, sizeof path, "/host%s", folder);
	if (!stat(path, &found))
		return;
	for (char *slash = strchr(path + 6, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	mkdir(path, 0755);
	mount_at("hostfs", path, MS_RDONLY, folder);
}

/* The processes of programs that have begun and not ended; 0: none. */
static pid_t programs[PROGRAMS];

/* Reports output in pieces, each a line: what is not printable is written as \xHH. */
static void report_output(int number, int stream, const unsigned char *bytes, int length)
{
	char text[4 * CHUNK + 1], *end = text;

	for (int i = 0; i < length; i++)
		if (bytes[i] > ' ' && bytes[i] < 127 && bytes[i] != '\\')
			*end++ = bytes[i];
		else
			end += sprintf(end, "\\x%02x", bytes[i]);
	*end = 0;
	printf("@output %lld %d %d %s\n", now(), number, stream, text);
}

/* The strings of a file, each with a zero at its end: the folder, the program, the number of arguments, arguments,
 * environment. */
static char **strings_of(int number)
{
	char path[64], *content = NULL, **found = NULL;
	size_t length = 0, count = 0, room = 0;
	FILE *file;

	snprintf(path, sizeof path, "/program-%d", number);
	file = fopen(path, "r");
	if (!file)
		fail("program", path);
	while (file && getdelim(&content, &length, 0, file) > 0) {
		if (count + 2 > room)
			found = realloc(found, (room += 64) * sizeof *found);
		found[count++] = content;
		found[count] = NULL;
		content = NULL;
	}
	if (file)
		fclose(file);
	return count > 3 ? found : NULL;
}

/* What the process of a program does before the program begins. */
static void become(char **strings, int *streams)
{
	int arguments = atoi(strings[2]), input = open("/dev/null", O_RDONLY);
	char **environment = strings + 3 + arguments;
	char *list[arguments + 1];
	sigset_t none;

	memcpy(list, strings + 3, arguments * sizeof *list);
	list[arguments] = NULL;
	dup2(input, 0);
	dup2(streams[0], 1);
	dup2(streams[1], 2);
	for (int i = 3; i < 64; i++)
		close(i);
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chroot("/host") || chdir(strings[0]))
		dprintf(2, "hopyard: %s: %s\n", strings[0], strerror(errno));
	else if (execve(strings[1], list, environment))
		dprintf(2, "hopyard: %s: %s\n", strings[1], strerror(errno));
	_exit(127);
}

static void *program(void *argument)
{
	struct role *role = argument;
	int number = role->count, out[2], errors[2], status, open_streams = 2;
	char **strings = strings_of(number);
	unsigned char bytes[CHUNK];
	struct pollfd wanted[2];
	pid_t child;

	if (!strings || number < 0 || number >= PROGRAMS) {
		errno = EINVAL;
		fail("program", "");
		return NULL;
	}
	sleep_until(role->start);
	if (pipe2(out, O_CLOEXEC) || pipe2(errors, O_CLOEXEC))
		fail("pipe", "");
	printf("@began %lld %d\n", now(), number);
	child = fork();
	if (child < 0)
		fail("fork", "");
	if (child == 0)
		become(strings, (int[]){ out[1], errors[1] });
	programs[number] = child;
	close(out[1]);
	close(errors[1]);
	wanted[0] = (struct pollfd){ out[0], POLLIN, 0 };
	wanted[1] = (struct pollfd){ errors[0], POLLIN, 0 };
	while (open_streams > 0 && poll(wanted, 2, -1) >= 0)
		for (int i = 0; i < 2; i++) {
			ssize_t count;

			if (!wanted[i].revents)
				continue;
			count = read(wanted[i].fd, bytes, sizeof bytes);
			if (count > 0) {
				report_output(number, i + 1, bytes, count);
			} else {
				close(wanted[i].fd);
				wanted[i].fd = -1;
				open_streams--;
			}
		}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	programs[number] = 0;
	printf("@ended %lld %d %d %d\n", now(), number, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return NULL;
}

/* Ends programs a little before the run ends, so that what they have written is known. */
static void *finish(void *argument)
{
	struct role *role = argument;

	for (int step = 2; step > 0; step--) {
		sleep_until(role->start - step * MILLISECOND);
		for (int i = 0; i < PROGRAMS; i++)
			if (programs[i])
				kill(-programs[i], step == 2 ? SIGTERM : SIGKILL);
	}
	return NULL;
}

static void *spin(void *argument)
{
	sleep_until(((struct role *)argument)->start);
	for (volatile long long i = 0; i >= 0; i++)
		;
	return NULL;
}

static void *crash(void *argument)
{
	sleep_until(((struct role *)argument)->start);
	/* The kernel panics when its first process ends. */
	exit(3);
}

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
	} else if (sscanf(line, "sample %lld", &role->interval) == 1) {
		if (role->interval > 0)
			start(sample, role);
	} else if (sscanf(line, "sink %d", &role->port) == 1)
		start(sink, role);
	else if (sscanf(line, "source %15s %d %d %15s %lld %lld %lld %d", role->address, &role->port, &role->own_port,
			role->variant, &role->start, &role->bytes, &role->chunk, &role->mss) == 8 && role->chunk > 0)
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
