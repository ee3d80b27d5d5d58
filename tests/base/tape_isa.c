/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tape_isa.c - the same random tapes under each value of LATH_ISA. tape_isa [tapes]
 *
 * The library reads LATH_ISA before main(), so each value has its own process: this program
 * again, with the value and --play. A value that processor or build lacks, or that is none, must
 * cost one line on stderr and nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/isa.h"
#include "base/tape.h"

#define PLAYED 64 /* exit code of --play: this and the form that the library chose */

static int play(unsigned long tapes)
{
	static uint8_t bytes[TAPE_MOST];
	unsigned long i;

	for (i = 0; i < tapes; i++) {
		struct tape tape = { .at = bytes,
				     .end = bytes + tape_plan.size,
				     .verify_every = 50 };

		tape_make(bytes, tape_plan.size, 1 + i);
		tape_plan.begin(bytes, i, false);
		if (tape_run(&tape)) {
			fprintf(stderr, "tape_isa: tape %lu failed\n", i);
			return 1;
		}
	}
	return PLAYED + (int)lath_isa_chosen;
}

/* Runs --play under a value; NULL: without one. Returns the exit code, or -1; its stderr in
 * said. */
static int run(const char *value, const char *tapes, char *said, size_t size)
{
	int ends[2], status = 0;
	size_t n = 0;
	ssize_t more;
	pid_t child;

	if (pipe(ends) || (child = fork()) < 0)
		return -1;
	if (!child) {
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		if (value ? setenv("LATH_ISA", value, 1) : unsetenv("LATH_ISA"))
			_exit(1);
		execl("/proc/self/exe", "tape_isa", "--play", tapes, (char *)NULL);
		_exit(1);
	}
	close(ends[1]);
	while ((more = read(ends[0], said + n, size - 1 - n)) > 0)
		n += (size_t)more;
	said[n] = 0;
	close(ends[0]);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* What the processor has, asked apart from the library. */
static bool has(enum lath_isa isa)
{
#if defined(__x86_64__) && !defined(LATH_SCALAR)
	if (isa == LATH_ISA_AVX2)
		return __builtin_cpu_supports("avx2");
#elif defined(__aarch64__) && !defined(LATH_SCALAR)
	if (isa == LATH_ISA_NEON)
		return true;
#endif
	return isa == LATH_ISA_SCALAR;
}

static int fail(const char *value, int code, const char *said)
{
	fprintf(stderr, "tape_isa: LATH_ISA=%s: exit code %d, stderr: %s\n",
		value ? value : "(unset)", code, said);
	return 1;
}

/* A form that is there: that one, and not a word. */
static int check_form(const char *value, enum lath_isa want, const char *tapes)
{
	char said[4096];
	int code = run(value, tapes, said, sizeof(said));

	return code == PLAYED + (int)want && !*said ? 0 : fail(value, code, said);
}

/* Any other value: the best form, and one line that names the value and the form. */
static int check_wrong(const char *value, enum lath_isa best, const char *name, const char *tapes)
{
	char said[4096], start[64], end[64];
	int code = run(value, tapes, said, sizeof(said));
	size_t length;

	snprintf(start, sizeof(start), "lathwork: LATH_ISA=%s: ", value);
	snprintf(end, sizeof(end), "; using %s\n", name);
	length = strlen(said);
	if (code != PLAYED + (int)best || strncmp(said, start, strlen(start)) ||
	    length < strlen(end) || strcmp(said + length - strlen(end), end) ||
	    strchr(said, '\n') != said + length - 1)
		return fail(value, code, said);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "scalar", "avx2", "neon" };
	enum lath_isa best = LATH_ISA_SCALAR;
	unsigned long tapes =
		argc > 1 ? strtoul(argv[1], NULL, 0) : 1 + tape_plan.tapes / 4 / LATH_PART;
	unsigned int isa, played = 0;
	char count[32];
	int wrong = 0;

	if (argc > 2 && !strcmp(argv[1], "--play"))
		return play(strtoul(argv[2], NULL, 0));
	snprintf(count, sizeof(count), "%lu", tapes);
	for (isa = 0; isa < LATH_ISAS; isa++)
		if (has(isa))
			best = isa;
	for (isa = 0; isa < LATH_ISAS; isa++) {
		if (has(isa)) {
			wrong |= check_form(names[isa], isa, count);
			played++;
		} else {
			printf("tape_isa: this processor or build has no %s\n", names[isa]);
			wrong |= check_wrong(names[isa], best, names[best], "1");
		}
	}
	wrong |= check_form(NULL, best, "1");
	wrong |= check_form("", best, "1");
	wrong |= check_wrong("AVX2", best, names[best], "1");
	printf("tape_isa: %lu tapes under each of %u forms\n", tapes, played);
	return wrong;
}
