/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Counts by word, in a store whose keys are the words themselves.
 */
#include <lathwork/store.h>

#include <stdio.h>
#include <string.h>

static struct lath_store *store;

static int start(void)
{
	struct lath_store_options options = LATH_STORE_OPTIONS_INIT;

	options.keys = LATH_STORE_BYTES;
	return lath_store_open(&store,
			       "mem:", &options); /* "file:PATH": kept, "shm:NAME": shared */
}

static int set(const char *word, const char *count)
{
	return lath_store_set(store, lath_key_bytes(word, strlen(word)), count, strlen(count));
}

static void print(const char *word)
{
	char count[16];
	int64_t n = lath_store_get(store, lath_key_bytes(word, strlen(word)), count, sizeof(count));

	printf("%s: %.*s\n", word, n < 0 ? 4 : (int)n, n < 0 ? "none" : count);
}

static void stop(void)
{
	lath_store_close(store);
}

int main(void)
{
	if (start())
		return 1;
	if (set("apple", "12") || set("plum", "7"))
		return 1;
	print("apple");
	print("plum");
	print("pear");
	stop();
	return 0;
}
