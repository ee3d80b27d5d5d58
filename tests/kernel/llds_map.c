/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * llds_map - lookups in /dev/llds through a mapping, as the dev: store does them. usage: llds_map [NAME...];
 * LLDS_TRIES=N: how often races are tried.
 */
#define _GNU_SOURCE /* mremap */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/dev_map.h"

#define DEVICE "/dev/llds"

static int failures, tries = 4000;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("llds_map: line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
			failures++;                                                                \
			return;                                                                    \
		}                                                                                  \
	} while (0)

void lath_yield(void)
{
	sched_yield();
}

static int store_fd(int mode)
{
	int fd = open(DEVICE, mode | O_CLOEXEC);

	if (fd < 0) {
		perror(DEVICE);
		exit(1);
	}
	return fd;
}

static int set(int fd, uint64_t key, const void *value, uint32_t size, uint64_t expires, uint64_t *version)
{
	struct llds_set s = { key, (uintptr_t)value, size, 0, 0, expires, 0, 0 };
	int ret = ioctl(fd, LLDS_SET, &s);

	if (version)
		*version = s.version;
	return ret;
}

static int del(int fd, uint64_t key)
{
	struct llds_delete d = { key, 0, 0, 0 };

	return ioctl(fd, LLDS_DELETE, &d);
}

static int get(struct store_map *map, uint64_t key, void *value, uint32_t room, struct llds_get *g)
{
	*g = (struct llds_get){ key, (uintptr_t)value, room, 0, 0, 0, 0, 0 };
	return store_map_get(map, g);
}

static int absent(struct store_map *map, uint64_t key)
{
	struct llds_get g;

	return get(map, key, NULL, 0, &g) == -ENOENT;
}

static uint64_t bytes(int fd)
{
	struct llds_stats s;

	return ioctl(fd, LLDS_STATS, &s) ? ~0ull : s.bytes;
}

/* ---- */

static void values(void)
{
	static const uint32_t sizes[] = { 0,	1,    7,    8,	   9,	  100,	 1000,		2024,
					  2025, 4072, 4073, 20000, 32744, 32745, LLDS_VALUE_MAX };
	static unsigned char in[LLDS_VALUE_MAX], out[LLDS_VALUE_MAX];
	int fd = store_fd(O_RDWR);
	struct store_map map;
	struct llds_get g;
	unsigned int i;
	uint64_t version;

	for (i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(i * 7 + i / 251);
	CHECK(store_map_open(&map, fd));
	CHECK(absent(&map, 5) && absent(&map, 0) && absent(&map, ~0ull));
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int ret;

		CHECK(!set(fd, i, in, sizes[i], 0, &version));
		memset(out, 0, sizeof(out));
		ret = get(&map, i, out, sizeof(out), &g);
		/* large ones are outside */
		CHECK(ret == (sizes[i] > 32744 ? -EAGAIN : 0));
		if (ret)
			continue;
		CHECK(g.size == sizes[i] && g.version == version && !g.expires && !memcmp(in, out, g.size));
		if (!g.size)
			continue;
		memset(out, 1, g.size);
		CHECK(get(&map, i, out, sizes[i] - 1, &g) == -ERANGE && g.size == sizes[i]);
		CHECK(out[sizes[i] - 1] == 1);
	}
	CHECK(map.falls);
	CHECK(!set(fd, 77, "x", 1, 1, NULL) && absent(&map, 77)); /* expired */
	CHECK(!set(fd, 77, "x", 1, ~0ull, NULL) && !get(&map, 77, out, 9, &g) && g.expires == ~0ull);
	CHECK(!del(fd, 77) && absent(&map, 77));
	store_map_close(&map);
	close(fd);
}

