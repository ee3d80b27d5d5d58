/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * llds_test - /dev/llds from a program. Tests whose name begins with hole_ are what the module of
 * 2012 got
 * wrong, one each. usage: llds_test [NAME...]; "0 failed" at the end, or the failing lines.
 * LLDS_TRIES=N: how often races are tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <grp.h>
#include <unistd.h>

#include <linux/io_uring.h>

#include "llds.h"

#define DEVICE "/dev/llds"
#define KERNEL_ADDRESS 0xffffffff81000000ull

static int failures;
static int tries = 4000;

#define CHECK(condition)                                                                    \
	do {                                                                                \
		if (!(condition)) {                                                         \
			printf("llds_test: line %d: %s (errno %d)\n", __LINE__, #condition, \
			       errno);                                                      \
			failures++;                                                         \
			return;                                                             \
		}                                                                           \
	} while (0)
#define FAILS(call, error) CHECK((call) == -1 && errno == (error))

static uint64_t address(const void *p)
{
	return (uintptr_t)p;
}

static int store_fd(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		perror(DEVICE);
		exit(1);
	}
	return fd;
}

static int set(int fd, uint64_t key, const void *value, uint32_t size, uint32_t flags,
	       uint64_t version)
{
	struct llds_set s = { key, address(value), size, flags, version, 0, 0, 0 };

	return ioctl(fd, LLDS_SET, &s);
}

static int put(int fd, uint64_t key, const char *text)
{
	return set(fd, key, text, strlen(text), 0, 0);
}

/* the value's size, or -1 */
static int get(int fd, uint64_t key, void *value, uint32_t room)
{
	struct llds_get g = { key, address(value), room, 0, 0, 0, 0, 0 };

	return ioctl(fd, LLDS_GET, &g) ? -1 : (int)g.size;
}

static int is(int fd, uint64_t key, const char *text)
{
	char buf[256];
	int size = get(fd, key, buf, sizeof(buf));

	return size == (int)strlen(text) && !memcmp(buf, text, strlen(text));
}

static uint64_t version_of(int fd, uint64_t key)
{
	char buf[256];
	struct llds_get g = { key, address(buf), sizeof(buf), 0, 0, 0, 0, 0 };

	return ioctl(fd, LLDS_GET, &g) ? 0 : g.version;
}

static int del(int fd, uint64_t key, uint32_t flags, uint64_t version)
{
	struct llds_delete d = { key, version, flags, 0 };

	return ioctl(fd, LLDS_DELETE, &d);
}

static struct llds_stats stats(int fd)
{
	struct llds_stats s;

	if (ioctl(fd, LLDS_STATS, &s))
		memset(&s, 0xff, sizeof(s));
	return s;
}

/* Does the store take this many bytes, when those who might read what was deleted have left? */
static bool settles(int fd, uint64_t bytes)
{
	int i;

	for (i = 0; i < 1000 && stats(fd).bytes != bytes; i++)
		usleep(10000);
	return stats(fd).bytes == bytes;
}

/* ---- what it is for ---- */

static void abi(void)
{
	int fd = store_fd();
	uint32_t version = 0;

	CHECK(!ioctl(fd, LLDS_GET_ABI, &version) && version == LLDS_ABI);
	close(fd);
}

static void one_key(void)
{
	int fd = store_fd();
	uint64_t v;

	FAILS(get(fd, 1, NULL, 0), ENOENT);
	CHECK(!put(fd, 1, "one") && is(fd, 1, "one"));
	v = version_of(fd, 1);
	CHECK(!set(fd, 1, "uno", 3, LLDS_IF_VERSION, v) && is(fd, 1, "uno") &&
	      version_of(fd, 1) > v);
	FAILS(set(fd, 1, "eins", 4, LLDS_IF_VERSION, v), EAGAIN);
	FAILS(set(fd, 1, "eins", 4, LLDS_ADD, 0), EEXIST);
	FAILS(set(fd, 2, "two", 3, LLDS_REPLACE, 0), ENOENT);
	FAILS(set(fd, 2, "two", 3, LLDS_IF_VERSION, 0), ENOENT);
	CHECK(!set(fd, 2, "two", 3, LLDS_ADD, 0) && !set(fd, 2, "zwei", 4, LLDS_REPLACE, 0));
	CHECK(is(fd, 1, "uno") && is(fd, 2, "zwei") && stats(fd).items == 2);
	FAILS(del(fd, 1, LLDS_IF_VERSION, v), EAGAIN);
	CHECK(!del(fd, 1, 0, 0) && !del(fd, 2, LLDS_IF_VERSION, version_of(fd, 2)));
	FAILS(del(fd, 1, 0, 0), ENOENT);
	CHECK(stats(fd).items == 0);
	CHECK(!set(fd, ~0ull, "", 0, 0, 0) && get(fd, ~0ull, NULL, 0) == 0 &&
	      !set(fd, 0, NULL, 0, 0, 0));
	close(fd);
}

