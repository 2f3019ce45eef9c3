/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Time, reports, threads and addresses, for all parts of the agent.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

/* The stack of a thread: its buffers are static or allocated. */
#define STACK (64 * 1024)
/* How much of the reports the guest keeps in its memory. */
#define KEPT (256 * 1024)

long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * BILLION + time.tv_nsec;
}

void sleep_until(long long at)
{
	struct timespec time = { at / BILLION, at % BILLION };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

/* The file of reports. */
static int channel;

/* Nobody can be told but those who read the console. The kernel panics when its first process ends. */
static void give_up(const char *what)
{
	perror(what);
	exit(1);
}

/* The file is in the folder that is the standard input of the kernel's process. */
void open_channel(void)
{
	mkdir("/run", 0700);
	if (mount("hostfs", "/run", "hostfs", 0, "/proc/self/fd/0/."))
		give_up("mounting the folder of reports");
	channel = open("/run/reports", O_WRONLY | O_APPEND | O_CLOEXEC);
	if (channel < 0)
		give_up("the file of reports");
}

void report(void *message, size_t fixed, const void *rest, size_t length)
{
	struct head *head = message;
	struct iovec parts[] = { { head, fixed }, { (void *)rest, length } };
	static size_t kept;

	head->length = fixed + length;
	if (writev(channel, parts, 2) != head->length)
		give_up("a report");
	/* The guest's memory does not keep what was written. */
	if ((kept += head->length) > KEPT) {
		posix_fadvise(channel, 0, 0, POSIX_FADV_DONTNEED);
		kept = 0;
	}
}

void fail(const char *place, const char *value)
{
	int number = errno;
	char text[512];
	int length = snprintf(text, sizeof text, "%s%c%s", place, 0, value) + 1;

	REPORT(report_failed, text, length < (int)sizeof text ? length : (int)sizeof text, now(), .number = number);
}

struct sockaddr_in internet(struct in_addr address, int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address };
}

void start(void *(*role)(void *), const void *argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if ((errno = pthread_create(&thread, &attributes, role, (void *)argument)))
		fail("thread", "");
	pthread_attr_destroy(&attributes);
}
