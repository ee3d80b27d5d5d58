/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * llds_fuzz CALLS [SEED [failing]] - random calls on /dev/llds from two threads: known and unknown
 * call numbers, structs filled with values near an edge, good and bad addresses, descriptors of all
 * kinds that are read, closed and opened in the meantime. It checks that errors are among the
 * documented ones and that no call writes beyond its struct; the kernel's own checkers do the rest.
 * A seed determines the sequence of each thread. failing: allocations may fail.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/random.h"
#include "llds.h"

#define FDS 8
#define ARENA (1 << 18)
#define GUARD 64

static const unsigned int calls[] = { LLDS_GET,	    LLDS_SET,	 LLDS_DELETE, LLDS_CAS,
				      LLDS_INCR,    LLDS_MGET,	 LLDS_MSET,   LLDS_MDELETE,
				      LLDS_ITERATE, LLDS_STATS,	 LLDS_CLEAR,  LLDS_SET_LIMIT,
				      LLDS_ATTACH,  LLDS_REMOVE, LLDS_GET_ABI };

struct worker {
	uint64_t state;
	unsigned long count;
	unsigned long done, good;
	int fd[FDS];
	unsigned char *arena; /* ends before a page that is not there */
	int failed;
	int failing;
};

#define next(w) random_word(&(w)->state)

static uint64_t number(struct worker *w)
{
	static const uint64_t edges[] = { 0,	      1,	  2,	      7,
					  8,	      63,	  64,	      255,
					  1023,	      1024,	  1025,	      4095,
					  4096,	      65535,	  1 << 20,    (1 << 20) + 1,
					  0x7fffffff, 0x80000000, 0xffffffff, ~0ull,
					  1ull << 63, ~0ull >> 1 };
	uint64_t r = next(w);

	switch (r & 7) {
	case 0:
		return next(w);
	case 1:
	case 2:
		return edges[(r >> 8) % (sizeof(edges) / sizeof(*edges))];
	default:
		return r >> 8 & 15;
	}
}

static uint64_t address(struct worker *w)
{
	uint64_t r = next(w);

	switch (r & 31) {
	case 0:
		return 0xffff888000000000ull + (r >> 8 & 0xfffffff); /* the kernel's memory */
	case 1:
		return 0;
	case 2:
		return next(w);
	case 3:
		return (uintptr_t)w->arena + ARENA - (r >> 8 & 63); /* the edge */
	default:
		return (uintptr_t)w->arena + ((r >> 8) % (ARENA / 2) & ~7ull);
	}
}

/* All structs are made of 8-byte words, addresses among the first three. */
static void fill(struct worker *w, unsigned int cmd, uint64_t *arg)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		arg[i] = number(w);
	if (next(w) % 16 == 0)
		return;
	switch (cmd) {
	case LLDS_GET:
	case LLDS_SET:
		arg[1] = address(w);
		arg[2] = number(w) % 5000 | (cmd == LLDS_SET ? next(w) % 8 << 32 : 0);
		arg[5] = 0;
		break;
	case LLDS_DELETE:
		arg[2] = next(w) % 8 ? 0 : LLDS_IF_VERSION;
		break;
	case LLDS_CAS:
		arg[1] = address(w);
		arg[2] = address(w);
		arg[3] = (next(w) % 64) << 32 | next(w) % 64;
		break;
	case LLDS_MGET:
	case LLDS_MSET:
	case LLDS_MDELETE:
		arg[0] = address(w);
		arg[1] = next(w) % 1030;
		arg[2] = 0;
		break;
	case LLDS_ITERATE:
		arg[2] = address(w);
		arg[3] = (next(w) % 1030) << 32 | next(w) % 100000;
		arg[4] = (next(w) & 1) << 32;
		arg[6] = 0;
		break;
	case LLDS_ATTACH:
	case LLDS_REMOVE:
		memset(arg, 0, 64);
		snprintf((char *)arg, 64, "fuzz%u", (unsigned int)(next(w) % 4));
		arg[8] = next(w) % 4 ? 0 : number(w);
		arg[9] = (next(w) % 4) << 32 | 0600;
		break;
	case LLDS_SET_LIMIT:
		arg[0] = next(w) % (4 << 20);
		break;
	}
}

static int known(int error)
{
	static const int errors[] = { ENOENT, EEXIST, EAGAIN, EBADF,  ENOSPC, ENOMEM,
				      EFAULT, EINVAL, E2BIG,  ERANGE, EDOM,   EACCES,
				      EPERM,  ENOTTY, EBUSY,  EINTR,  EMFILE };
	unsigned int i;

	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i] == error)
			return 1;
	return 0;
}