static void expiry(void)
{
	int fd = store_fd();
	struct llds_set s = { 1, address("x"), 1, 0, 0, 1, 0, 0 }; /* ended in 1970 */
	struct llds_get g = { 1, 0, 0, 0, 0, 0, 0, 0 };

	CHECK(!ioctl(fd, LLDS_SET, &s));
	FAILS(ioctl(fd, LLDS_GET, &g), ENOENT);
	CHECK(!set(fd, 1, "y", 1, LLDS_ADD, 0) && is(fd, 1, "y"));
	s.expires = 1ull << 60;
	CHECK(!ioctl(fd, LLDS_SET, &s));
	CHECK(!set(fd, 1, "z", 1, LLDS_KEEP_EXPIRES, 0));
	FAILS(ioctl(fd, LLDS_GET, &g), ERANGE);
	g.value = address(&s);
	g.room = 1;
	CHECK(!ioctl(fd, LLDS_GET, &g) && g.expires == 1ull << 60);
	close(fd);
}

static void cas_and_incr(void)
{
	int fd = store_fd(), i;
	struct llds_cas c = { 1, address("a"), address("bb"), 1, 2, 0 };
	struct llds_incr n = { 2, 5, 0, 0 };

	FAILS(ioctl(fd, LLDS_CAS, &c), ENOENT);
	CHECK(!put(fd, 1, "b"));
	FAILS(ioctl(fd, LLDS_CAS, &c), EAGAIN);
	CHECK(!put(fd, 1, "a") && !ioctl(fd, LLDS_CAS, &c) && is(fd, 1, "bb") &&
	      c.version == version_of(fd, 1));
	c.expected = KERNEL_ADDRESS;
	c.expected_size = 2;
	FAILS(ioctl(fd, LLDS_CAS, &c), EFAULT);
	for (i = 0; i < 10; i++)
		CHECK(!ioctl(fd, LLDS_INCR, &n) && n.now == 5 * (i + 1));
	CHECK(is(fd, 2, "50"));
	n.by = -51;
	CHECK(!ioctl(fd, LLDS_INCR, &n) && is(fd, 2, "-1"));
	CHECK(!put(fd, 2, "9223372036854775807"));
	n.by = 1;
	FAILS(ioctl(fd, LLDS_INCR, &n), ERANGE);
	CHECK(!put(fd, 2, "1x"));
	FAILS(ioctl(fd, LLDS_INCR, &n), EDOM);
	CHECK(!put(fd, 2, "12345678901234567890123"));
	FAILS(ioctl(fd, LLDS_INCR, &n), EDOM);
	close(fd);
}

