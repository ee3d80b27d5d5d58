// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "store_subject.hpp"

#include <utility>

namespace lathbench {

namespace {

#if LATH_SUBJECT_BOOST
const store_factory rbtree_malloc = make_rbtree_malloc, rbtree_arena = make_rbtree_arena;
#else
const store_factory rbtree_malloc, rbtree_arena;
#endif
#if LATH_SUBJECT_ABSL
const store_factory absl_btree = make_absl_btree_store, flat_hash = make_flat_hash_store;
#else
const store_factory absl_btree, flat_hash;
#endif
#if LATH_SUBJECT_JUDY
const store_factory judy = make_judy_store;
#else
const store_factory judy;
#endif
#if LATH_SUBJECT_LMDB
const store_factory lmdb = make_lmdb_store;
#else
const store_factory lmdb;
#endif

store_subject ours(const char* name, const char* note, store_factory make) {
    store_subject s;
    s.name = name;
    s.note = note;
    s.make = std::move(make);
    return s;
}

store_subject peer(const char* name, const char* note, const store_factory& make,
                   const char* package) {
    store_subject s = ours(name, note, make);
    if (!make)
        s.missing = std::string("package ") + package + " not found";
    return s;
}

store_subject on_small_pages(store_subject s) {
    s.small_pages = true;
    return s;
}

store_subject on_huge_pages(store_subject s) {
    s.environment = {"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
    return s;
}

store_subject preloading(const char* package, const char* symbol,
                         std::vector<std::string> environment, store_subject s) {
    s.package = package;
    s.symbol = symbol;
    s.environment = std::move(environment);
    return s;
}

store_subject one_thread(store_subject s) {
    s.many_threads = false;
    return s;
}

std::vector<store_subject> make_list() {
    constexpr const char *boost = "libboost-dev", *absl = "libabsl-dev", *libjudy = "libjudy-dev";
    std::vector<store_subject> list = {
        ours("lathwork", "2 MiB pages; short values lie in the index", make_lathwork_store),
        on_small_pages(ours("lathwork-4k", "the same on 4 KiB pages", make_lathwork_store_4k)),
        ours("lathwork-records", "every value a record with a version",
             make_lathwork_store_records),
        ours("lathwork-shm", "in a shared object: every value a record, one call at a time",
             make_lathwork_store_shm),
        on_small_pages(
            peer("rbtree-malloc-4k", "the user-space peer of llds", rbtree_malloc, boost)),
        on_huge_pages(
            peer("rbtree-malloc-thp", "glibc malloc on 2 MiB pages", rbtree_malloc, boost)),
        preloading("libmimalloc2.0", "mi_malloc",
                   {"LD_PRELOAD=libmimalloc.so.2", "MIMALLOC_LARGE_OS_PAGES=1"},
                   peer("rbtree-mimalloc", "mimalloc with large pages", rbtree_malloc, boost)),
        preloading("libjemalloc2", "mallctl",
                   {"LD_PRELOAD=libjemalloc.so.2", "MALLOC_CONF=thp:always"},
                   peer("rbtree-jemalloc", "jemalloc, thp:always", rbtree_malloc, boost)),
        peer("rbtree-arena-thp", "the same tree, nodes and values in one arena on 2 MiB pages",
             rbtree_arena, boost),
        on_small_pages(
            peer("absl-btree-4k", "absl::btree_map, malloc'ed values", absl_btree, absl)),
        on_huge_pages(peer("absl-btree-thp", "with malloc on 2 MiB pages", absl_btree, absl)),
        on_small_pages(peer("judy-4k", "JudyL, malloc'ed values", judy, libjudy)),
        on_huge_pages(peer("judy-thp", "with malloc on 2 MiB pages", judy, libjudy)),
        one_thread(peer("lmdb", "in shared memory, no syncing, 100,000 sets per transaction", lmdb,
                        "liblmdb-dev")),
        peer("flat-hash", "absl::flat_hash_map: what giving up order buys", flat_hash, absl),
    };
    return list;
}

} // namespace

const std::vector<store_subject>& store_subjects() {
    static const std::vector<store_subject> list = make_list();
    return list;
}

} // namespace lathbench
