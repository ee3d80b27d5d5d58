/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * llds_hold - uses /dev/llds for other tests:
 *   llds_hold wait FILE   make the named store "held", make FILE, keep it open until FILE is gone
 *   llds_hold remove      remove the name
 *   llds_hold fill N      fill a store with N entries, check some, close it; says how long close
 *                         took
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "llds.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int hold(int fd, const char *file)
{
	struct llds_attach a = { .name = "held", .flags = LLDS_CREATE, .mode = 0600 };
	struct llds_set s = { 1, (uintptr_t)"value", 5, 0, 0, 0, 0, 0 };

	if (ioctl(fd, LLDS_ATTACH, &a))
		return 1;
	for (; s.key < 1000; s.key++)
		if (ioctl(fd, LLDS_SET, &s))
			return 1;
	close(open(file, O_CREAT | O_WRONLY, 0600));
	while (!access(file, F_OK))
		usleep(1000);
	close(fd);
	return 0;
}

/* in the order of a random number generator */
static uint64_t key_of(uint64_t i)
{
	i *= 0x9e3779b97f4a7c15ull;
	return i ^ i >> 29;
}

static int fill(int fd, uint64_t n)
{
	static struct llds_set sets[LLDS_BATCH_MAX];
	struct llds_batch b = { .elements = (uintptr_t)sets };
	uint64_t i, limit = 4ull << 30;
	struct llds_stats stats;
	double start;
	unsigned int k;

	if (ioctl(fd, LLDS_SET_LIMIT, &limit))
		return 1;
	for (i = 0; i < n; i += b.count) {
		b.count = n - i < LLDS_BATCH_MAX ? (uint32_t)(n - i) : LLDS_BATCH_MAX;
		for (k = 0; k < b.count; k++)
			sets[k] = (struct llds_set){
				key_of(i + k), (uintptr_t)"12345678", 8, LLDS_ADD, 0, 0, 0, 0
			};
		if (ioctl(fd, LLDS_MSET, &b) || b.good != b.count)
			return 1;
	}
	if (ioctl(fd, LLDS_STATS, &stats) || stats.items != n)
		return 1;
	start = now();
	close(fd);
	printf("llds_hold: %llu entries, %llu bytes each, closed in %.0f ms\n",
	       (unsigned long long)n, (unsigned long long)(stats.bytes / n), (now() - start) * 1e3);
	return now() - start > 0.5;
}

int main(int argc, char **argv)
{
	struct llds_name name = { "held" };
	int fd = open("/dev/llds", O_RDWR);

	if (fd < 0 || argc < 2)
		return 2;
	if (argc == 3 && !strcmp(argv[1], "wait"))
		return hold(fd, argv[2]);
	if (argc == 3 && !strcmp(argv[1], "fill"))
		return fill(fd, strtoull(argv[2], NULL, 0));
	if (!strcmp(argv[1], "remove"))
		return !!ioctl(fd, LLDS_REMOVE, &name);
	return 2;
}
