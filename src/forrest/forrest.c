/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * forrest.c - libforrest over a store.
 */
#define _GNU_SOURCE
#include "lathwork/forrest.h"
#include "lathwork/store.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct forrest {
	struct lath_store *store;
};

static struct {
	pthread_mutex_t lock;
	struct lath_store *store; /* shared by all handles */
	unsigned long handles;
	int outlives; /* entries are outside this process: the store is closed with the last handle
			 and opened again */
} shared = { PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0 };

/* Opens the store that FORREST_STORE names. A setuid program ignores the variable: its user may not
 * choose a file. */
static int open_shared(void)
{
	const char *spec = secure_getenv("FORREST_STORE");

	shared.outlives = spec && *spec && strcmp(spec, "mem:") != 0;
	return lath_store_open(&shared.store, spec, NULL);
}

/* Writes the store and, if its entries are outside this process, closes it. What could not be
 * written stays for the next cleanup. */
static int last_handle(void)
{
	int ret = lath_store_sync(shared.store);

	if (ret || !shared.outlives)
		return ret;
	ret = lath_store_close(shared.store);
	shared.store = NULL;
	return ret;
}

static void before_fork(void)
{
	pthread_mutex_lock(&shared.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&shared.lock);
}

/* The lock is held around calls of the store. So these handlers are registered after the store's,
 * and fork() runs them first. */
static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

FORREST *forrest_alloc(void)
{
	FORREST *handle = malloc(sizeof(*handle));
	static pthread_once_t watched = PTHREAD_ONCE_INIT;
	int ret = 0;

	if (!handle)
		return NULL;
	pthread_mutex_lock(&shared.lock);
	if (!shared.store)
		ret = open_shared();
	if (!ret)
		pthread_once(&watched, watch_forks);
	if (!ret) {
		handle->store = shared.store;
		shared.handles++;
	}
	pthread_mutex_unlock(&shared.lock);
	if (ret) {
		free(handle);
		errno = -ret;
		return NULL;
	}
	return handle;
}

void *forrest_cleanup(FORREST *handle)
{
	int ret = 0;

	if (!handle)
		return NULL;
	pthread_mutex_lock(&shared.lock);
	if (!--shared.handles)
		ret = last_handle();
	pthread_mutex_unlock(&shared.lock);
	free(handle);
	if (ret)
		errno = -ret;
	return NULL;
}

static llds_result_ent *result_of(uint64_t key, int result)
{
	llds_result_ent *ent = malloc(sizeof(*ent));

	if (!ent)
		return NULL;
	ent->key = key;
	ent->val = NULL;
	ent->vlen = 0;
	ent->result = result;
	return ent;
}

llds_result_ent *forrest_insert_key(FORREST *handle, uint64_t key, void *val, int vlen)
{
	llds_result_ent *ent;

	if (!handle || vlen < 0 || (vlen && !val))
		return result_of(key, -EINVAL);
	ent = result_of(key, 0); /* allocated before the change: a failure changes nothing */
	if (!ent)
		return NULL;
	ent->val = val;
	ent->vlen = vlen;
	ent->result = lath_store_set(handle->store, lath_key_number(key), val, (size_t)vlen);
	return ent;
}

llds_result_ent *forrest_get_key(FORREST *handle, uint64_t key)
{
	struct lath_store_ref ref;
	llds_result_ent *ent = result_of(key, handle ? -ENOENT : -EINVAL);

	if (!handle || !ent)
		return ent;
	lath_store_read_begin(handle->store);
	ent->result = lath_store_get_ref(handle->store, lath_key_number(key), &ref);
	if (!ent->result && ref.size > INT_MAX)
		ent->result = -EOVERFLOW;
	if (!ent->result) {
		ent->val = malloc(ref.size + 1);
		if (ent->val) {
			memcpy(ent->val, ref.data, ref.size);
			((char *)ent->val)[ref.size] = '\0';
			ent->vlen = (int)ref.size;
		} else {
			ent->result = -ENOMEM;
		}
	}
	lath_store_read_end(handle->store);
	return ent;
}

llds_result_ent *forrest_delete_key(FORREST *handle, uint64_t key)
{
	llds_result_ent *ent = result_of(key, -EINVAL);

	if (handle && ent)
		ent->result = lath_store_delete(handle->store, lath_key_number(key));
	return ent;
}

/* Deletes one entry after the other: no other call waits for the whole. */
llds_result_ent *forrest_rm_tree(FORREST *handle)
{
	llds_result_ent *ent = result_of(0, handle ? SUCCESS : -EINVAL);
	struct lath_store_iter *iter;
	struct lath_store_key key;
	struct lath_store_ref ref;
	int ret;

	if (!handle || !ent)
		return ent;
	ret = lath_store_iter_begin(handle->store, NULL, &iter);
	if (!ret) {
		while ((ret = lath_store_iter_next(iter, &key, &ref)) > 0)
			lath_store_delete(handle->store, key);
		lath_store_iter_end(iter);
	}
	ent->result = ret;
	return ent;
}

uint64_t ft_MurmurHash64A(const void *key, int len, unsigned int seed)
{
	const uint64_t m = 0xc6a4a7935bd1e995ull;
	const unsigned char *at = key;
	uint64_t h, k;
	int i;

	if (len < 0)
		len = 0;
	h = seed ^ (uint64_t)len * m;
	for (; len >= 8; len -= 8, at += 8) {
		k = 0;
		for (i = 7; i >= 0; i--)
			k = k << 8 | at[i];
		k *= m;
		k ^= k >> 47;
		k *= m;
		h ^= k;
		h *= m;
	}
	if (len) {
		k = 0;
		for (i = len - 1; i >= 0; i--)
			k = k << 8 | at[i];
		h ^= k;
		h *= m;
	}
	h ^= h >> 47;
	h *= m;
	return h ^ h >> 47;
}
