/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * key.c - keys as sequences of slices: where two differ, and which is first.
 */
#include "set/bytes/key.h"

u64 lath_bytes_agree(const u8 *a, const u8 *b, u64 most)
{
	u64 n = 0;

	for (; n + 8 <= most; n += 8) {
		u64 x, y;

		memcpy(&x, a + n, 8);
		memcpy(&y, b + n, 8);
		if (x != y)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			return n + __ffs64(x ^ y) / 8;
#else
			return n + (64 - fls64(x ^ y)) / 8;
#endif
	}
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

u64 lath_bytes_fork(const struct want *a, const struct want *b)
{
	u64 most = min(a->size, b->size), depth;
	u64 agree = lath_bytes_agree(a->data, b->data, most);

	/* one that is beyond others has no last step, so none in which it differs */
	LATH_ASSERT(!a->beyond && !b->beyond);
	depth = agree & ~(u64)(STEP - 1);
	if (agree < most)
		return rank_of_bytes(depth);
	if (a->size == b->size)
		return TAG;
	/* one is a prefix of the other one: its padding may look like the other's bytes */
	return rank_of_bytes(depth) + (bytes_at(a, depth) == bytes_at(b, depth));
}

int lath_bytes_compare(const struct want *a, const struct want *b)
{
	u64 most = min(a->size, b->size);
	int c = most ? memcmp(a->data, b->data, most) : 0;

	LATH_ASSERT(!b->beyond);
	if (c)
		return c < 0 ? -1 : 1;
	/* it is behind all keys that begin with its bytes, of whatever size */
	if (a->beyond)
		return 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}
