/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * value.c - words, numbers as text, and the server's memory.
 */
#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "api.h"
#include "lathwork/config.h"
#include "value.h"

struct block {
	uint32_t size;
	char data[];
};

/* For assertions: returns whether the word is one that value_make() makes. Of a short string the
 * bytes that it does not use are 0, so that equal strings are equal words. */
static FOR_ASSERTIONS bool well_formed(word value)
{
	switch (value & VALUE_KIND) {
	case VALUE_BLOCK:
		return value != 0;
	case VALUE_SHORT:
		return !(value & 0xe0) && !(value >> 8 >> 8 * (value >> 2 & 7));
	default:
		return (value & VALUE_KIND) == VALUE_NUMBER;
	}
}

static struct block *block_of(word value)
{
	LATH_ASSERT(value && value_owns(value));
	return (struct block *)(uintptr_t)value;
}

bool number_parse(const char *data, size_t size, uint64_t *number)
{
	uint64_t n = 0;
	size_t i;

	if (!size || size > 20 || (data[0] == '0' && size > 1))
		return false;
	for (i = 0; i < size; i++) {
		unsigned int digit = (unsigned int)(unsigned char)data[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, digit, &n))
			return false;
	}
	*number = n;
	return true;
}

/* Writes the number at the end of the text. */
static struct bytes number_view(char *text, uint64_t number)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";
	size_t at = VALUE_TEXT;

	for (; number >= 100; number /= 100)
		memcpy(text + (at -= 2), pairs + 2 * (number % 100), 2);
	if (number >= 10)
		memcpy(text + (at -= 2), pairs + 2 * number, 2);
	else
		text[--at] = (char)('0' + number);
	return (struct bytes){ text + at, VALUE_TEXT - at };
}

size_t number_print(char *text, uint64_t number)
{
	char digits[VALUE_TEXT];
	struct bytes view = number_view(digits, number);

	memcpy(text, view.data, view.size);
	return view.size;
}

bool number_read(struct bytes text, uint64_t *number)
{
	for (; text.size > 1 && *text.data == '0'; text.size--)
		text.data++;
	return number_parse(text.data, text.size, number);
}

