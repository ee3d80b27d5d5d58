/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The words of sys.h mean the same in every host.
 */
#include "base/unit.h"

int words_unit(void);

struct outer {
	u32 first;
	struct lath_rcu_head head;
};

static u64 ran;

static void on_retired(struct lath_rcu_head *head)
{
	lath_retired();
	WRITE_ONCE(ran, container_of(head, struct outer, head)->first);
}

static int bits(void)
{
	CHECK(__ffs64(1) == 0 && __ffs64(1ull << 63) == 63 && __ffs64(0xf0) == 4);
	CHECK(fls64(0ull) == 0 && fls64(1) == 1 && fls64(~0ull) == 64);
	CHECK(hweight64(0ull) == 0 && hweight64(~0ull) == 64 &&
	      hweight64(0x8000000000000001ull) == 2);
	CHECK(min(3u, 4u) == 3 && max(3u, 4u) == 4);
	return 0;
}

static int memory_order(void)
{
	u64 word = 5;

	CHECK(READ_ONCE(word) == 5);
	WRITE_ONCE(word, 6);
	CHECK(smp_load_acquire(&word) == 6);
	smp_store_release(
		&word,
		7); /* pairs with the load above in another thread; here only the value counts */
	CHECK(cmpxchg_acquire(&word, 6, 9) == 7 && word == 7);
	CHECK(cmpxchg_acquire(&word, 7, 9) == 7 && word == 9);
	CHECK(lath_fetch_add(&word, 3) == 9 && word == 12);
	return 0;
}

static int locks(void)
{
	struct lath_spinlock lock;
	unsigned int rounds = 0, i;

	lath_spin_init(&lock);
	lath_call_enter();
	for (i = 0; i < 2; i++) {
		lath_spin_lock(&lock);
		lath_spin_unlock(&lock);
	}
	lath_call_exit();
	for (i = 0; i < 100; i++)
		lath_spin_wait(&rounds);
	CHECK(rounds == 100);
	return 0;
}

static int pages(void)
{
	size_t size = 64 << 10, i;
	u8 *p = lath_pages_alloc(size, PAGES_PRESENT);

	CHECK(p);
	CHECK(((uintptr_t)p & 4095) == 0);
	for (i = 0; i < size; i++)
		CHECK(p[i] == 0);
	memset(p, 0xa5, size);
	lath_pages_free(p, size);
	return 0;
}

static int readers(void)
{
	static struct outer outer;

	outer.first = 42;
	ran = 0;
	lath_reader_enter(&lath_rcu_auto);
	lath_retire(&lath_rcu_auto, &outer.head, on_retired);
	lath_reader_exit(&lath_rcu_auto);
	lath_retire_drain(&lath_rcu_auto);
	CHECK(READ_ONCE(ran) == 42);
	return 0;
}

int words_unit(void)
{
	int line;

	if ((line = bits()) || (line = memory_order()) || (line = locks()) || (line = pages()))
		return line;
	return readers();
}