static void batches(void)
{
	enum { N = 1000 };
	static struct llds_set sets[N];
	static struct llds_get gets[N];
	static struct llds_delete dels[N];
	static char text[N][16], out[N][16];
	struct llds_batch b = { address(sets), N, 0, 0, 0 };
	int fd = store_fd(), i;

	for (i = 0; i < N; i++) {
		snprintf(text[i], sizeof(text[i]), "%d", i);
		sets[i] = (struct llds_set){
			i * 7919ull, address(text[i]), strlen(text[i]), 0, 0, 0, 9, 0
		};
		gets[i] = (struct llds_get){
			i * 7919ull + i % 2, address(out[i]), 16, 0, 0, 0, 9, 0
		};
		dels[i] = (struct llds_delete){ i * 7919ull, 0, 0, 9 };
	}
	sets[5].value = KERNEL_ADDRESS;
	sets[6].flags = 1u << 31;
	CHECK(!ioctl(fd, LLDS_MSET, &b) && b.done == N && b.good == N - 2);
	CHECK(sets[5].error == -EFAULT && sets[6].error == -EINVAL && !sets[7].error);
	b.elements = address(gets);
	gets[8].room = 0;
	CHECK(!ioctl(fd, LLDS_MGET, &b) && b.done == N && b.good == N / 2 - 2);
	CHECK(gets[6].error == -ENOENT && gets[7].error == -ENOENT && gets[8].error == -ERANGE &&
	      gets[8].size == 1);
	for (i = 10; i < N; i += 2)
		CHECK(!gets[i].error && gets[i].size == strlen(text[i]) &&
		      !memcmp(out[i], text[i], gets[i].size));
	b.elements = address(dels);
	CHECK(!ioctl(fd, LLDS_MDELETE, &b) && b.good == N - 2 && dels[5].error == -ENOENT);
	CHECK(stats(fd).items == 0);
	b.count = 0;
	FAILS(ioctl(fd, LLDS_MGET, &b), EINVAL);
	b.count = LLDS_BATCH_MAX + 1;
	FAILS(ioctl(fd, LLDS_MGET, &b), E2BIG);
	FAILS(ioctl(fd, LLDS_MSET, &b), E2BIG);
	FAILS(ioctl(fd, LLDS_MDELETE, &b), E2BIG);
	close(fd);
}

static void in_order(void)
{
	enum { N = 300 };
	static _Alignas(8) char buf[1 << 16];
	struct llds_iterate it = { 0, ~0ull, address(buf), sizeof(buf), 7, 0, 0, 0, 0, 0 };
	int fd = store_fd(), i, seen = 0;
	char text[16];

	for (i = 0; i < N; i++) {
		snprintf(text, sizeof(text), "%d", i);
		CHECK(!put(fd, i * 10, text));
	}
	do {
		char *at = buf;
		unsigned int k;

		it.count = 7;
		it.room = sizeof(buf);
		memset(buf, 0xee, sizeof(buf));
		CHECK(!ioctl(fd, LLDS_ITERATE, &it));
		for (k = 0; k < it.count; k++) {
			struct llds_record *r = (void *)at;
			char *value = at + sizeof(*r), *pad = value + r->size;

			snprintf(text, sizeof(text), "%d", seen);
			CHECK(r->key == seen * 10ull && r->size == strlen(text) &&
			      !memcmp(value, text, r->size));
			CHECK(r->version && !r->reserved);
			at += sizeof(*r) + (r->size + 7) / 8 * 8;
			for (; pad < at; pad++)
				CHECK(*pad == 0);
			seen++;
		}
		CHECK(at == buf + it.used && (unsigned char)*at == 0xee);
		it.from = it.next;
	} while (it.more);
	CHECK(seen == N);
	it = (struct llds_iterate){ 995, 5, address(buf), 100, 1024, 0, LLDS_BACKWARD, 0, 0, 0 };
	CHECK(!ioctl(fd, LLDS_ITERATE, &it) && it.count == 2 && it.more && it.next == 970);
	CHECK(((struct llds_record *)buf)->key == 990);
	it = (struct llds_iterate){ 0, ~0ull, address(buf), 10, 1, 0, 0, 0, 0, 0 };
	FAILS(ioctl(fd, LLDS_ITERATE, &it), ERANGE);
	CHECK(it.used == sizeof(struct llds_record) + 8);
	it = (struct llds_iterate){ 3000, ~0ull, address(buf), 100, 1, 0, 0, 0, 0, 0 };
	CHECK(!ioctl(fd, LLDS_ITERATE, &it) && !it.count && !it.more);
	it = (struct llds_iterate){ 0, 0, address(buf) + 1, 100, 1, 0, 0, 0, 0, 0 };
	FAILS(ioctl(fd, LLDS_ITERATE, &it), EINVAL);
	it = (struct llds_iterate){ 0, 0, KERNEL_ADDRESS, 100, 1, 0, 0, 0, 0, 0 };
	FAILS(ioctl(fd, LLDS_ITERATE, &it), EFAULT);
	CHECK(!ioctl(fd, LLDS_CLEAR) && stats(fd).items == 0);
	FAILS(get(fd, 10, NULL, 0), ENOENT);
	CHECK(!put(fd, 10, "again") && is(fd, 10, "again"));
	close(fd);
}

