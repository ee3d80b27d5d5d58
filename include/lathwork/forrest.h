/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/forrest.h - the calls of libforrest (2012), over lathwork/store.h.
 *
 * Programs written for llds and its library compile and link again (-lforrest). As there, all
 * handles of a program share one set of entries, keys are 64-bit numbers, and the caller frees
 * results, also the value of a get. The entries are in the program's own memory. With FORREST_STORE
 * in the environment they are in the store that lath_store_open() opens by that name ("file:PATH",
 * "dev:/dev/llds"); a program with more rights than its user (setuid) ignores the variable. Entries
 * stay until forrest_rm_tree() or the program's end. A file: is locked while there is a handle, and
 * is written and unlocked when the last handle is cleaned up. After fork() the rules of
 * lathwork/store.h hold. Build with the output of `pkg-config --cflags --libs forrest`: "forrest.h"
 * lies beside lathwork/, and like the header of 2012 it includes the standard headers that programs
 * rely on.
 *
 * Differences from the library of 2012: result tells what happened; vlen is the length of the
 * value; an insert of a present key changes its value; an absent key has val NULL; values have any
 * length up to INT_MAX and are followed by one NUL; forrest_cleanup() closes; a key can be deleted;
 * a NULL handle is refused. All calls may run concurrently in any threads, but not in a signal
 * handler.
 */
#ifndef LATHWORK_FORREST_H
#define LATHWORK_FORREST_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SUCCESS 0

/* Values may be longer; kept for programs that size buffers with it. */
#ifndef FORREST_MAX_VAL_LEN
#define FORREST_MAX_VAL_LEN 4096L
#endif

typedef struct llds_result_ent {
	uint64_t key;
	void *val;
	int vlen;
	int result; /* SUCCESS, or a negative errno: -ENOENT, -EINVAL, -ENOMEM, ... */
} llds_result_ent;

typedef struct forrest forrest;
typedef forrest FORREST;

/* Returns a handle, or NULL: no memory, or FORREST_STORE cannot be opened (errno is set;
 * lath_store_reason() gives the reason as text). */
LATH_API FORREST *forrest_alloc(void);
/* Adds the key or changes its value; val is copied. */
LATH_API llds_result_ent *forrest_insert_key(FORREST *handle, uint64_t key, void *val, int vlen);
LATH_API llds_result_ent *forrest_get_key(FORREST *handle, uint64_t key);
LATH_API llds_result_ent *forrest_delete_key(FORREST *handle, uint64_t key);
/* Removes every entry. Other threads may read and write during the call. */
LATH_API llds_result_ent *forrest_rm_tree(FORREST *handle);
/* Frees the handle. Returns NULL. Sets errno if it was the last one and a file: could not be
 * written; it is then written when a later handle is the last one. */
LATH_API void *forrest_cleanup(FORREST *handle);

/* MurmurHash2, 64 bits, variant A (Austin Appleby, public domain), for keys made from strings. It
 * has no secret key, so chosen strings can be made to collide. lath_store_open() with
 * LATH_STORE_BYTES keeps the strings themselves. */
LATH_API uint64_t ft_MurmurHash64A(const void *key, int len, unsigned int seed);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_FORREST_H */
