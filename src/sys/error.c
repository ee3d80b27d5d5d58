/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * error.c - texts for results, and the version: lathwork/error.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "lathwork/error.h"

#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF(macro)

const char *lath_version(void)
{
	return TEXT(LATH_VERSION_MAJOR) "." TEXT(LATH_VERSION_MINOR) "." TEXT(LATH_VERSION_PATCH);
}

/* Texts by errno */
static const char *const meaning[] = {
	[ENOENT] = "there is no such key, item, request or name",
	[EEXIST] = "it is there already: the key, a range that overlaps, or the queued request",
	[EAGAIN] = "it has changed since; read it again",
	[EINVAL] = "an argument is invalid",
	[ENOMEM] = "there is not enough memory",
	[ENOSPC] = "there is no room: below the store's limit, among the free keys, or on the disk",
	[E2BIG] = "the key is longer than the container allows, or the value than the store",
	[ERANGE] = "the number does not fit in 64 bits",
	[EOVERFLOW] = "the value is too long for this call",
	[EBUSY] = "it is in use: a taken range, a list that is not empty, a file with a writer",
	[ENOTEMPTY] = "the store is not empty",
	[EBADMSG] = "the data are damaged, or of another kind or version",
	[ENODEV] = "the kernel's store is not there",
	[EOPNOTSUPP] = "this store, queue, build or processor does not support it",
	[EDEADLK] = "the call was made from within another one of the same store",
	[EADDRINUSE] = "this process has something else at the addresses of the shared store",
	[EINTR] = "the caller stopped it",
	[ECANCELED] = "the caller's function refused it",
};

static const char *system_text(int number)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 32)
	const char *text = strerrordesc_np(number);

	if (text)
		return text;
#else
	(void)number;
#endif
	return "an error of the system, see errno(3)";
}

const char *lath_strerror(int result)
{
	int number = result == INT_MIN ? INT_MAX : -result;

	if (result >= 0)
		return "all went well";
	if ((size_t)number < sizeof(meaning) / sizeof(meaning[0]) && meaning[number])
		return meaning[number];
	return system_text(number);
}
