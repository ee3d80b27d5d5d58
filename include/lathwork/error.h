/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/error.h - what calls return, and in words; the version of the library. User space only.
 *
 * One convention holds for all C calls, by the type of what they return:
 *
 *   int, "0 | -E..."     0: done. A negative errno: not done, and nothing changed unless the call
 *                        says otherwise. Which errors there are stands at each call; lath_strerror
 *                        says what they mean here.
 *   int, "1 | 0"         a question: 1 found, 0 not (lath_index_get, lath_cursor_seek, _next and
 *                        their relatives; lath_store_iter_next adds a negative errno)
 *   int64_t              a count or a length, or a negative errno
 *   size_t, uint32_t     a count; calls that cannot fail, and batches: how many elements succeeded,
 *                        and each one's own result where the caller asked for it
 *   a pointer            NULL: there is none, or for create no memory. The calls on embedded hooks
 *                        (slots, requests, the nodes of trees and heaps) return these
 *   verify: int          0, or the number of the broken invariant
 *
 * errno itself is neither read nor set (but by lathwork/forrest.h, as in 2012). Text that a call
 * offers besides the number ("why") names the file or value at fault.
 *
 * In C++ (lathwork/cxx) the same results are:
 *
 *   done or one reason   bool: false for the one thing that may well be (the key is not there, is
 *                        there, the range
 *   not to               overlaps, the request is queued)
 *   several reasons      the negative errno as in C (resize, split, insert_hole and what else
 *                        returns int), or a result that carries the item in the way (insert_result)
 *   an item or none      std::optional, or a pointer to the caller's object
 *   what is not          thrown: std::system_error with the errno by stores, std::bad_alloc for
 *                        memory,
 *   expected             std::invalid_argument and std::runtime_error by constructors of queues and
 *                        pools
 *
 * Misuse that a call cannot tell without cost is not checked: a NULL where no call says it may be
 * one, a structure before its init or after its fini, close or destroy (a second one, too), an
 * iterator or section that outlives its store, a node of a tree, heap or list that is not in it.
 */
#ifndef LATHWORK_ERROR_H
#define LATHWORK_ERROR_H

#include "lathwork/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0": of the library that runs. LATH_VERSION_MAJOR, _MINOR and _PATCH (lathwork/config.h) are
 * those of the headers a program was compiled with. */
LATH_API const char *lath_version(void);

/*
 * What a result of this library means, in a sentence without a full stop: for 0 and counts that all
 * went well, for a negative errno its meaning here, for one that the library only passes on the
 * system's text in English. Never NULL. From any thread; the text is constant.
 */
LATH_API const char *lath_strerror(int result);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_ERROR_H */