/* ---- what the module of 2012 got wrong ---- */

static void hole_user_pointer_dereferenced(void)
{
	static const unsigned int calls[] = { LLDS_GET,	   LLDS_SET,	   LLDS_DELETE,
					      LLDS_CAS,	   LLDS_INCR,	   LLDS_MGET,
					      LLDS_MSET,   LLDS_MDELETE,   LLDS_ITERATE,
					      LLDS_STATS,  LLDS_SET_LIMIT, LLDS_ATTACH,
					      LLDS_REMOVE, LLDS_GET_ABI };
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = store_fd();
	unsigned int i;

	munmap(page + 4096, 4096);
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		FAILS(ioctl(fd, calls[i], KERNEL_ADDRESS), EFAULT);
		FAILS(ioctl(fd, calls[i], 16), EFAULT);
		FAILS(ioctl(fd, calls[i], page + 4096 - 1), EFAULT); /* ends in the middle */
	}
	FAILS(set(fd, 1, (void *)KERNEL_ADDRESS, 8, 0, 0), EFAULT);
	FAILS(set(fd, 1, page + 4096 - 4, 8, 0, 0), EFAULT);
	FAILS(get(fd, 1, NULL, 0), ENOENT); /* nothing half done */
	CHECK(!put(fd, 1, "value"));
	FAILS(get(fd, 1, (void *)KERNEL_ADDRESS, 8), EFAULT);
	FAILS(get(fd, 1, page + 4096 - 2, 8), EFAULT);
	munmap(page, 4096);
	close(fd);
}

static atomic_bool stop;

static void *flip_size(void *arg)
{
	volatile uint32_t *size = arg;

	while (!stop) {
		*size = 8;
		*size = 1u << 19;
		*size = ~0u;
		*size = 0;
	}
	return NULL;
}

static void hole_length_read_twice(void)
{
	static char value[1 << 19];
	static struct llds_set s;
	int fd = store_fd(), i, size;
	pthread_t racer;

	s.value = address(value);
	stop = false;
	pthread_create(&racer, NULL, flip_size, (void *)&s.size);
	for (i = 0; i < tries; i++) {
		s.key = i & 15;
		s.flags = 0;
		if (ioctl(fd, LLDS_SET, &s) && errno != E2BIG && errno != ENOMEM)
			break;
		size = get(fd, i & 15, value, sizeof(value));
		if (size > 0 && size != 8 && size != 1 << 19)
			break;
	}
	stop = true;
	pthread_join(racer, NULL);
	CHECK(i == tries);
	close(fd);
}

static void hole_length_unchecked(void)
{
	static char value[LLDS_VALUE_MAX + 1];
	int fd = store_fd();
	uint64_t bytes;

	CHECK(!set(fd, 1, value, 0, 0, 0) && get(fd, 1, NULL, 0) == 0);
	bytes = stats(fd).bytes;
	FAILS(set(fd, 2, value, -1, 0, 0), E2BIG);
	FAILS(set(fd, 2, value, INT_MAX, 0, 0), E2BIG);
	FAILS(set(fd, 2, value, LLDS_VALUE_MAX + 1, 0, 0), E2BIG);
	CHECK(stats(fd).bytes == bytes && stats(fd).items == 1);
	CHECK(!set(fd, 2, value, LLDS_VALUE_MAX, 0, 0));
	CHECK(get(fd, 2, value, LLDS_VALUE_MAX) == LLDS_VALUE_MAX);
	CHECK(!del(fd, 2, 0, 0) && settles(fd, bytes));
	close(fd);
}

