/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program as they were written for libforrest in 2012: the header's plain name, and from it alone
 * what the standard library declares.
 */
#include "forrest.h"

int main(void)
{
	FORREST *handle = forrest_alloc();
	const char *name = "a name";
	char value[] = "its value";
	uint64_t key = ft_MurmurHash64A(name, strlen(name), 9);
	llds_result_ent *set, *got;
	int wrong;

	if (!handle)
		return 1;
	set = forrest_insert_key(handle, key, value, strlen(value) + 1);
	got = forrest_get_key(handle, key);
	wrong = !set || !got || !got->val || strcmp(got->val, value);
	if (wrong)
		fprintf(stderr, "key %" PRIx64 ": %s\n", key, strerror(errno));
	if (got)
		free(got->val);
	free(got);
	free(set);
	return wrong;
}
