/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Counts by word, with the calls of llds's library.
 */
#include <forrest.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FORREST *store;

static int start(void)
{
	store = forrest_alloc();
	return store ? 0 : -1;
}

static void set(const char *word, const char *count)
{
	uint64_t key = ft_MurmurHash64A(word, (int)strlen(word), 1);

	free(forrest_insert_key(store, key, (void *)count, (int)strlen(count) + 1));
}

static void print(const char *word)
{
	uint64_t key = ft_MurmurHash64A(word, (int)strlen(word), 1);
	llds_result_ent *got = forrest_get_key(store, key);

	printf("%s: %s\n", word, got && got->val ? (const char *)got->val : "none");
	if (got)
		free(got->val);
	free(got);
}

static void stop(void)
{
	free(forrest_rm_tree(store));
	forrest_cleanup(store);
}

int main(void)
{
	if (start())
		return 1;
	set("apple", "12");
	set("plum", "7");
	print("apple");
	print("plum");
	print("pear");
	stop();
	return 0;
}