static void hole_get_overflows_buffer(void)
{
	static char value[100000];
	struct llds_get g = { 1, 0, 1, 0, 0, 0, 0, 0 };
	char out[3] = { 'a', 'b', 'c' };
	int fd = store_fd();

	memset(value, 'v', sizeof(value));
	CHECK(!set(fd, 1, value, sizeof(value), 0, 0));
	g.value = address(out + 1);
	FAILS(ioctl(fd, LLDS_GET, &g), ERANGE);
	CHECK(g.size == sizeof(value) && out[0] == 'a' && out[1] == 'v' && out[2] == 'c');
	close(fd);
}

struct race {
	int fd;
	unsigned int seed;
	int bad;
};

/* Every value is one byte repeated, its length a function of the byte. */
static void *race_thread(void *arg)
{
	struct race *race = arg;
	static __thread char buf[8192];
	unsigned int j;
	int i;

	for (i = 0; i < tries; i++) {
		unsigned int r = rand_r(&race->seed), key = r >> 8 & 7, c = r & 63;
		int size;

		switch (r >> 16 & 7) {
		case 0:
			del(race->fd, key, 0, 0);
			break;
		case 1:
			if (i % 64 == 0)
				ioctl(race->fd, LLDS_CLEAR);
			break;
		case 2:
		case 3:
			memset(buf, c, c * 128);
			set(race->fd, key, buf, c * 128, 0, 0);
			break;
		default:
			size = get(race->fd, key, buf, sizeof(buf));
			for (j = 0; (int)j < size; j++)
				race->bad += buf[j] * 128 != size;
		}
	}
	return NULL;
}

static void hole_use_after_free(void)
{
	struct race race[4];
	pthread_t thread[4];
	int fd = store_fd(), i;

	for (i = 0; i < 4; i++) {
		race[i] = (struct race){ fd, 1 + i, 0 };
		pthread_create(&thread[i], NULL, race_thread, &race[i]);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		CHECK(!race[i].bad);
	}
	CHECK(!ioctl(fd, LLDS_CLEAR) && stats(fd).items == 0);
	close(fd);
}

static void *add_thread(void *arg)
{
	struct llds_incr n = { 1, 1, 0, 0 };
	int i;

	for (i = 0; i < 3000; i++)
		if (ioctl(*(int *)arg, LLDS_INCR, &n))
			return arg;
	return NULL;
}

static void incr_is_atomic(void)
{
	pthread_t thread[4];
	int fd = store_fd(), i;
	void *bad = NULL, *ret;

	for (i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, add_thread, &fd);
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], &ret);
		bad = bad ? bad : ret;
	}
	CHECK(!bad && is(fd, 1, "12000"));
	close(fd);
}

static void hole_set_keeps_first_value(void)
{
	int fd = store_fd(), i;
	uint64_t bytes;

	CHECK(!put(fd, 1, "first"));
	bytes = stats(fd).bytes;
	for (i = 0; i < 1000; i++)
		CHECK(!put(fd, 1, i % 2 ? "third" : "secnd"));
	CHECK(is(fd, 1, "third") && settles(fd, bytes) &&
	      stats(fd).items == 1); /* duplicates do not leak */
	for (i = 0; i < 1000; i++)
		FAILS(set(fd, 1, (void *)8, 5, 0, 0), EFAULT);
	CHECK(is(fd, 1, "third") && settles(fd, bytes)); /* nor do failed copies */
	close(fd);
}

static void hole_unknown_call_inserts(void)
{
	static uint64_t arg[64];
	int fd = store_fd();
	unsigned int nr, dir, size;

	for (nr = 0; nr < 256; nr++)
		for (dir = 0; dir < 4; dir++)
			for (size = 0; size < 160; size += 4) {
				unsigned int cmd = _IOC(dir, LLDS_MAGIC, nr, size);

				if (nr >= 1 && nr <= 16)
					continue;
				FAILS(ioctl(fd, cmd, arg), ENOTTY);
			}
	FAILS(ioctl(fd, _IOC(3, LLDS_MAGIC, 2, sizeof(struct llds_set) + 8), arg), ENOTTY);
	FAILS(ioctl(fd, _IOC(1, LLDS_MAGIC, 2, sizeof(struct llds_set)), arg), ENOTTY);
	FAILS(ioctl(fd, 4, arg), ENOTTY); /* the wipe of 2012 */
	CHECK(stats(fd).items == 0);
	close(fd);
}

