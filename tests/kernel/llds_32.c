/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * llds_32 - a 32-bit program without a C library (tools/kernel-run builds it so): the structs of
 * the interface are the same for it. Exit code: 0, or the step that failed.
 */
#include "llds.h"

#define O_RDWR 2
#define SYS_exit 1
#define SYS_open 5
#define SYS_ioctl 54

_Static_assert(sizeof(void *) == 4, "built for 32 bits");
_Static_assert(sizeof(struct llds_get) == 48 && sizeof(struct llds_set) == 48, "as in 64 bits");
_Static_assert(sizeof(struct llds_delete) == 24 && sizeof(struct llds_cas) == 40, "as in 64 bits");
_Static_assert(sizeof(struct llds_incr) == 32 && sizeof(struct llds_batch) == 24, "as in 64 bits");
_Static_assert(sizeof(struct llds_iterate) == 56 && sizeof(struct llds_record) == 32,
	       "as in 64 bits");
_Static_assert(sizeof(struct llds_stats) == 64 && sizeof(struct llds_attach) == 80,
	       "as in 64 bits");

static int call(int number, long a, long b, long c)
{
	int ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return ret;
}

static int test(void)
{
	static char value[] = "of 32 bits", out[16];
	struct llds_set set = { 1ull << 40, (unsigned long)value, sizeof(value), 0, 0, 0, 0, 0 };
	struct llds_get get = { 1ull << 40, (unsigned long)out, sizeof(out), 0, 0, 0, 0, 0 };
	struct llds_batch batch = { (unsigned long)&get, 1, 0, 0, 0 };
	struct llds_incr incr = { 2, -(1ll << 40), 0, 0 };
	int fd = call(SYS_open, (long)"/dev/llds", O_RDWR, 0);
	unsigned int i;

	if (fd < 0)
		return 1;
	if (call(SYS_ioctl, fd, LLDS_SET, (long)&set))
		return 2;
	if (call(SYS_ioctl, fd, LLDS_GET, (long)&get) || get.size != sizeof(value) ||
	    get.version != set.version)
		return 3;
	for (i = 0; i < sizeof(value); i++)
		if (out[i] != value[i])
			return 4;
	if (call(SYS_ioctl, fd, LLDS_MGET, (long)&batch) || batch.good != 1)
		return 5;
	if (call(SYS_ioctl, fd, LLDS_INCR, (long)&incr) || incr.now != -(1ll << 40))
		return 6;
	set.value = 0xc0000000; /* the end of a 32-bit program's memory */
	return call(SYS_ioctl, fd, LLDS_SET, (long)&set) == -14 ? 0 : 7;
}

void _start(void)
{
	call(SYS_exit, test(), 0, 0);
	for (;;)
		;
}