/* Many levels, grown while mapped and before. */
static void many_keys(void)
{
	enum { N = 50000 };
	struct llds_get group[STORE_MAP_GROUP];
	uint64_t text[STORE_MAP_GROUP], k;
	int fd = store_fd(O_RDWR), round;
	struct store_map map;
	unsigned int i;

	for (round = 0; round < 2; round++) {
		if (!round)
			CHECK(store_map_open(&map, fd));
		for (k = 0; k < N; k++)
			CHECK(!set(fd, k * 0x9e3779b97f4a7c15ull, &k, sizeof(k), 0, NULL));
		for (k = 0; k < N; k += STORE_MAP_GROUP) {
			for (i = 0; i < STORE_MAP_GROUP; i++)
				group[i] = (struct llds_get){ .key = (k + i) * 0x9e3779b97f4a7c15ull,
							      .value = (uintptr_t)&text[i],
							      .room = 8 };
			store_map_mget(&map, STORE_MAP_GROUP, group);
			for (i = 0; i < STORE_MAP_GROUP; i++)
				CHECK(k + i < N ? !group[i].error && text[i] == k + i
						: group[i].error == -ENOENT);
		}
		CHECK(!map.falls);
		CHECK(!ioctl(fd, LLDS_CLEAR) && absent(&map, 0));
	}
	store_map_close(&map);
	close(fd);
}

static void *map_raw(int fd, int prot, int type, size_t size, off_t from)
{
	struct llds_map there;
	void *at = MAP_FAILED;

	if (ioctl(fd, LLDS_MAP, &there))
		return MAP_FAILED;
	at = mmap(NULL, size ? size : there.size, prot, type, there.fd,
		  from == -1 ? (off_t)there.size : from);
	close(there.fd);
	return at;
}

#define REFUSED(call, error) CHECK((call) == MAP_FAILED && errno == (error))

static int other_user(int fd)
{
	struct llds_map there;

	if (setgroups(0, NULL) || setgid(1000) || setuid(1000))
		return 1;
	return ioctl(fd, LLDS_MAP, &there) == -1 && errno == EPERM ? 0 : 2;
}

