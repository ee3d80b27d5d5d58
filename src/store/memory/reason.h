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
/* Appends to the reason of the current call. Returns ret. */
int lath_store_reason_add(int ret, const char *text);
/* Begins a call: it has no reason yet. That of the previous call remains readable. */
void lath_store_reason_begin(void);
/* Ends a call on the store `spec`: an error has a reason from here on. Copies it to why, which may be
 * NULL; "" if there is none. Returns ret. */
int lath_store_reason_end(int ret, const char *spec, char *why, size_t size);

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