static void hole_flags_ignored(void)
{
	struct llds_set s = { 1, 0, 0, 0, 0, 0, 0, 1 };
	struct llds_get g = { 1, 0, 0, 0, 0, 0, 0, 1 };
	struct llds_batch b = { address(&g), 1, 0, 0, 1 };
	int fd = store_fd();

	FAILS(ioctl(fd, LLDS_SET, &s), EINVAL);
	FAILS(ioctl(fd, LLDS_GET, &g), EINVAL);
	FAILS(ioctl(fd, LLDS_MGET, &b), EINVAL);
	FAILS(set(fd, 1, "", 0, 1u << 4, 0), EINVAL);
	FAILS(set(fd, 1, "", 0, LLDS_ADD | LLDS_REPLACE, 0), EINVAL);
	FAILS(del(fd, 1, LLDS_ADD, 0), EINVAL);
	close(fd);
}

static void hole_read_and_write_claim_success(void)
{
	int fd = store_fd();
	char c = 0;

	FAILS(read(fd, &c, 1), EINVAL);
	FAILS(write(fd, &c, 1), EINVAL);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV);
	FAILS(lseek(fd, 0, SEEK_SET), ESPIPE);
	close(fd);
}

static void hole_one_tree_for_all(void)
{
	int a = store_fd(), b = store_fd();

	CHECK(!put(a, 1, "a") && !put(b, 1, "b") && !ioctl(b, LLDS_CLEAR));
	CHECK(is(a, 1, "a") && stats(b).items == 0);
	close(a);
	close(b);
}

static void hole_readers_write(void)
{
	struct llds_incr n = { 1, 1, 0, 0 };
	int fd = open(DEVICE, O_RDONLY), w = open(DEVICE, O_WRONLY);
	uint64_t limit = 1 << 20;

	FAILS(put(fd, 1, "x"), EBADF);
	FAILS(del(fd, 1, 0, 0), EBADF);
	FAILS(ioctl(fd, LLDS_INCR, &n), EBADF);
	FAILS(ioctl(fd, LLDS_CLEAR), EBADF);
	FAILS(ioctl(fd, LLDS_SET_LIMIT, &limit), EBADF);
	FAILS(get(fd, 1, NULL, 0), ENOENT);
	CHECK(!put(w, 1, "x"));
	FAILS(get(w, 1, NULL, 0), EBADF);
	FAILS(ioctl(w, LLDS_INCR, &n), EBADF);
	close(fd);
	close(w);
}

static int attach_as(int fd, const char *name, uint32_t flags, uint32_t mode)
{
	struct llds_attach a = { .mode = mode, .flags = flags };

	strncpy(a.name, name, LLDS_NAME_MAX);
	return ioctl(fd, LLDS_ATTACH, &a);
}

static int remove_name(const char *name)
{
	struct llds_name n = { { 0 } };
	int fd = store_fd(), ret, e;

	strncpy(n.name, name, LLDS_NAME_MAX);
	ret = ioctl(fd, LLDS_REMOVE, &n);
	e = errno;
	close(fd);
	errno = e;
	return ret;
}

