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
void set_root(const char *name)
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

void show(const char *folder)
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

void *program(void *argument)
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
void *finish(void *argument)
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
