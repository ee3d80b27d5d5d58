/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/error.h - what calls return, as numbers and as text; the version of the library. User
 * space only.
 *
 * One convention holds for all C calls, by the type of the result:
 *
 *   int, "0 | -E..."     0: done. A negative errno: not done, and nothing changed unless the call's
 *                        comment says otherwise. That comment lists the errors; lath_strerror tells
 *                        their meaning.
 *   int, "1 | 0"         1: found, 0: not found (lath_index_get, lath_cursor_seek, _next and
 *                        similar calls; lath_store_iter_next may also return a negative errno)
 *   int64_t              a count or a length, or a negative errno
 *   size_t, uint32_t     a count, from calls that cannot fail and from batches: how many elements
 *                        succeeded; each element's own result is stored if the caller asks for it
 *   a pointer            NULL: there is none, or for create no memory. The calls on embedded hooks
 *                        (slots, requests, nodes of trees and heaps) return pointers
 *   verify: int          0, or the number of the broken invariant
 *
 * errno is neither read nor set, except by lathwork/forrest.h, as in 2012. If a call also returns a
 * text ("why"), it names the file or value at fault.
 *
 * In C++ (lathwork/cxx) the same results are:
 *
 *   done, or the one     bool: false if the key is absent (present), the range overlaps, or the
 *   expected failure     request is queued already
 *   several failures     the negative errno as in C (resize, split, insert_hole and others that
 *                        return int), or a result that contains the item in the way (insert_result)
 *   an item or none      std::optional, or a pointer to the caller's object
 *   unexpected failures  exceptions: std::system_error with the errno from stores, std::bad_alloc
 *                        for memory, std::invalid_argument and std::runtime_error from constructors
 *                        of queues and pools
 *
 * Misuse that a call cannot detect without cost is not checked: a NULL that no comment permits; a
 * structure before its init or after its fini, close or destroy (also a second one of these); an
 * iterator or section that outlives its store; a node that is not in the tree, heap or list it is
 * passed to.
 */
#ifndef LATHWORK_ERROR_H
#define LATHWORK_ERROR_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the running library, e.g. "0.3.0". LATH_VERSION_MAJOR, _MINOR and _PATCH
 * (lathwork/config.h) are those of the headers that the program was compiled with. */
LATH_API const char *lath_version(void);

/* Returns the meaning of a result as a sentence without a full stop: for 0 and counts that all went
 * well; for a negative errno its meaning in this library, or the system's English text if the
 * library only passes it on. Never NULL; the text is constant. May be called by any thread. */
LATH_API const char *lath_strerror(int result);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_ERROR_H */