bool signed_read(struct bytes text, int64_t *number)
{
	bool minus = text.size && *text.data == '-';
	uint64_t most = (uint64_t)INT64_MAX + minus, n;

	text.data += minus;
	text.size -= minus;
	if (!number_read(text, &n) || n > most || (minus && !n))
		return false;
	*number = minus ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

size_t signed_print(char *text, int64_t number)
{
	if (number >= 0)
		return number_print(text, (uint64_t)number);
	*text = '-';
	return 1 + number_print(text + 1, 0 - (uint64_t)number);
}

word value_make(const char *data, size_t size)
{
	struct block *block;
	uint64_t number;

	if (size <= 19 && number_parse(data, size, &number) && number < 1ull << 62)
		return number << 2 | VALUE_NUMBER;
	if (size <= 7) {
		word value = VALUE_SHORT | size << 2;

		while (size--)
			value |= (word)(unsigned char)data[size] << (8 + 8 * size);
		return value;
	}
	if (size > VALUE_MAX)
		return 0;
	block = vk.TryAlloc(sizeof(*block) + size);
	if (!block)
		return 0;
	/* the two lowest bits of the address say that the word is a block */
	LATH_ASSERT(!((uintptr_t)block & VALUE_KIND));
	block->size = (uint32_t)size;
	memcpy(block->data, data, size);
	return (word)(uintptr_t)block;
}

void value_free(word value)
{
	LATH_ASSERT(well_formed(value));
	if (value_owns(value))
		vk.Free(block_of(value));
}

struct bytes value_view(const word *value, char *text)
{
	LATH_ASSERT(well_formed(*value));
	switch (*value & VALUE_KIND) {
	case VALUE_BLOCK:
		return (struct bytes){ block_of(*value)->data, block_of(*value)->size };
	case VALUE_SHORT:
		memcpy(text, (const char *)value + 1, 7); /* little-endian hosts only */
		return (struct bytes){ text, *value >> 2 & 7 };
	default:
		return number_view(text, *value >> 2);
	}
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "short strings are read in place");

int compare_bytes(struct bytes a, struct bytes b)
{
	int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

	return order ? order : (a.size > b.size) - (a.size < b.size);
}

bool value_equal(word value, const char *data, size_t size)
{
	char text[VALUE_TEXT];
	struct bytes view = value_view(&value, text);

	return view.size == size && !memcmp(view.data, data, size);
}

struct hash hash_bytes(struct bytes bytes)
{
	static uint64_t seed;
	XXH128_hash_t hash;

	if (!seed && (getrandom(&seed, sizeof(seed), 0) != sizeof(seed) || !seed))
		seed = 1;
	hash = XXH3_128bits_withSeed(bytes.data, bytes.size, seed);
	return (struct hash){ hash.low64, hash.high64 };
}

size_t value_memory(word value)
{
	return value_owns(value) ? (sizeof(struct block) + block_of(value)->size + 7) & ~7ul : 0;
}

/* ---- memory ----
 *
 * The library wants lines of 64 bytes, or 16 for small blocks; the server's allocator promises 16.
 * jemalloc gives more to sizes of nodes and chunks, libc's malloc does not: there the block begins
 * at the first line behind its real address, which is kept in the word before it.
 */

#define LINE 64ul
#define PROMISED 16ul

static bool padded = true;
static size_t held; /* changed on any thread: the server frees large keys on its own threads */

static void *memory_alloc(void *unused, size_t size, size_t align)
{
	char *block, *line;

	(void)unused;
	LATH_ASSERT(size && align && !(align & (align - 1)));
	if (align > LINE)
		return NULL;
	align = align > PROMISED ? LINE : PROMISED;
	if (!padded) {
		block = vk.TryAlloc((size + align - 1) & ~(align - 1));
		if ((uintptr_t)block & (align - 1)) {
			vk.Free(block); /* an allocator that aligned all samples; none is known */
			return NULL;
		}
		if (block)
			__atomic_fetch_add(&held, size, __ATOMIC_RELAXED);
		return block;
	}
	block = vk.TryAlloc(size + align);
	if (!block)
		return NULL;
	line = block + (align - ((uintptr_t)block & (align - 1)));
	LATH_ASSERT((size_t)(line - block) >= sizeof(block)); /* room for the address */
	memcpy(line - sizeof(block), &block, sizeof(block));
	__atomic_fetch_add(&held, size, __ATOMIC_RELAXED);
	return line;
}

static void memory_free(void *unused, void *line, size_t size)
{
	char *block = line;

	(void)unused;
	if (!line)
		return;
	LATH_ASSERT(size <= server_memory_held());
	__atomic_fetch_sub(&held, size, __ATOMIC_RELAXED);
	if (padded) {
		memcpy(&block, (char *)line - sizeof(block), sizeof(block));
		/* memory_alloc() wrote it: another address is of a block that it did not make */
		LATH_ASSERT((uintptr_t)line - (uintptr_t)block <= LINE);
	}
	vk.Free(block);
}

size_t server_memory_held(void)
{
	return __atomic_load_n(&held, __ATOMIC_RELAXED);
}

const struct lath_allocator server_memory = { memory_alloc, memory_free, NULL };

static void *block_alloc(void *unused, size_t size, size_t align)
{
	(void)unused;
	LATH_ASSERT(align <= PROMISED);
	(void)align;
	return vk.TryAlloc(size);
}

static void block_free(void *unused, void *block, size_t size)
{
	(void)unused;
	(void)size;
	vk.Free(block);
}

const struct lath_allocator server_blocks = { block_alloc, block_free, NULL };

void server_memory_begin(void)
{
	enum { STEPS = 256, SIZES = STEPS + 16, EACH = 3 };
	void *sample[SIZES][EACH];
	bool lines = true;
	int i, k;

	LATH_ASSERT(!server_memory_held()); /* blocks would be freed in the other way */
	for (i = 0; i < SIZES; i++)
		for (k = 0; k < EACH; k++) {
			size_t size = i < STEPS ? LINE * (size_t)(i + 1)
						: 8192ul * (size_t)(i - STEPS + 3);

			sample[i][k] = vk.Alloc(size);
			lines = lines && !((uintptr_t)sample[i][k] & (LINE - 1));
		}
	for (i = 0; i < SIZES; i++)
		for (k = 0; k < EACH; k++)
			vk.Free(sample[i][k]);
	padded = !lines;
}
