/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * large_pages.c - a kernel whose pages have LATH_TEST_PAGE bytes, played behind the calls of the
 * library (the linker's --wrap): it maps, unmaps, protects and advises whole pages and refuses an
 * address in the middle of one. sysconf() says 4096, as an emulator does on such a host.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page(void)
{
	const char *size = getenv("LATH_TEST_PAGE");

	return size ? strtoul(size, NULL, 10) : 4096;
}

static size_t whole(size_t size)
{
	return (size + page() - 1) / page() * page();
}

void *__real_mmap(void *at, size_t size, int access, int flags, int fd, off_t from);
int __real_munmap(void *at, size_t size);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t from)
{
	size_t head;
	char *map;

	if ((uintptr_t)at % page()) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if (at || fd >= 0)
		return __real_mmap(at, whole(size), access, flags, fd, from);
	map = __real_mmap(NULL, whole(size) + page(), access, flags, fd, from);
	if (map == MAP_FAILED)
		return map;
	head = -(uintptr_t)map & (page() - 1);
	if (head)
		__real_munmap(map, head);
	__real_munmap(map + head + whole(size), page() - head);
	return map + head;
}

#define REFUSE_A_PART(at)                       \
	do {                                    \
		if ((uintptr_t)(at) % page()) { \
			errno = EINVAL;         \
			return -1;              \
		}                               \
	} while (0)

int __wrap_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size)
{
	REFUSE_A_PART(at);
	return __real_munmap(at, whole(size));
}

int __real_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice)
{
	REFUSE_A_PART(at);
	return __real_madvise(at, whole(size), advice);
}