static void names(void)
{
	int a = store_fd(), b = store_fd(), c = store_fd();
	struct llds_attach bad = { .flags = LLDS_CREATE };

	FAILS(attach_as(a, "t.names", 0, 0), ENOENT);
	FAILS(attach_as(a, "", LLDS_CREATE, 0), EINVAL);
	FAILS(attach_as(a, "a/b", LLDS_CREATE, 0), EINVAL);
	memset(bad.name, 'a', sizeof(bad.name)); /* no NUL */
	FAILS(ioctl(a, LLDS_ATTACH, &bad), EINVAL);
	CHECK(!attach_as(a, "t.names", LLDS_CREATE, 0600));
	FAILS(attach_as(a, "t.names", LLDS_CREATE, 0600), EBUSY);
	FAILS(attach_as(b, "t.names", LLDS_CREATE | LLDS_EXCLUSIVE, 0600), EEXIST);
	CHECK(!attach_as(b, "t.names", 0, 0) && !put(a, 1, "shared") && is(b, 1, "shared"));
	CHECK(stats(a).named == 1);
	close(a);
	close(b);
	CHECK(!put(c, 1, "own")); /* has its own store now */
	FAILS(attach_as(c, "t.names", 0, 0), EBUSY);
	close(c);
	a = store_fd();
	CHECK(!attach_as(a, "t.names", 0, 0) && is(a, 1, "shared") && !remove_name("t.names"));
	FAILS(remove_name("t.names"), ENOENT);
	CHECK(is(a, 1, "shared")); /* as long as it is open */
	close(a);
}

/* Runs in a child with another user id; the device is opened before. */
static int other_user(int fd, int anonymous)
{
	struct llds_attach a = { .name = "t.owner" };
	struct llds_name n = { .name = "t.owner" };
	uint64_t limit = 1ull << 40;

	if (setgroups(0, NULL) || setgid(1000) || setuid(1000))
		return 1;
	if (open(DEVICE, O_RDWR) >= 0 || errno != EACCES) /* 0600 from the start */
		return 2;
	if (ioctl(fd, LLDS_ATTACH, &a) != -1 || errno != EACCES)
		return 3;
	if (ioctl(fd, LLDS_REMOVE, &n) != -1 || errno != EPERM)
		return 4;
	if (ioctl(anonymous, LLDS_SET_LIMIT, &limit) != -1 || errno != EPERM)
		return 5;
	a.limit = limit;
	a.flags = LLDS_CREATE;
	a.name[0] = 'u';
	if (ioctl(fd, LLDS_ATTACH, &a) != -1 || errno != EPERM)
		return 6;
	return is(anonymous, 1, "passed on") ? 0
					     : 7; /* a descriptor passed on is a store passed on */
}

static void hole_no_permissions(void)
{
	int owner = store_fd(), fd = store_fd(), anonymous = store_fd(), status;
	pid_t child;

	CHECK(!attach_as(owner, "t.owner", LLDS_CREATE, 0600) && !put(owner, 1, "secret"));
	CHECK(!put(anonymous, 1, "passed on"));
	child = fork();
	if (!child)
		_exit(other_user(fd, anonymous));
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(!remove_name("t.owner"));
	close(owner);
	close(fd);
	close(anonymous);
}

static void hole_no_limit(void)
{
	static char value[4096];
	int fd = store_fd(), i;
	uint64_t limit = 1 << 20;
	struct llds_stats full;
	struct llds_set s;

	CHECK(!ioctl(fd, LLDS_SET_LIMIT, &limit));
	for (i = 0; i < 10000 && !set(fd, i, value, sizeof(value), 0, 0); i++)
		;
	CHECK(i > 100 && i < 256 && errno == ENOSPC);
	full = stats(fd);
	CHECK(full.bytes <= limit && full.items == (uint64_t)i);
	FAILS(set(fd, 0, value, sizeof(value), 0, 0), ENOSPC); /* the old value stays */
	CHECK(get(fd, 0, value, sizeof(value)) == sizeof(value));
	CHECK(!del(fd, 0, 0, 0) && !set(fd, 0, value, sizeof(value), 0, 0));
	s = (struct llds_set){ 0, address(value), sizeof(value), 0, 0, 1, 0, 0 };
	CHECK(!del(fd, 0, 0, 0) && !ioctl(fd, LLDS_SET, &s)); /* expired at once: it makes room */
	CHECK(!set(fd, i, value, sizeof(value), 0, 0) && stats(fd).items == full.items);
	CHECK(!ioctl(fd, LLDS_CLEAR));
	for (i = 0; i < 100000 && !set(fd, i, NULL, 0, 0, 0); i++) /* the index counts too */
		;
	CHECK(i < 40000 && errno == ENOSPC);
	close(fd);
}

/* ---- io_uring ---- */

#ifndef IORING_OP_URING_CMD
#define IORING_OP_URING_CMD 46
#endif

