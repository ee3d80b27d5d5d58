/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dma_io DEVICE SECONDS [THREADS] - writes to a block device past the page cache and reads back,
 * 4 KiB to 1 MiB at random places, several threads at once, each in a part of the device of its
 * own. Every 4 KiB say where they belong and how often they were written, so data that went to or
 * came from memory of another request is noticed. Prints what it did; exit code 1: an error, 2: a
 * sector differs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/random.h"

#define SECTOR 4096ul
#define WORDS (SECTOR / sizeof(uint64_t))
#define MOST 256ul /* sectors of a request */

static const char *device;
static time_t end;
static int failed; /* exit code */

struct part {
	pthread_t thread;
	uint64_t first, count; /* sectors */
	uint32_t *written;     /* per sector: how often */
	uint64_t random, requests, sectors;
};

static uint64_t word_of(uint64_t sector, uint32_t written, unsigned int i)
{
	return (sector * 0x9e3779b97f4a7c15ull) ^ ((uint64_t)written << 32) ^ i;
}

static void fail(int code, const char *what, uint64_t sector)
{
	fprintf(stderr, "dma_io: %s: %s at sector %llu: %s\n", device, what,
		(unsigned long long)sector, code == 1 ? strerror(errno) : "differs");
	__atomic_store_n(&failed, code, __ATOMIC_RELAXED);
}

/* Writes n sectors, or reads and compares those of them that were written. */
static void request(struct part *p, int fd, uint64_t *buffer, uint64_t at, uint64_t n, int write)
{
	uint64_t sector = p->first + at, s;
	unsigned int i;

	for (s = 0; write && s < n; s++) {
		p->written[at + s]++;
		for (i = 0; i < WORDS; i++)
			buffer[s * WORDS + i] = word_of(sector + s, p->written[at + s], i);
	}
	if ((write ? pwrite(fd, buffer, n * SECTOR, (off_t)(sector * SECTOR))
		   : pread(fd, buffer, n * SECTOR, (off_t)(sector * SECTOR))) !=
	    (ssize_t)(n * SECTOR))
		fail(1, write ? "write" : "read", sector);
	for (s = 0; !write && !failed && s < n; s++)
		for (i = 0; p->written[at + s] && i < WORDS; i++)
			if (buffer[s * WORDS + i] != word_of(sector + s, p->written[at + s], i)) {
				fail(2, "read", sector + s);
				break;
			}
	p->requests++;
	p->sectors += n;
}

static void *run(void *arg)
{
	struct part *p = arg;
	int fd = open(device, O_RDWR | O_DIRECT);
	void *buffer = NULL;

	if (fd < 0 || posix_memalign(&buffer, SECTOR, MOST * SECTOR)) {
		fail(1, "open", 0);
		return NULL;
	}
	while (!__atomic_load_n(&failed, __ATOMIC_RELAXED) && time(NULL) < end) {
		uint64_t n = 1ull << draw(&p->random, 9);

		n = draw(&p->random, 2) ? n : 1 + draw(&p->random, n);
		request(p, fd, buffer, draw(&p->random, p->count - n), n, (int)draw(&p->random, 2));
	}
	free(buffer);
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 3 ? (unsigned int)atoi(argv[3]) : 8, i;
	uint64_t requests = 0, sectors = 0, size;
	struct part *parts = calloc(threads, sizeof(*parts));
	int fd;

	if (argc < 3 || !threads || !parts) {
		fputs("usage: dma_io DEVICE SECONDS [THREADS]\n", stderr);
		return 1;
	}
	device = argv[1];
	end = time(NULL) + atoi(argv[2]);
	fd = open(device, O_RDONLY);
	size = fd < 0 ? 0 : (uint64_t)lseek(fd, 0, SEEK_END) / SECTOR / threads;
	if (size <= MOST) {
		fail(1, "size", 0);
		return 1;
	}
	for (i = 0; i < threads; i++) {
		parts[i] = (struct part){ .first = i * size, .count = size, .random = i + 1 };
		parts[i].written = calloc(size, sizeof(uint32_t));
		if (!parts[i].written || pthread_create(&parts[i].thread, NULL, run, &parts[i]))
			return 1;
	}
	for (i = 0; i < threads; i++) {
		pthread_join(parts[i].thread, NULL);
		requests += parts[i].requests;
		sectors += parts[i].sectors;
	}
	printf("dma_io: %llu requests, %llu MiB\n", (unsigned long long)requests,
	       (unsigned long long)(sectors * SECTOR >> 20));
	return failed ? failed : requests ? 0 : 1;
}
