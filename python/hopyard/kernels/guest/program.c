/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Programs of the machine: their root, their processes, their output.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"

/* How many programs a node can have, and how many bytes of their output a report has. */
#define PROGRAMS 256
#define CHUNK 512

static void mount_at(const char *type, const char *path, unsigned long flags, const char *data)
{
	if (mount(type, path, type, flags, data))
		fail("mounting", path);
}

/* The machine's file system, of which nothing can be changed, with folders for what a program writes. */
void set_root(const void *message)
{
	const char *name = ((const struct order_root *)message)->rest;
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
	/* Kernels with Wi-Fi have it: the statistics of rate control are there. */
	mount("debugfs", "/host/sys/kernel/debug", "debugfs", 0, NULL);
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

void show(const void *message)
{
	const char *folder = ((const struct order_show *)message)->rest;
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

/* What the process of a program does before the program begins. */
static void become(const struct order_program *order, int *streams)
{
	const char *folder = order->rest, *path = folder + strlen(folder) + 1, *text = path + strlen(path) + 1;
	const char *end = (const char *)order + order->head.length;
	int input = open("/dev/null", O_RDONLY), count = 0;
	/* As many pointers as there are bytes are more than there are texts. */
	char **texts = calloc(order->head.length, sizeof *texts), **environment = texts + order->arguments + 1;
	sigset_t none;

	/* After the arguments and after the environment comes a null pointer. */
	for (; text < end; text += strlen(text) + 1, count++)
		texts[count + (count >= (int)order->arguments)] = (char *)text;
	dup2(input, 0);
	dup2(streams[0], 1);
	dup2(streams[1], 2);
	/* A call that fails takes simulated time: how many there are is a part of every result. */
	for (int i = 3; i < 65; i++)
		close(i);
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chroot("/host") || chdir(folder))
		dprintf(2, "hopyard: %s: %s\n", folder, strerror(errno));
	else if (execve(path, texts, environment))
		dprintf(2, "hopyard: %s: %s\n", path, strerror(errno));
	_exit(127);
}

void *program(void *argument)
{
	const struct order_program *order = argument;
	int number = order->number, out[2], errors[2], status, open_streams = 2;
	unsigned char bytes[CHUNK];
	struct pollfd wanted[2];
	pid_t child;

	sleep_until(order->start);
	if (pipe2(out, O_CLOEXEC) || pipe2(errors, O_CLOEXEC))
		fail("pipe", "");
	REPORT(report_began, NULL, 0, now(), .program = number);
	child = fork();
	if (child < 0)
		fail("fork", "");
	if (child == 0)
		become(order, (int[]){ out[1], errors[1] });
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
				REPORT(report_output, bytes, count, now(), .program = number, .stream = i + 1);
			} else {
				close(wanted[i].fd);
				wanted[i].fd = -1;
				open_streams--;
			}
		}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	programs[number] = 0;
	REPORT(report_ended, NULL, 0, now(), .program = number, .status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return NULL;
}

/* Ends programs a little before the run ends, so that what they have written is known. */
void *finish(void *argument)
{
	const struct order_end *order = argument;

	for (int step = 2; step > 0; step--) {
		sleep_until(order->start - step * MILLISECOND);
		for (int i = 0; i < PROGRAMS; i++)
			if (programs[i])
				kill(-programs[i], step == 2 ? SIGTERM : SIGKILL);
	}
	return NULL;
}
