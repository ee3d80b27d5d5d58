/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * reason.h - why a call on a whole store failed, in words (lath_store_reason).
 */
#ifndef LATH_STORE_REASON_H
#define LATH_STORE_REASON_H

#include "sys/sys.h"

/* Keep the sentence for the calling thread; later ones of the same call replace it. Returns ret. */
__attribute__((format(printf, 2, 3))) int store_refuse(int ret, const char *format, ...);
/* The same, unless the call has a sentence already. */
__attribute__((format(printf, 2, 3))) int store_refuse_if_silent(int ret, const char *format, ...);
/* A call begins: it has no sentence yet. The one before it stays readable. */
void store_reason_begin(void);
/* The sentence of the call that runs; "": it has none. why may be NULL. */
void store_reason_copy(char *why, size_t size);

#endif /* LATH_STORE_REASON_H */
