/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * image.c - save and load: what is allocated in a space, as a stream of bytes.
 *
 *   header 32 bytes   magic "lathruns", version 1 (4 bytes), 0 (4), unit (8), 0 (4), CRC-32C of
 *                     these
 *   block  24 bytes   length of the payload (4), number of the block (4), number of runs up to its
 *                     end (8), CRC-32C of the payload (4), CRC-32C of these
 *          payload    runs, in units: keys from the end of the run before (the first in the stream:
 *                     from key 0), length - 1
 *   ...
 *   end    24 bytes   a block without payload
 *
 * All numbers are little-endian, those of runs LEB128. Runs ascend.
 */
#include "space/segment.h"
#include "space/source/set.h"

#define MAGIC "lathruns"
#define VERSION 1
#define HEADER 32
#define BLOCK_HEADER 24
#define PAYLOAD 4096
#define RUN_MOST 20 /* bytes */

/* From this many runs in a block of units on, load makes it an arena: it takes less memory than the
 * items, and small requests are served faster. */
#define ARENA_RUNS 16

/* Returns the CRC-32C of the data: by halves of bytes, with a table of 64 bytes. */
static u32 crc32c(const u8 *data, size_t size)
{
	static const u32 table[16] = { 0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
				       0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
				       0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
				       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75 };
	u32 crc = ~0u;

	for (; size; size--) {
		crc ^= *data++;
		crc = table[crc & 15] ^ crc >> 4;
		crc = table[crc & 15] ^ crc >> 4;
	}
	return ~crc;
}

/* Writes a number of this many bytes, the lowest first. */
static void put(u8 *to, u64 number, unsigned int bytes)
{
	for (; bytes; bytes--, number >>= 8)
		*to++ = (u8)number;
}

/* Reads a number that put() wrote. */
static u64 get(const u8 *from, unsigned int bytes)
{
	u64 number = 0;

	while (bytes--)
		number = number << 8 | from[bytes];
	return number;
}

/* ---- save ---- */

struct saver {
	struct walk walk;
	lath_space_write_fn write;
	void *arg;
	u64 runs, end; /* end: of the last run, in units */
	u32 block, size;
	u8 data[BLOCK_HEADER + PAYLOAD];
};

/* Appends a number to the payload: seven bits per byte, the lowest first. */
static void put_number(struct saver *s, u64 n)
{
	u8 *to = s->data + BLOCK_HEADER;

	for (; n >= 0x80; n >>= 7)
		to[s->size++] = (u8)(n | 0x80);
	to[s->size++] = (u8)n;
	LATH_ASSERT(s->size <= PAYLOAD);
}

/* Writes the block that was filled; without runs it is the end. 0 | what write() returned */
static int write_block(struct saver *s)
{
	u32 size = BLOCK_HEADER + s->size;

	/* the sum of the payload first: that of the header includes it */
	put(s->data, s->size, 4);
	put(s->data + 4, s->block++, 4);
	put(s->data + 8, s->runs, 8);
	put(s->data + 16, crc32c(s->data + BLOCK_HEADER, s->size), 4);
	put(s->data + 20, crc32c(s->data, 20), 4);
	s->size = 0;
	return s->write(s->arg, s->data, size);
}

/* 0 | what write() returned */
static int write_header(struct saver *s, u64 unit)
{
	u8 header[HEADER] = MAGIC;

	put(header + 8, VERSION, 4);
	put(header + 16, unit, 8);
	put(header + 28, crc32c(header, 28), 4);
	return s->write(s->arg, header, HEADER);
}

