/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lathwork/versions.h - an ordered set of byte keys with snapshots: reads of the set as it was.
 *
 * The set holds records of the caller's, as lathwork/bytes.h does: a function says where the key of
 * a record is. Each record contains a struct lath_version, 32 bytes that the set uses. To take a
 * snapshot costs one lock, however large the set is. From then on reads, scans and cursors at the
 * snapshot see what the set held at that moment, while other threads go on writing.
 *
 *     struct row {
 *             struct lath_version version;
 *             uint32_t size;
 *             char name[60];
 *     };
 *
 *     static void name_of(void *ctx, uint64_t value, struct lath_bytes_key *key)
 *     {
 *             const struct row *row = (const struct row *)(uintptr_t)value;
 *
 *             key->data = row->name;
 *             key->size = row->size;
 *     }
 *
 *     static void free_row(void *ctx, void *row)
 *     {
 *             free(row);
 *     }
 *
 *     struct lath_versions_records records = { name_of, free_row, NULL,
 *                                              offsetof(struct row, version), 0 };
 *     struct lath_versions set;
 *     struct lath_snapshot snapshot;
 *
 *     lath_versions_init(&set, &records, NULL);
 *     lath_versions_put(&set, row, NULL);
 *     lath_snapshot_take(&set, &snapshot);
 *     lath_versions_put(&set, newer_row, NULL);          // of the same name
 *     lath_versions_get(&set, &snapshot, &key, &found);  // row
 *     lath_versions_get(&set, NULL, &key, &found);       // newer_row
 *     lath_snapshot_release(&set, &snapshot);            // row is freed after a grace period
 *
 * Ownership. A record belongs to the set from the call that put it there. When it was erased or
 * replaced, and no snapshot that is held shows it, the set hands it to `free` after a grace period.
 * A record that a read at a snapshot returned stays until that snapshot is released. One that a
 * read of the present returned stays until the end of the section in which it was read (`read_lock`
 * of the set's RCU flavour).
 *
 * Memory. Of a key the set keeps the newest record, and for each snapshot that is held at most one
 * more. Of a key that was erased it keeps the last record while a snapshot shows an earlier one.
 * After a snapshot is released, callbacks of the RCU flavour free the records that only it needed;
 * each later change frees some of them too.
 *
 * Cost. A change looks at the newest two records of its key, and judges two that snapshots which
 * were released had needed. A read at a snapshot passes the records of the key that came after it:
 * of a key that changes all the time, one per younger snapshot that is held. To release a snapshot
 * takes one lock; later, each record that only it needed, or that an older one needs as well, is
 * looked at once, and the records of a key are passed once for each 1,024. So what n snapshots show
 * is freed in the order of n, if they are released oldest first; newest first, a record is looked
 * at once for each snapshot that shows it.
 *
 * Threads. All calls but init, fini and verify may run concurrently, without a lock of the
 * caller's. None may be made in a signal handler (lathwork/config.h, T1 to T6).
 *   V1  Insert, put, replace, erase, get of the present, take and each element of a scan or a
 *       cursor of the present are linearizable.
 *   V2  What is read at a snapshot is the state of the set at one moment during the call that took
 *       it: of all keys, and the same at any later time.
 *   V3  A failed call changes nothing. Reads, erase, replace, take and release allocate nothing.
 *   V4  A reader writes to memory only where it meets a record that another thread is putting
 *       there in that moment.
 */
#ifndef LATHWORK_VERSIONS_H
#define LATHWORK_VERSIONS_H

#include "lathwork/bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LATH_VERSIONS_WORDS (LATH_BYTES_WORDS + LATH_INDEX_WORDS * 4)

/* A part of each record, which begins at a multiple of 8. The set writes it when the record is put
 * there; it need not be initialised. */
struct lath_version {
	uint64_t opaque[4];
};

struct lath_versions_records {
	/* Says where the key of a record is, as in lathwork/bytes.h; the value is its address. */
	lath_bytes_key_fn key_of;
	/* Called for each record that leaves the set, after a grace period, in a thread of the RCU
	 * flavour or in one that ends the set; also while the library holds back a fork(). It must
	 * not call the library. May be NULL. */
	void (*free)(void *ctx, void *record);
	void *ctx;
	size_t offset;	    /* of the struct lath_version in a record */
	unsigned int flags; /* LATH_BYTES_DESCENDING: records with equal bytes and several tags */
};

/* Opaque; to be embedded. Aligned to 64 bytes. It must not be moved between init and fini. */
struct lath_versions {
	uint64_t opaque[LATH_VERSIONS_WORDS];
}
#ifdef __GNUC__
__attribute__((aligned(64)))
#endif
;

/* A snapshot that is held. It stays where it is until it is released. */
struct lath_snapshot {
	uint64_t opaque[5];
};

/* Make an empty set. `config` as for lath_bytes_init(), without LATH_RANKS and LATH_SHARED. 0 |
 * -EINVAL | -ENOMEM */
LATH_API int lath_versions_init(struct lath_versions *set,
				const struct lath_versions_records *records,
				const struct lath_config *config);
/* End the set, and hand all records to `free`. No snapshot is held any more. Waits for grace
 * periods: not in a section. Excludes all other calls. */
LATH_API void lath_versions_fini(struct lath_versions *set);

/* Insert a record: 0 | -EEXIST (*there, if not NULL: the record with an equal key) | -ENOMEM |
 * -EINVAL: its address is 0 or no multiple of 8 | -E2BIG: the key is too long. If the call fails,
 * the record stays the caller's: so it is with the next three calls too. What is returned in *there
 * or *old stays until the end of the caller's section. */
LATH_API int lath_versions_insert(struct lath_versions *set, void *record, void **there);
/* Insert a record, or put it in the place of the one with an equal key (*old, if not NULL; NULL:
 * there was none). If that is the record itself nothing changes, here and in the next two: 0. 0 |
 * -ENOMEM (only if there was none) | -EINVAL | -E2BIG */
LATH_API int lath_versions_put(struct lath_versions *set, void *record, void **old);
/* Put a record in the place of the one with an equal key: 0 (*old, if not NULL) | -ENOENT | -EINVAL
 * | -E2BIG. Never allocates. */
LATH_API int lath_versions_replace(struct lath_versions *set, void *record, void **old);
/* Put a record in the place of `expected`, which has an equal key: 0 | -ENOENT: no record has the
 * key | -EAGAIN: another one has it (*there, if not NULL) | -EINVAL | -E2BIG. Never allocates. */
LATH_API int lath_versions_replace_if(struct lath_versions *set, void *expected, void *record,
				      void **there);
/* Erase the record with this key: 0 (*old, if not NULL) | -ENOENT. Never allocates. */
LATH_API int lath_versions_erase(struct lath_versions *set, const struct lath_bytes_key *key,
				 void **old);
/* Erase the record `expected`: 0 | -ENOENT: no record has its key | -EAGAIN: another one has it
 * (*there, if not NULL) | -EINVAL. Never allocates. */
LATH_API int lath_versions_erase_if(struct lath_versions *set, void *expected, void **there);

/* Take a snapshot. Any number of them may be held. It never fails. */
LATH_API void lath_snapshot_take(struct lath_versions *set, struct lath_snapshot *snapshot);
/* Give it back. Nobody reads at it any more. */
LATH_API void lath_snapshot_release(struct lath_versions *set, struct lath_snapshot *snapshot);

/* In what follows `at` is a snapshot of this set that is held, or NULL: the present. */

/* Get the record with this key: 1 (*record set) | 0 (there is none) */
LATH_API int lath_versions_get(struct lath_versions *set, const struct lath_snapshot *at,
			       const struct lath_bytes_key *key, void **record);
/* Copy the addresses of the records at or after the key, in order, at most max, as
 * lath_bytes_scan() with its flags. Returns how many; fewer than max: there are no others. */
LATH_API size_t lath_versions_scan(struct lath_versions *set, const struct lath_snapshot *at,
				   const struct lath_bytes_key *from, unsigned int flags,
				   void **records, size_t max);
/* Returns the number of records. Reads the whole set. Of the present it is exact if nothing changes
 * in the meantime. */
LATH_API uint64_t lath_versions_count(struct lath_versions *set, const struct lath_snapshot *at);

#define LATH_VERSIONS_AHEAD 32

/*
 * A position in a set; one thread at a time uses it. It holds no resources and needs no end. At a
 * snapshot it may be used outside of sections, from one step to the next: a scan of minutes delays
 * no reclamation. Of the present, be in a section from one step to the next.
 */
struct lath_versions_cursor {
	struct lath_versions *set;
	const struct lath_snapshot *at;
	const void *prefix;
	uint64_t prefix_size;
	void *on;	    /* the record it is at; NULL: nowhere */
	uint32_t i, n, ask; /* read ahead: ahead[i..n) */
	uint32_t back;
	void *ahead[LATH_VERSIONS_AHEAD];
};

LATH_API void lath_versions_cursor_init(struct lath_versions_cursor *cursor,
					struct lath_versions *set, const struct lath_snapshot *at);
/* Init a cursor that moves over the records whose keys begin with `size` bytes at `prefix`, which
 * stay there, and over no others. */
LATH_API void lath_versions_cursor_init_prefix(struct lath_versions_cursor *cursor,
					       struct lath_versions *set,
					       const struct lath_snapshot *at, const void *prefix,
					       uint64_t size);
/* Move to the first record at or after the key / the last one at or before / the record after /
 * before the one the cursor is at. Return 1 (*record is set) or 0: there is none, and the
 * cursor stays. If it stands nowhere, next moves to the first record and prev to the last one. With
 * a prefix, the key of a seek begins with it. */
LATH_API int lath_versions_cursor_seek(struct lath_versions_cursor *cursor,
				       const struct lath_bytes_key *key, void **record);
LATH_API int lath_versions_cursor_seek_floor(struct lath_versions_cursor *cursor,
					     const struct lath_bytes_key *key, void **record);
LATH_API int lath_versions_cursor_next(struct lath_versions_cursor *cursor, void **record);
LATH_API int lath_versions_cursor_prev(struct lath_versions_cursor *cursor, void **record);

struct lath_versions_stats {
	uint64_t keys;	    /* that the set has, with those that only snapshots show */
	uint64_t older;	    /* records that were erased or replaced, and are kept for snapshots */
	uint64_t snapshots; /* that are held */
	uint64_t bytes;	    /* all memory obtained, and the struct; without the records */
};

LATH_API void lath_versions_get_stats(struct lath_versions *set, struct lath_versions_stats *stats);
/* Returns 0, or the number of the first invariant found broken, with a sentence in report
 * (report_size bytes, may be NULL): 1 to 35 are those of lathwork/bytes.h, 41: the times of a key's
 * records are out of order, 42: a record is where nobody will free it. Concurrently with reads
 * only. Waits for a callback that is at work: not in a section. */
LATH_API int lath_versions_verify(struct lath_versions *set, char *report, size_t report_size);

#ifdef __cplusplus
}
#endif
#endif /* LATHWORK_VERSIONS_H */