static void refused(void)
{
	int fd = store_fd(O_RDWR), writer = store_fd(O_WRONLY), status;
	struct llds_map there;
	pid_t child;
	char *at;

	REFUSED(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), ENODEV); /* the device itself */
	CHECK(ioctl(writer, LLDS_MAP, &there) == -1 && errno == EBADF);
	CHECK(ioctl(fd, LLDS_MAP, (void *)8) == -1 && errno == EFAULT);
	REFUSED(map_raw(fd, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0), EACCES);
	REFUSED(map_raw(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE, 4096, 0), EINVAL);
	REFUSED(map_raw(fd, PROT_READ, MAP_PRIVATE, 0, 0), EINVAL);
	REFUSED(map_raw(fd, PROT_READ | PROT_EXEC, MAP_SHARED, 0, 0), EACCES);
	REFUSED(map_raw(fd, PROT_READ, MAP_SHARED, 4096, -1), EINVAL); /* behind the end */
	at = map_raw(fd, PROT_READ, MAP_SHARED, 0, 0);
	CHECK(at != MAP_FAILED);
	CHECK(mprotect(at, 4096, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
	CHECK(mprotect(at, 4096, PROT_READ | PROT_EXEC) == -1 && errno == EACCES);
	CHECK(mremap(at, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK(!ioctl(fd, LLDS_MAP, &there));
	munmap(at, there.size);
	CHECK(read(there.fd, &status, 1) == -1 && write(there.fd, &status, 1) == -1);
	CHECK(ioctl(there.fd, LLDS_CLEAR) == -1 && errno == ENOTTY);
	CHECK(ftruncate(there.fd, 0) == -1 && fallocate(there.fd, 0, 0, 4096) == -1);
	close(there.fd);
	child = fork();
	if (!child)
		_exit(other_user(fd));
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	close(fd);
	close(writer);
}

/* Memory leaves the store while it is mapped, and a mapping outlives what it was made of. */
static void lives_on(void)
{
	enum { N = 20000 };
	int fd = store_fd(O_RDWR), round, i, status;
	struct store_map map, moved;
	uint64_t k, empty, text;
	struct llds_get g;
	pid_t child;
	void *at;

	CHECK(store_map_open(&map, fd));
	empty = bytes(fd);
	for (round = 0; round < 4; round++) {
		for (k = 0; k < N; k++)
			CHECK(!set(fd, k, &k, sizeof(k), 0, NULL));
		for (k = 0; k < N; k++)
			CHECK(!get(&map, k, &text, 8, &g) && text == k);
		CHECK(bytes(fd) > empty + N * 32);
		CHECK(!ioctl(fd, LLDS_CLEAR) && absent(&map, 1));
		for (i = 0; i < 1000 && bytes(fd) != empty; i++)
			usleep(10000);
		CHECK(bytes(fd) == empty);
	}
	CHECK(!set(fd, 1, "before", 6, 0, NULL));
	child = fork(); /* shares it, and what comes */
	if (!child) {
		char out[8] = "";

		for (i = 0; i < 1000 && get(&map, 2, out, 8, &g); i++)
			usleep(10000);
		store_map_close(&map);
		_exit(memcmp(out, "after", 5) != 0);
	}
	CHECK(!set(fd, 2, "after", 5, 0, NULL));
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	moved = map; /* to another address; half of it goes first */
	at = mremap((void *)map.at, map.size, map.size, MREMAP_MAYMOVE | MREMAP_FIXED,
		    mmap(NULL, map.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	CHECK(at != MAP_FAILED && (uintptr_t)at != map.at);
	moved.head = (const void *)((uintptr_t)at + ((uintptr_t)map.head - map.at));
	moved.at = (uintptr_t)at;
	CHECK(!get(&moved, 1, &text, 8, &g) && !memcmp(&text, "before", 6));
	close(fd); /* the mapping keeps the store */
	CHECK(!get(&moved, 2, &text, 8, &g) && !memcmp(&text, "after", 5));
	munmap(at, moved.size / 8192 * 4096);
	/* any address reads (some: each is a mapping of the host's in User Mode Linux) */
	for (k = moved.size / 8192 * 4096; k < moved.size; k += moved.size / 9999 / 4096 * 4096 + 4096)
		*(volatile char *)((char *)at + k);
	munmap(at, moved.size);
}

static void at_the_limit(void)
{
	static char value[2000];
	int fd = store_fd(O_RDWR), round, n, k;
	uint64_t limit = 1 << 20;
	struct store_map map;
	struct llds_get g;

	CHECK(!ioctl(fd, LLDS_SET_LIMIT, &limit) && store_map_open(&map, fd));
	for (round = 0; round < 3; round++) {
		for (n = 0; n < 10000 && !set(fd, n, value, sizeof(value), 0, NULL); n++)
			;
		CHECK(n > 300 && n < 524 && errno == ENOSPC);
		for (k = 0; k < n; k++)
			CHECK(!get(&map, k, value, sizeof(value), &g));
		CHECK(absent(&map, n));
		CHECK(!del(fd, 7) && absent(&map, 7) && !set(fd, 7, value, sizeof(value), 0, NULL));
		CHECK(!get(&map, 7, value, sizeof(value), &g));
		for (k = 0; k < n && round < 2; k++)
			CHECK(!del(fd, k));
	}
	store_map_close(&map);
	close(fd);
}

/* ---- readers beside writers: values that prove themselves ---- */

enum { KEYS = 300, WRITERS = 2, READERS = 2 };

struct race {
	int fd;
	unsigned int number;
	atomic_int *stop;
	unsigned long done, found;
	const char *wrong;
};

static unsigned int next(unsigned int *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* key, count, and bytes that follow from them; its size too */
struct proof {
	uint64_t key, count;
	unsigned char rest[3000];
};

static uint32_t make(struct proof *p, uint64_t key, uint64_t count)
{
	unsigned int state = (unsigned int)(key * 31 + count);
	uint32_t size = next(&state) % 8 ? next(&state) % 100 : next(&state) % 3000, i;

	p->key = key;
	p->count = count;
	for (i = 0; i < size; i++)
		p->rest[i] = (unsigned char)next(&state);
	return 16 + size;
}

static void *race_write(void *arg)
{
	struct race *r = arg;
	struct proof p;
	unsigned int state = r->number + 1;
	struct store_map map;
	struct llds_get g;
	uint64_t count;

	if (!store_map_open(&map, r->fd)) {
		r->wrong = "no mapping";
		return NULL;
	}
	for (count = 1; !atomic_load(r->stop); count++) {
		uint64_t key = next(&state) % KEYS / WRITERS * WRITERS + r->number, version;
		unsigned int what = next(&state) % 4096;

		if (what == 0 && !r->number) { /* clears take others' values, too */
			if (ioctl(r->fd, LLDS_CLEAR))
				r->wrong = "clear";
		} else if (what < 1024) {
			del(r->fd, key);
			if (!get(&map, key, NULL, 0, &g) || g.size) /* nobody else sets it */
				r->wrong = "deleted and there";
		} else {
			uint32_t size = make(&p, key, count);
			int ret;

			if (set(r->fd, key, &p, size, 0, &version) && errno != ENOSPC)
				r->wrong = "set";
			ret = get(&map, key, &p, sizeof(p), &g);
			if (!ret && errno != ENOSPC && g.version != version)
				r->wrong = "own value not seen";
		}
		errno = 0;
		r->done++;
	}
	store_map_close(&map);
	return NULL;
}

static void *race_read(void *arg)
{
	struct race *r = arg;
	static __thread uint64_t seen[KEYS];
	static __thread struct proof got[8], want;
	unsigned int state = r->number * 77 + 5, i, n;
	struct store_map map;
	struct llds_get g[8];

	if (!store_map_open(&map, r->fd)) {
		r->wrong = "no mapping";
		return NULL;
	}
	while (!atomic_load(r->stop)) {
		n = next(&state) % 2 ? 1 : 8;
		for (i = 0; i < n; i++)
			g[i] = (struct llds_get){
				next(&state) % KEYS, (uintptr_t)&got[i], sizeof(*got), 0, 0, 0, 0, 0
			};
		if (n == 1)
			g[0].error = store_map_get(&map, &g[0]);
		else
			store_map_mget(&map, n, g);
		for (i = 0; i < n; i++) {
			r->done++;
			if (g[i].error == -ENOENT || g[i].error == -EAGAIN)
				continue;
			r->found++;
			if (g[i].error)
				r->wrong = "error";
			else if (got[i].key != g[i].key ||
				 make(&want, got[i].key, got[i].count) != g[i].size ||
				 memcmp(&want, &got[i], g[i].size))
				r->wrong = "torn";
			else if (got[i].count < seen[g[i].key])
				r->wrong = "older than before";
			else
				seen[g[i].key] = got[i].count;
		}
	}
	store_map_close(&map);
	return NULL;
}

static void race_with(uint64_t limit, unsigned int changes)
{
	struct race race[WRITERS + READERS];
	pthread_t thread[WRITERS + READERS];
	int fd = store_fd(O_RDWR), i;
	unsigned long done = 0, found = 0, written = 0;
	atomic_int stop = 0;

	CHECK(!ioctl(fd, LLDS_SET_LIMIT, &limit));
	memset(race, 0, sizeof(race));
	for (i = 0; i < WRITERS + READERS; i++) {
		race[i].fd = fd;
		race[i].number = i;
		race[i].stop = &stop;
		CHECK(!pthread_create(&thread[i], NULL, i < WRITERS ? race_write : race_read, &race[i]));
	}
	while (__atomic_load_n(&race[0].done, __ATOMIC_RELAXED) < changes && !race[0].wrong)
		usleep(10000);
	atomic_store(&stop, 1);
	for (i = 0; i < WRITERS + READERS; i++) {
		pthread_join(thread[i], NULL);
		if (race[i].wrong) {
			printf("llds_map: %s %d: %s\n", i < WRITERS ? "writer" : "reader", i, race[i].wrong);
			failures++;
		}
		*(i < WRITERS ? &written : &done) += race[i].done;
		found += race[i].found;
	}
	printf("llds_map: %lu changes, %lu lookups, %lu found\n", written, done, found);
	CHECK(found && done > found);
	close(fd);
}

static void readers_beside_writers(void)
{
	race_with(64 << 20, 5 * tries);
}

static void readers_at_the_limit(void)
{
	race_with(80 << 10, tries / 8); /* many wait for a grace period */
}

#define TEST(name) { #name, name }
static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	TEST(values),
	TEST(many_keys),
	TEST(refused),
	TEST(lives_on),
	TEST(at_the_limit),
	TEST(readers_beside_writers),
	TEST(readers_at_the_limit),
};

int main(int argc, char **argv)
{
	unsigned int i, run = 0;
	int k;

	if (getenv("LLDS_TRIES"))
		tries = atoi(getenv("LLDS_TRIES"));
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		int before = failures, wanted = argc < 2;

		for (k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], tests[i].name);
		if (!wanted)
			continue;
		tests[i].run();
		printf("llds_map: %s: %s\n", tests[i].name, failures == before ? "pass" : "FAIL");
		run++;
	}
	printf("llds_map: %u passed, %d failed\n", run - failures, failures);
	return failures || !run;
}