static void uring(void)
{
	enum { N = 32 };
	struct io_uring_params p;
	struct llds_get gets[N];
	static char out[N][16];
	int fd = store_fd(), ring, i;
	char *sq, *cq, *sqes, text[16];

	memset(&p, 0, sizeof(p));
	ring = (int)syscall(SYS_io_uring_setup, 64, &p);
	if (ring < 0) {
		printf("skipped: uring: no io_uring here\n");
		return;
	}
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, 3, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * 16, 3, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqes = mmap(NULL, p.sq_entries * 64, 3, MAP_SHARED, ring, IORING_OFF_SQES);
	CHECK(sq != MAP_FAILED && cq != MAP_FAILED && sqes != MAP_FAILED);
	for (i = 0; i < N; i++) {
		struct io_uring_sqe *sqe = (void *)(sqes + 64 * i);
		struct llds_uring *u = (void *)((char *)sqe + 48);

		snprintf(text, sizeof(text), "%d", i);
		CHECK(!put(fd, i, text));
		gets[i] = (struct llds_get){ i, address(out[i]), 16, 0, 0, 0, 0, 0 };
		memset(sqe, 0, 64);
		sqe->opcode = IORING_OP_URING_CMD;
		sqe->fd = fd;
		sqe->cmd_op = i == 30 ? LLDS_CLEAR + 100 : i == 29 ? LLDS_STATS : LLDS_GET;
		sqe->user_data = i;
		u->argument = i == 28 ? KERNEL_ADDRESS
				      : address(i == 29 ? (void *)out : (void *)&gets[i]);
		u->reserved = i == 31;
		((unsigned int *)(sq + p.sq_off.array))[i] = i;
	}
	unsigned int *tail = (unsigned int *)(sq + p.sq_off.tail);
	__atomic_store_n(tail, N, __ATOMIC_RELEASE);
	CHECK(syscall(SYS_io_uring_enter, ring, N, N, IORING_ENTER_GETEVENTS, NULL, 0) == N);
	CHECK(__atomic_load_n((unsigned int *)(cq + p.cq_off.tail), __ATOMIC_ACQUIRE) == N);
	for (i = 0; i < N; i++) {
		struct io_uring_cqe *cqe = (struct io_uring_cqe *)(cq + p.cq_off.cqes) + i;
		int n = (int)cqe->user_data, want = n == 31   ? -EINVAL
						    : n == 30 ? -ENOTTY
						    : n == 28 ? -EFAULT
							      : 0;

		CHECK(cqe->res == want);
		snprintf(text, sizeof(text), "%d", n);
		if (n && n < 28)
			CHECK(gets[n].size == strlen(text));
	}
	close(ring);
	close(fd);
}

/* ---- */

#define TEST(name) { #name, name }
static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	TEST(abi),
	TEST(one_key),
	TEST(expiry),
	TEST(cas_and_incr),
	TEST(batches),
	TEST(in_order),
	TEST(names),
	TEST(incr_is_atomic),
	TEST(uring),
	TEST(hole_user_pointer_dereferenced),
	TEST(hole_length_read_twice),
	TEST(hole_length_unchecked),
	TEST(hole_get_overflows_buffer),
	TEST(hole_use_after_free),
	TEST(hole_set_keeps_first_value),
	TEST(hole_unknown_call_inserts),
	TEST(hole_flags_ignored),
	TEST(hole_read_and_write_claim_success),
	TEST(hole_one_tree_for_all),
	TEST(hole_readers_write),
	TEST(hole_no_permissions),
	TEST(hole_no_limit),
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
		struct timespec start, end;

		for (k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], tests[i].name);
		if (!wanted)
			continue;
		clock_gettime(CLOCK_MONOTONIC, &start);
		tests[i].run();
		clock_gettime(CLOCK_MONOTONIC, &end);
		printf("llds_test: %s: %s (%ld s)\n", tests[i].name,
		       failures == before ? "pass" : "FAIL", (long)(end.tv_sec - start.tv_sec));
		run++;
	}
	printf("llds_test: %u passed, %d failed\n", run - failures, failures);
	return failures || !run;
}
