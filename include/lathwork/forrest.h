/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/forrest.h - the calls of libforrest (2012), over lathwork/store.h.
 *
 * Programs written for llds and its library compile and link again (-lforrest). As there, all
 * handles of a program lead to one set of entries, keys are 64-bit numbers, and results are the
 * caller's to free, the value of a get too. The entries are in the program's own memory; with
 * FORREST_STORE in the environment they are where lath_store_open() finds what it says
 * ("file:PATH", "dev:/dev/llds"); a program with more rights than its user (setuid) does not look
 * there. They stay until forrest_rm_tree() or the program's end; a file: is locked from the first
 * handle on, and written and unlocked when the last one is cleaned up. After fork() the rules of
 * lathwork/store.h hold.
 *
 * Build with what `pkg-config --cflags --libs forrest` says: "forrest.h" lies beside lathwork/, and
 * like the header of 2012 it brings the standard ones that programs rely on.
 *
 * What differs from the library of 2012: result says what happened; vlen is the length of the
 * value; an insert of a key that is there changes its value; a key that is not there has val NULL;
 * values have any length up to INT_MAX and one NUL behind them; forrest_cleanup() closes; a key can
 * be deleted; nothing is done for a NULL handle. All calls may run beside one another in any
 * threads.
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

/* Values may be longer; kept for programs that size buffers by it. */
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

/* NULL: no memory, or FORREST_STORE cannot be opened (errno; lath_store_reason() has it in
 * words). */
LATH_API FORREST *forrest_alloc(void);
/* Add the key or change its value; val is copied. */
LATH_API llds_result_ent *forrest_insert_key(FORREST *handle, uint64_t key, void *val, int vlen);
LATH_API llds_result_ent *forrest_get_key(FORREST *handle, uint64_t key);
LATH_API llds_result_ent *forrest_delete_key(FORREST *handle, uint64_t key);
/* Remove every entry. Others may go on reading and writing meanwhile. */
LATH_API llds_result_ent *forrest_rm_tree(FORREST *handle);
/* Give the handle back. Returns NULL; sets errno if it was the last one and a file: could not be
 * written. What was not written is written with the next last one. */
LATH_API void *forrest_cleanup(FORREST *handle);

/* MurmurHash2, 64 bits, variant A (Austin Appleby, public domain), for keys made from strings. It
 * is not
 * keyed: who chooses the strings can make them collide. lath_store_open() with LATH_STORE_BYTES
 * keeps the strings. */
LATH_API uint64_t ft_MurmurHash64A(const void *key, int len, unsigned int seed);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_FORREST_H */
