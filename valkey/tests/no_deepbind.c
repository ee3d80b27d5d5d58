/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * no_deepbind.c - for LD_PRELOAD: Valkey loads modules with RTLD_DEEPBIND, which sanitizers refuse.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

__attribute__((visibility("default"))) void *dlopen(const char *name, int flags)
{
	void *(*next)(const char *name, int flags) =
		(void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");

	return next(name, flags & ~RTLD_DEEPBIND);
}
