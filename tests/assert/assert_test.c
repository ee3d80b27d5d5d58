/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * assert_test.c - each class of assertion (LATH_ASSERT) fails when what it states is broken.
 *
 * Every case runs in a child process. It must end by SIGABRT, and its standard error must name the
 * file and the condition of the assertion. A kind of build without assertions skips: exit code 77.
 * assert_test NAME runs one case in this process, for a debugger.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

#ifdef LATH_ASSERTIONS
/* Reads all of fd into text, which always ends with a NUL. */
static void read_all(int fd, char *text, size_t size)
{
	size_t used = 0;
	char rest[256];
	ssize_t n;

	while ((n = used + 1 < size ? read(fd, text + used, size - 1 - used)
				    : read(fd, rest, sizeof(rest))) > 0)
		used += used + 1 < size ? (size_t)n : 0;
	text[used] = '\0';
}

static int run_in_child(const struct assert_case *c, char *text, size_t size)
{
	const struct rlimit no_core = { 0, 0 };
	int fd[2], status;
	pid_t child;

	fflush(NULL);
	if (pipe(fd))
		return -1;
	child = fork();
	if (!child) {
		setrlimit(RLIMIT_CORE, &no_core);
		dup2(fd[1], STDERR_FILENO);
		close(fd[0]);
		close(fd[1]);
		alarm(60); /* a lock that is never free is not an abort */
		c->run();
		_exit(0);
	}
	close(fd[1]);
	read_all(fd[0], text, size);
	close(fd[0]);
	return child < 0 || waitpid(child, &status, 0) != child ? -1 : status;
}

/* Returns whether text has "FILE:LINE: lathwork: assertion failed: CONDITION" with those of c. */
static int names(const char *text, const struct assert_case *c)
{
	const char *line = strstr(text, ": lathwork: assertion failed: "), *at = line;
	size_t size = strlen(c->file);

	if (!line)
		return 0;
	while (at > text && at[-1] != ':')
		at--;
	return (size_t)(at - text) > size && !strncmp(at - 1 - size, c->file, size) &&
	       strstr(line, c->text);
}

static int check(const struct assert_case *c)
{
	char text[8192];
	int status = run_in_child(c, text, sizeof(text));

	if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && names(text, c))
		return 0;
	fprintf(stderr, "%s: expected %s: %s; got status 0x%x: %s\n", c->name, c->file, c->text,
		(unsigned int)status, text);
	return 1;
}

static const struct assert_case *find(const char *name)
{
	const struct assert_case *c;
	size_t i;

	for (i = 0; assert_tables[i]; i++)
		for (c = assert_tables[i]; c->name; c++)
			if (!strcmp(c->name, name))
				return c;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct assert_case *c;
	unsigned int cases = 0;
	int failed = 0;
	size_t i;

	if (argc > 1) {
		c = find(argv[1]);
		if (c)
			c->run();
		fprintf(stderr, c ? "%s: no assertion failed\n" : "%s: no such case\n", argv[1]);
		return 1;
	}
	for (i = 0; assert_tables[i]; i++)
		for (c = assert_tables[i]; c->name; c++, cases++)
			failed += check(c);
	printf("assert_test: %u cases, %d failed\n", cases, failed);
	return failed ? 1 : 0;
}
#else
int main(void)
{
	puts("assert_test: skipped: this kind of build has no assertions (LATH_ASSERT=OFF)");
	return 77;
}
#endif
