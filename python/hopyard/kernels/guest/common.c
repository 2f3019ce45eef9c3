/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Time, errors, threads and addresses, for all parts of the agent.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent.h"

/* The stack of a thread: its buffers are static or allocated. */
#define STACK (64 * 1024)

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

void fail(const char *what, const char *name)
{
	printf("@error %lld %s %s: %s\n", now(), what, name, strerror(errno));
}

struct sockaddr_in internet(const char *address, int port)
{
	struct sockaddr_in found = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (!inet_aton(address, &found.sin_addr)) {
		errno = EINVAL;
		fail("address", address);
	}
	return found;
}

void start(void *(*role)(void *), void *argument)
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
