/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * entry.c - keys of entries: codes and texts.
 */
#include "entry.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGN (1ull << 63)

const char *const map_kind_names[MAP_KINDS] = { "NUMBERS", "STRINGS", "SIGNED", "FLOATS" };

bool entry_kind(const struct vk_string *string, enum map_kind *kind)
{
	int i;

	for (i = 0; i < MAP_KINDS; i++)
		if (is_word(string, map_kind_names[i])) {
			*kind = (enum map_kind)i;
			return true;
		}
	return false;
}

const char *entry_error(enum map_kind kind)
{
	switch (kind) {
	case MAP_SIGNED:
		return "ERR entry is not a number from -2^63 to 2^63 - 1";
	case MAP_FLOATS:
		return "ERR entry is not a floating-point number";
	default:
		return "ERR entry is not a number from 0 to 2^64 - 1";
	}
}

static uint64_t float_code(double number)
{
	uint64_t bits;

	number += 0.0; /* -0 becomes 0 */
	memcpy(&bits, &number, sizeof(bits));
	return bits & SIGN ? ~bits : bits | SIGN;
}

static bool parse_float(struct bytes text, uint64_t *code)
{
	char copy[121], *end;
	double number;
	size_t i;

	if (!text.size || text.size >= sizeof(copy))
		return false;
	for (i = 0; i < text.size; i++) /* no spaces, no hexadecimal numbers, no NUL */
		if (!strchr("0123456789.eE+-infINFtyTY", text.data[i]) || !text.data[i])
			return false;
	memcpy(copy, text.data, text.size);
	copy[text.size] = 0;
	errno = 0;
	number = strtod(copy, &end);
	if (*end || (errno == ERANGE && (isinf(number) || number == 0)))
		return false;
	*code = float_code(number);
	return entry_valid(MAP_FLOATS, *code);
}

bool entry_parse(enum map_kind kind, struct bytes text, uint64_t *code)
{
	int64_t number;

	switch (kind) {
	case MAP_SIGNED:
		if (!signed_read(text, &number))
			return false;
		*code = (uint64_t)number ^ SIGN;
		return true;
	case MAP_FLOATS:
		return parse_float(text, code);
	default:
		return number_read(text, code);
	}
}

uint64_t entry_raw(enum map_kind kind, uint64_t code)
{
	switch (kind) {
	case MAP_SIGNED:
		return code ^ SIGN;
	case MAP_FLOATS:
		return code & SIGN ? code ^ SIGN : ~code;
	default:
		return code;
	}
}

bool entry_valid(enum map_kind kind, uint64_t code)
{
	uint64_t raw = entry_raw(kind, code);
	double number;

	memcpy(&number, &raw, sizeof(number));
	return kind != MAP_FLOATS || (!isnan(number) && float_code(number) == code);
}

static size_t print_float(char *text, uint64_t raw)
{
	int digits, size = 0;
	double number;

	memcpy(&number, &raw, sizeof(number));
	for (digits = 15; digits <= 17; digits++) {
		size = snprintf(text, ENTRY_TEXT, "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	LATH_ASSERT(size > 0 && size < ENTRY_TEXT);
	return (size_t)size;
}

size_t entry_print(enum map_kind kind, char *text, uint64_t code)
{
	uint64_t raw = entry_raw(kind, code);

	switch (kind) {
	case MAP_SIGNED:
		return signed_print(text, (int64_t)raw);
	case MAP_FLOATS:
		return print_float(text, raw);
	default:
		return number_print(text, raw);
	}
}

/* ---- patterns ---- */

/* Looks at one item of a pattern, *at, which is not `*`, and moves behind it. Returns whether c
 * matches it. */
static bool item_matches(struct bytes pattern, size_t *at, unsigned char c)
{
	const unsigned char *p = (const unsigned char *)pattern.data;
	bool not, hit = false;
	size_t i = *at;

	if (p[i] == '?') {
		*at = i + 1;
		return true;
	}
	if (p[i] != '[') {
		i += p[i] == '\\' && i + 1 < pattern.size;
		*at = i + 1;
		return p[i] == c;
	}
	not = ++i < pattern.size && p[i] == '^';
	for (i += not; i < pattern.size && p[i] != ']'; i++) {
		unsigned char low, high;

		i += p[i] == '\\' && i + 1 < pattern.size;
		low = high = p[i];
		if (i + 2 < pattern.size && p[i + 1] == '-') {
			i += 2;
			i += p[i] == '\\' && i + 1 < pattern.size;
			high = p[i];
		}
		hit |= low <= high ? low <= c && c <= high : high <= c && c <= low;
	}
	*at = i + (i < pattern.size); /* behind the bracket, or the end of a pattern without one */
	return hit != not;
}

bool entry_matches(struct bytes pattern, struct bytes text)
{
	size_t at = 0, i = 0, star = SIZE_MAX, from = 0;

	while (i < text.size) {
		size_t next = at;

		if (at < pattern.size && pattern.data[at] == '*') {
			star = ++at; /* for now it stands for nothing */
			from = i;
		} else if (at < pattern.size &&
			   item_matches(pattern, &next, (unsigned char)text.data[i])) {
			at = next;
			i++;
		} else if (star != SIZE_MAX) {
			at = star; /* the last `*` stands for one character more */
			i = ++from;
		} else {
			return false;
		}
	}
	while (at < pattern.size && pattern.data[at] == '*')
		at++;
	return at == pattern.size;
}
