/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program for libforrest of 2012, relinked.
 */
#include <lathwork/forrest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	FORREST *handle = forrest_alloc();
	uint64_t key = ft_MurmurHash64A("hello", 5, 9);
	char text[] = "world";
	llds_result_ent *set, *get;
	int ok;

	if (!handle)
		return 1;
	set = forrest_insert_key(handle, key, text, sizeof(text));
	get = forrest_get_key(handle, key);
	ok = set && get && set->result == SUCCESS && get->result == SUCCESS &&
	     get->vlen == sizeof(text) && !strcmp(get->val, "world");
	if (ok)
		printf("hello %s\n", (char *)get->val);
	if (get)
		free(get->val);
	free(get);
	free(set);
	free(forrest_rm_tree(handle));
	forrest_cleanup(handle);
	return !ok;
}
