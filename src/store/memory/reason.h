/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * reason.h - why a call on a whole store failed, as text (lath_store_reason); requests for memory
 * that tests refuse.
 */
#ifndef LATH_STORE_REASON_H
#define LATH_STORE_REASON_H

#include "sys/sys.h"

/* Stores the reason for the calling thread; a later one of the same call replaces it. Returns
 * ret. */
int lath_refuse(int ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* As lath_refuse(), unless the call has a reason already. */
#define store_refuse_if_silent(ret, ...) (lath_store_said() ? (ret) : lath_refuse(ret, __VA_ARGS__))
/* Returns whether the current call has a reason. */
bool lath_store_said(void);
/* Appends to the reason of the current call. Returns ret. */
int lath_store_reason_add(int ret, const char *text);
/* Begins a call: it has no reason yet. That of the previous call remains readable. */
void lath_store_reason_begin(void);
/* Copies the reason of the current call; "" if it has none. why may be NULL. */
void lath_store_reason_copy(char *why, size_t size);

/* Makes a system call again while a signal interrupts it. */
#define UNINTERRUPTED(call)                              \
	({                                               \
		__typeof__(call) result_;                \
		do {                                     \
			result_ = (call);                \
		} while (result_ < 0 && errno == EINTR); \
		result_;                                 \
	})

/* For tests: if not NULL, called before memory is requested; true: the request fails. */
extern bool (*lath_store_refuse)(void);

/* Returns whether a test refuses the memory that is requested next. */
static inline bool memory_refused(void)
{
	return unlikely(lath_store_refuse) && lath_store_refuse();
}

#endif /* LATH_STORE_REASON_H */
