/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <stdint.h>

/* The bytes of a value as a number, those between its parts too: Rust must not read them as one. */
uint64_t lathwork_sys_word(const uint64_t *at)
{
	return *at;
}