static void one_ioctl(struct worker *w, int fd)
{
	static __thread struct {
		unsigned char before[GUARD];
		uint64_t arg[16];
		unsigned char after[GUARD];
	} box;
	unsigned int cmd = calls[next(w) % (sizeof(calls) / sizeof(*calls))], i;
	uint64_t r = next(w);
	int ret;

	if (r % 16 == 0)
		cmd = (unsigned int)next(w);
	else if (r % 16 == 1)
		cmd ^= 1u << (r >> 8 & 31);
	memset(box.before, 0x5a, GUARD);
	memset(box.after, 0x5a, GUARD);
	fill(w, cmd, box.arg);
	errno = 0;
	ret = ioctl(fd, cmd, r % 64 == 2 ? (void *)(uintptr_t)address(w) : (void *)box.arg);
	w->good += !ret;
	if (ret > 0 || (ret < 0 && !known(errno))) {
		printf("llds_fuzz: cmd %#x: %d, errno %d\n", cmd, ret, errno);
		w->failed = 1;
	}
	for (i = 0; i < GUARD; i++)
		if (box.before[i] != 0x5a || box.after[i] != 0x5a) {
			printf("llds_fuzz: cmd %#x wrote beside its struct\n", cmd);
			w->failed = 1;
			return;
		}
}

static void other_call(struct worker *w, int i)
{
	static const int modes[] = { O_RDWR, O_RDWR, O_RDWR, O_RDONLY, O_WRONLY };
	struct pollfd p = { w->fd[i], POLLIN, 0 };
	void *map;

	switch (next(w) % 5) {
	case 0:
		map = mmap(NULL, 4096u << (next(w) & 3), (int)(next(w) & 3),
			   next(w) & 1 ? MAP_SHARED : MAP_PRIVATE, w->fd[i],
			   (off_t)(next(w) & 0xff) << 12);
		if (map != MAP_FAILED) {
			printf("llds_fuzz: mmap\n");
			w->failed = 1;
		}
		break;
	case 1:
		if (read(w->fd[i], w->arena, 16) >= 0 || write(w->fd[i], w->arena, 16) >= 0)
			w->failed = 1;
		break;
	case 2:
		poll(&p, 1, 0);
		break;
	case 3: /* a descriptor of another slot, the same store */
		close(w->fd[i]);
		w->fd[i] = dup(w->fd[(i + 1) % FDS]);
		break;
	default:
		close(w->fd[i]);
		w->fd[i] = open("/dev/llds", modes[next(w) % 5]);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t *word;
	unsigned int i;
	int self;

	if (w->failing) {
		self = open("/proc/thread-self/make-it-fail", O_WRONLY);
		if (write(self, "1", 1) != 1)
			w->failed = 1;
		close(self);
	}
	for (; w->done < w->count && !w->failed; w->done++) {
		i = next(w) % FDS;
		if (next(w) % 64 == 0)
			other_call(w, (int)i);
		else
			one_ioctl(w, w->fd[i]);
		/* what batches and values point at */
		word = (uint64_t *)(void *)w->arena + next(w) % (ARENA / 8);
		*word = next(w) % 4 ? number(w) : address(w);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[2];
	pthread_t thread[2];
	unsigned long calls_wanted = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000, done = 0,
		      good = 0;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	int t, i, failed = 0;
	char name[16];

	for (t = 0; t < 2; t++) {
		struct worker *w = &workers[t];

		w->state = (seed * 2 + (unsigned int)t + 1) * 0x9e3779b97f4a7c15ull;
		w->count = calls_wanted / 2;
		w->failing = argc > 3;
		w->arena = mmap(NULL, ARENA + 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(w->arena + ARENA, 4096);
		for (i = 0; i < FDS; i++)
			w->fd[i] = open("/dev/llds", O_RDWR);
	}
	for (t = 0; t < 2; t++)
		pthread_create(&thread[t], NULL, work, &workers[t]);
	for (t = 0; t < 2; t++) {
		pthread_join(thread[t], NULL);
		done += workers[t].done;
		good += workers[t].good;
		failed |= workers[t].failed;
		for (i = 0; i < FDS; i++)
			close(workers[t].fd[i]);
	}
	i = open("/dev/llds", O_RDWR);
	for (t = 0; t < 4; t++) {
		struct llds_name n = { { 0 } };

		snprintf(name, sizeof(name), "fuzz%d", t);
		strcpy(n.name, name);
		ioctl(i, LLDS_REMOVE, &n);
	}
	close(i);
	printf("llds_fuzz: seed %llu: %lu calls, %lu succeeded, %s\n", (unsigned long long)seed,
	       done, good, failed ? "FAIL" : "pass");
	return failed;
}
