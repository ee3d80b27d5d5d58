/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The version is one number everywhere; every error that the library returns has a meaning of its
 * own.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lathwork/error.h"

static void versions(void)
{
	char text[40];

	snprintf(text, sizeof(text), "%d.%d.%d", LATH_VERSION_MAJOR, LATH_VERSION_MINOR,
		 LATH_VERSION_PATCH);
	assert(!strcmp(lath_version(), text));
	assert(!strcmp(lath_version(), LATH_PROJECT_VERSION));
}

static void meanings(void)
{
	static const int ours[] = {
		ENOENT, EEXIST,	    EAGAIN,    EINVAL,	   ENOMEM,    ENOSPC,
		E2BIG,	ERANGE,	    EOVERFLOW, EBUSY,	   ENOTEMPTY, EBADMSG,
		ENODEV, EOPNOTSUPP, EDEADLK,   EADDRINUSE, EINTR,     ECANCELED
	};
	unsigned int i, j, count = sizeof(ours) / sizeof(ours[0]);

	for (i = 0; i < count; i++) {
		const char *text = lath_strerror(-ours[i]);

		assert(*text && strcmp(text, strerror(ours[i])) && text[strlen(text) - 1] != '.');
		assert(text ==
		       lath_strerror(-ours[i])); /* constant: no buffer that a thread writes */
		for (j = 0; j < i; j++)
			assert(strcmp(text, lath_strerror(-ours[j])));
	}
	assert(!strcmp(lath_strerror(0), lath_strerror(17)) &&
	       strcmp(lath_strerror(0), lath_strerror(-17)));
}

static void any_number(void)
{
	static const int odd[] = { -EACCES, -EIO, -1000000, INT_MIN, INT_MIN + 1, INT_MAX };
	unsigned int i;
	int n;

	for (n = -5000; n < 5000; n++)
		assert(*lath_strerror(n));
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert(*lath_strerror(odd[i]));
}

int main(void)
{
	versions();
	meanings();
	any_number();
	return 0;
}