/* Writes all runs in blocks, and the end. 0 | what write() returned. No lock held. */
static int write_runs(struct saver *s)
{
	struct lath_space *space = s->walk.space;
	struct lath_item run;
	u64 from = 0;
	int ret = 0, none;

	/* a call per run: write() may wait, which no call does */
	do {
		lath_call_enter();
		none = lath_walk_next(&s->walk, from, true, &run);
		lath_call_exit();
		if (none)
			break;
		LATH_ASSERT(units_of(space, run.key) >= s->end);
		put_number(s, units_of(space, run.key) - s->end);
		put_number(s, units_of(space, run.size - space->config.unit));
		/* of the end, not of the start: differences stay small behind long runs */
		from = run.key + run.size; /* 0: 2^64 */
		s->end = units_of(space, from);
		s->runs++;
		if (s->size > PAYLOAD - RUN_MOST) /* the next run may not fit */
			ret = write_block(s);
	} while (!ret && from);
	if (!ret && s->size)
		ret = write_block(s);
	/* the block without a payload: a stream that was cut has none */
	return ret ? ret : write_block(s);
}

int lath_space_save(struct lath_space *space, lath_space_write_fn write, void *arg)
{
	struct saver *s;
	int ret;

	s = lath_space_memory_alloc(space, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->walk.space = space;
	s->walk.block = NO_BLOCK;
	s->write = write;
	s->arg = arg;
	/* nothing is locked between runs, so write() may take its time, or call the space */
	ret = write_header(s, space->config.unit);
	if (!ret)
		ret = write_runs(s);
	lath_space_memory_free(space, s, sizeof(*s));
	return ret;
}

/* ---- load ---- */

struct loader {
	struct lath_space *space;
	lath_space_read_fn read;
	void *arg;
	u64 cookie;
	char *report;
	size_t report_size;
	u64 at; /* bytes read */
	u64 runs, end;
	u32 number;
	bool full;	      /* the last run ends at the last key */
	u64 block;	      /* the block of units whose runs are collected, or NO_BLOCK; */
	unsigned int pieces;  /* their number; */
	u64 map[ARENA_WORDS]; /* 1: allocated */
	u8 header[BLOCK_HEADER];
	u8 data[PAYLOAD];
};

/* Writes a report that names the byte and what is wrong there. Returns `error`. */
static int refuse(struct loader *l, int error, const char *what)
{
	if (l->report_size)
		snprintf(l->report, l->report_size, "at byte %llu: %s", (unsigned long long)l->at,
			 what);
	return error;
}

/* Reads exactly `size` bytes. 0 | -EBADMSG (fewer) | what read() returned */
static int read_all(struct loader *l, void *data, size_t size)
{
	u8 *to = data;

	while (size) {
		s64 n = l->read(l->arg, to, size);

		/* an error of the caller's; 0 bytes, or more than there is room for: a broken
		 * stream */
		if (n < 0)
			return refuse(l, (int)n, "it cannot be read");
		if (!n || (u64)n > size)
			return refuse(l, -EBADMSG, "it ends too early");
		to += n;
		size -= (size_t)n;
		l->at += (u64)n;
	}
	return 0;
}

/* Takes [key, key + size), in the segment, in spite of its limit. 0 | -EBUSY | -ENOMEM */
static int load_range(struct loader *l, struct segment *segment, u64 key, u64 size)
{
	return lath_reserve_range(l->space, segment, segment_count(segment, size), key, size,
				  l->cookie);
}

/* Opens an arena for the collected block if it has many runs and lies in one set. */
static void load_arena(struct loader *l, struct segment *segment, u64 key)
{
	unsigned int part;

	/* in the part that has all of the block, if one has: lath_set_grow_at() looks; without an arena
	 * the runs become items */
	for (part = 0; l->pieces >= ARENA_RUNS && part < PARTS; part++)
		if (lath_set_grow_at(l->space, &segment->set[part], key))
			break;
}

/* Takes the runs of the block that were collected. 0 | -EBUSY | -ENOMEM */
static int load_block(struct loader *l)
{
	u64 key = l->block * l->space->arena_size, unit, n;
	struct segment *segment;
	int ret = 0;

	if (l->block == NO_BLOCK) /* nothing is collected */
		return 0;
	for (unit = 0; unit < ARENA_UNITS && !ret; unit += n) {
		u64 first = key + (unit << l->space->unit_shift);

		n = lath_map_run(l->map, unit);
		if (!(l->map[unit / 64] >> unit % 64 & 1))
			continue;			    /* free */
		segment = lath_segment_of(l->space, first); /* two may share the block */
		LATH_ASSERT(segment);
		n = min(n - 1, units_of(l->space, segment->high - 1 - first)) + 1;
		/* before the first of its runs: an arena is opened for a free block */
		if (l->pieces)
			load_arena(l, segment, key);
		l->pieces = 0;
		ret = load_range(l, segment, first, n << l->space->unit_shift);
	}
	l->block = NO_BLOCK;
	l->pieces = 0;
	memset(l->map, 0, sizeof(l->map));
	return ret;
}

/* Collects n units of one block, which come behind those collected so far. */
static int load_units(struct loader *l, u64 block, u64 unit, u64 n)
{
	int ret = block == l->block ? 0 : load_block(l); /* runs ascend: the last one is complete */

	LATH_ASSERT(n && n <= ARENA_UNITS && unit <= ARENA_UNITS - n);
	l->block = block;
	l->pieces++;
	for (; n; n--, unit++)
		l->map[unit / 64] |= 1ull << unit % 64;
	return ret;
}

/* Takes a run: whole blocks at once, what is left at its ends with the other runs of these blocks.
 * 0 | -EINVAL | -EBUSY | -ENOMEM */
static int load_run(struct loader *l, u64 key, u64 size)
{
	struct lath_space *space = l->space;
	struct segment *segment = lath_segment_of(space, key);
	u64 whole, piece;
	int ret = 0;

	/* an allocation crosses no segment, so what does was saved from other segments */
	if (!segment || lath_segment_of(space, key + (size - 1)) != segment)
		return refuse(l, -EINVAL, "a run is not within one segment of this space");
	if (!has_arenas(space))
		return load_range(l, segment, key, size);
	while (size && !ret) {
		/* blocks that are full need no bitmap: one item, however many they are */
		whole = key & (space->arena_size - 1) ? 0 : size & ~(space->arena_size - 1);
		piece = whole ? whole : piece_of(space, key, size);
		ret = whole ? load_range(l, segment, key, whole)
			    : load_units(l, key / space->arena_size,
					 units_of(space, key) % ARENA_UNITS,
					 units_of(space, piece));
		key += piece;
		size -= piece;
	}
	return ret;
}

/* Reads a number from the payload. Returns whether there is one. */
static bool get_number(const u8 **at, const u8 *end, u64 *n)
{
	unsigned int shift;

	*n = 0;
	for (shift = 0; *at < end; shift += 7) {
		u8 byte = *(*at)++;

		/* the tenth byte has one bit */
		if (shift == 63 && byte > 1) /* more than 64 bits */
			break;
		*n |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* Reads one run from the payload and takes it. */
static int load_one(struct loader *l, const u8 **at, const u8 *end)
{
	unsigned int shift = l->space->unit_shift;
	u64 most = KEY_MAX >> shift, gap, more, size;
	int ret;

	/* compared by differences, which do not wrap around */
	if (!get_number(at, end, &gap) || !get_number(at, end, &more) || l->full ||
	    gap > most - l->end || more > most - l->end - gap)
		return refuse(l, -EBADMSG, "a block whose runs make no sense");
	gap += l->end;
	/* behind a run to the last key there is no key from which another gap could be counted */
	l->full = gap + more == most;
	l->end = l->full ? most : gap + more + 1;
	l->runs++;
	size = (more + 1) << shift;
	if (size)
		return load_run(l, gap << shift, size);
	/* the size wrapped to 0: in two halves */
	ret = load_run(l, 0, 1ull << 63); /* all keys are more than a size can say */
	return ret ? ret : load_run(l, 1ull << 63, 1ull << 63);
}

/* Takes the runs of a payload; behind the last block, without one, what is still collected. Results
 * as those of load_run(). */
static int load_payload(struct loader *l, u32 size)
{
	const u8 *at = l->data, *end = at + size;
	int ret = 0;

	lath_call_enter();
	while (at < end && !ret)
		ret = load_one(l, &at, end);
	if (!ret && !size) /* the end */
		ret = load_block(l);
	lath_call_exit();
	return ret;
}

/* Reads a block. 1: it was the end | 0 | errors as lath_space_load() */
static int read_block(struct loader *l)
{
	u64 runs;
	u32 size;
	int ret = read_all(l, l->header, BLOCK_HEADER);

	if (ret)
		return ret;
	size = (u32)get(l->header, 4);
	runs = get(l->header + 8, 8);
	if (get(l->header + 20, 4) != crc32c(l->header, 20) || size > PAYLOAD)
		return refuse(l, -EBADMSG, "the header of a block is damaged");
	if (get(l->header + 4, 4) != l->number++)
		return refuse(l, -EBADMSG, "a block is missing, or out of order");
	ret = read_all(l, l->data, size);
	if (ret)
		return ret;
	if (get(l->header + 16, 4) != crc32c(l->data, size))
		return refuse(l, -EBADMSG, "a block is damaged");
	ret = load_payload(l, size);
	if (!ret && l->runs != runs)
		ret = refuse(l, -EBADMSG, "a block with a wrong number of runs");
	return ret ? ret : !size;
}

/* Reads and checks the header. 0 | -EBADMSG | -EINVAL | what read() returned */
static int read_header(struct loader *l)
{
	u8 header[HEADER];
	int ret = read_all(l, header, HEADER);

	if (ret)
		return ret;
	if (memcmp(header, MAGIC, 8) != 0)
		return refuse(l, -EBADMSG, "it is not a saved space");
	/* damage is told from another version: first the sum, then what it covers */
	if (get(header + 28, 4) != crc32c(header, 28))
		return refuse(l, -EBADMSG, "the header is damaged");
	if (get(header + 8, 4) != VERSION)
		return refuse(l, -EBADMSG, "it is of another version");
	if (get(header + 16, 8) != l->space->config.unit)
		return refuse(l, -EINVAL, "it has another unit than the space");
	return 0;
}

/* Frees what is allocated, which is all of the load's. */
static void undo(struct lath_space *space)
{
	struct walk walk = { .space = space, .block = NO_BLOCK };
	struct lath_item run;
	u64 from = 0, size;

	lath_call_enter();
	do {
		if (lath_walk_next(&walk, from, true, &run))
			break;				 /* nothing is left */
		size = run.size ? run.size : 1ull << 63; /* all keys: half of them first */
		lath_free_range(space, run.key, size);
		from = run.key + size;
	} while (from);
	lath_space_reclaim(space);
	lath_call_exit();
}

int lath_space_load(struct lath_space *space, lath_space_read_fn read, void *arg, uint64_t cookie,
		    char *report, size_t report_size)
{
	struct lath_item run;
	struct loader *l;
	int ret;

	if (report_size)
		*report = 0;
	if (cookie == arena_mark(space))
		return -EINVAL;
	/* what is there could not be told from what the load took, if it has to be undone */
	if (!lath_space_next(space, 0, &run))
		return -EBUSY;
	lath_space_trim(space); /* arenas that are empty would take the place of items */
	l = lath_space_memory_alloc(space, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->space = space;
	l->read = read;
	l->arg = arg;
	l->cookie = cookie;
	l->report = report;
	l->report_size = report_size;
	l->block = NO_BLOCK;
	ret = read_header(l);
	while (!ret)
		ret = read_block(l);
	if (ret < 0) /* the space was empty before, and is again */
		undo(space);
	lath_space_memory_free(space, l, sizeof(*l));
	return min(ret, 0);
}
