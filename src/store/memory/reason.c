/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* reason.c - the last reason of each thread. */
#include "store/memory/reason.h"

#include <stdarg.h>

#include "lathwork/store.h"

bool (*lath_store_refuse)(void);

static __thread char reason[512];
static __thread bool said; /* the current call has a reason */

int lath_refuse(int ret, const char *format, ...)
{
	va_list args;

	LATH_ASSERT(ret < 0);
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	said = true;
	return ret;
}

int lath_store_reason_add(int ret, const char *text)
{
	size_t size = strlen(reason);

	LATH_ASSERT(said && ret < 0);
	snprintf(reason + size, sizeof(reason) - size, "%s", text);
	return ret;
}

void lath_store_reason_begin(void)
{
	said = false;
}

int lath_store_reason_end(int ret, const char *spec, char *why, size_t size)
{
	if (ret && !said) /* -EBADMSG without a reason: of a repair */
		lath_refuse(ret, "%s: %s", spec, ret == -EBADMSG ? "damaged" : strerror(-ret));
	if (why && size)
		snprintf(why, size, "%s", said ? reason : "");
	return ret;
}

const char *lath_store_reason(void)
{
	return reason;
}
