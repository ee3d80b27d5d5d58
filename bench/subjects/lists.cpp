// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The lists of subjects: per table, all of them, ours first. The macros LATH_SUBJECT_* say what the
// build found (bench/CMakeLists.txt).
#include "subjects/blocks/blocks_subject.hpp"
#include "subjects/bytes/bytes_subject.hpp"
#include "subjects/interval/interval_subject.hpp"
#include "subjects/iova/iova_subject.hpp"
#include "subjects/locks/locks_subject.hpp"
#include "subjects/ranges/range_subject.hpp"
#include "subjects/ranks/ranks_subject.hpp"
#include "subjects/regions/regions_subject.hpp"
#include "subjects/sort/sort_subject.hpp"
#include "subjects/store/store_subject.hpp"

#include <initializer_list>
#include <utility>

namespace lathbench {

namespace {

// Subjects that the build lacks.
struct absent {
    const char* why;
    std::vector<const char*> names;
};

// A list from single subjects, lists of them, and absent ones.
template <class Subject>
struct list_of : std::vector<Subject> {
    struct part : std::vector<Subject> {
        part(Subject one) : std::vector<Subject>{std::move(one)} {}
        part(std::vector<Subject> some) : std::vector<Subject>(std::move(some)) {}
        part(const absent& them) : std::vector<Subject>(them.names.size()) {
            for (std::size_t i = 0; i < them.names.size(); i++) {
                (*this)[i].name = them.names[i];
                (*this)[i].missing = them.why;
            }
        }
    };
    list_of(std::initializer_list<part> parts) {
        for (const auto& p : parts)
            this->insert(this->end(), p.begin(), p.end());
    }
};

// PACKAGE(what makes the subjects, their names): used where the build has the package.
#if LATH_SUBJECT_ABSL
#define ABSL(made, ...) made
#else
#define ABSL(made, ...) absent("package libabsl-dev not found", {__VA_ARGS__})
#endif
#if LATH_SUBJECT_BOOST
#define BOOST(made, ...) made
#else
#define BOOST(made, ...) absent("package libboost-dev not found", {__VA_ARGS__})
#endif
#if LATH_SUBJECT_JUDY
#define JUDY(made, ...) made
#else
#define JUDY(made, ...) absent("package libjudy-dev not found", {__VA_ARGS__})
#endif
#if LATH_SUBJECT_LIBCDS
#define LIBCDS(made, ...) made
#else
#define LIBCDS(made, ...) absent("package libcds-dev not found", {__VA_ARGS__})
#endif
#if LATH_SUBJECT_LINUX
#define LINUX(made, ...) made
#else
#define LINUX(made, ...) absent(LATH_SUBJECT_LINUX_WHY, {__VA_ARGS__})
#endif
#if LATH_SUBJECT_LMDB
#define LMDB(made, ...) made
#else
#define LMDB(made, ...) absent("package liblmdb-dev not found", {__VA_ARGS__})
#endif
#if LATH_SUBJECT_TBB
#define TBB(made, ...) made
#else
#define TBB(made, ...) absent("package libtbb-dev not found", {__VA_ARGS__})
#endif
#if LATH_SUBJECT_URCU
#define URCU(made, ...) made
#else
#define URCU(made, ...) absent("LATH_URCU is off", {__VA_ARGS__})
#endif

} // namespace

const std::vector<blocks_subject>& blocks_subjects() {
    static const list_of<blocks_subject> list = {
        lathwork_blocks_subjects(), BOOST(avl_blocks(), "avl"), ABSL(absl_blocks(), "absl-btree"),
        bitmap_blocks()};
    return list;
}

const std::vector<bytes_subject>& bytes_subjects() {
    static const list_of<bytes_subject> list = {lathwork_bytes(), lathwork_store_bytes(),
                                                std_map_bytes(), ABSL(absl_bytes(), "absl-btree"),
                                                ABSL(absl_view_bytes(), "absl-btree-view")};
    return list;
}

const std::vector<interval_subject>& interval_subjects() {
    static const list_of<interval_subject> list = {
        lathwork_interval(), LINUX(linux_interval_tree(), "linux-interval-tree"),
        BOOST(icl_interval(), "icl"), sorted_interval()};
    return list;
}

const std::vector<iova_subject>& iova_subjects() {
    static const list_of<iova_subject> list = {
        lathwork_iova_subjects(),
        iova_subject{{"off", "maps nothing: the rest of the loop and the device alone", ""}, {}},
        LINUX(linux_iova_subjects(), "rbtree-2013", "rbtree-6.1", "rbtree-rcache", "rbtree-gaps",
              "maple"),
        bitmap_iova(),
        buddy_iova(),
        BOOST(icl_iova(), "icl"),
        ABSL(absl_iova(), "absl-btree")};
    return list;
}

const std::vector<locks_subject>& locks_subjects() {
    static const list_of<locks_subject> list = {lathwork_locks(),
                                                LINUX(linux_range_lock(), "interval-tree"),
                                                list_2020(), striped_rwlocks(), one_rwlock()};
    return list;
}

range_subject lathwork_subject(), lathwork_huge_subject(), lathwork_cxx_subject(),
    linux_rbtree_subject(), boost_rbtree_subject(), std_map_subject(), absl_btree_subject(),
    tbb_subject(), libcds_subject(), judy_subject(), maple_lock_subject(), maple_rcu_subject(),
    design_2013_subject();

const std::vector<range_subject>& range_subjects() {
    static const list_of<range_subject> list = {lathwork_subject(),
                                                lathwork_huge_subject(),
                                                lathwork_cxx_subject(),
                                                LINUX(linux_rbtree_subject(), "linux-rbtree"),
                                                BOOST(boost_rbtree_subject(), "boost-rbtree"),
                                                std_map_subject(),
                                                ABSL(absl_btree_subject(), "absl-btree"),
                                                TBB(tbb_subject(), "tbb"),
                                                LIBCDS(libcds_subject(), "libcds"),
                                                JUDY(judy_subject(), "judy"),
                                                LINUX(maple_lock_subject(), "maple-lock"),
                                                LINUX(maple_rcu_subject(), "maple-rcu"),
                                                URCU(design_2013_subject(), "design-2013")};
    return list;
}

const std::vector<ranked_subject>& ranked_subjects() {
    static const list_of<ranked_subject> list = {lathwork_ranks(), lathwork_without_ranks(),
                                                 BOOST(boost_ranked(), "boost-ranked"),
                                                 pb_ds_tree()};
    return list;
}

const std::vector<regions_subject>& regions_subjects() {
    static const list_of<regions_subject> list = {
        lathwork_regions(), LINUX(linux_maple_regions(), "maple"),
        LINUX(linux_maple_locked_regions(), "maple-rwlock"), std_map_regions()};
    return list;
}

const std::vector<sort_subject>& sort_subjects() {
    static const list_of<sort_subject> list = {
        lathwork_sort(), LINUX(linux_sort(), "linux-rbtree", "linux-rbtree-hint"),
        BOOST(boost_sort(), "boost-rbtree", "boost-avl", "boost-splay", "boost-treap",
              "boost-fibonacci", "boost-pairing", "boost-dary4"),
        heap_sort(), std_sort()};
    return list;
}

namespace {

store_subject kept_by(const char* name, const char* note, store_factory make) {
    store_subject s;
    s.name = name;
    s.note = note;
    s.make = std::move(make);
    return s;
}

[[maybe_unused]] store_subject on_small_pages(store_subject s) {
    s.small_pages = true;
    return s;
}

[[maybe_unused]] store_subject on_huge_pages(store_subject s) {
    s.environment = {"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
    return s;
}

[[maybe_unused]] store_subject preloading(const char* package, const char* symbol,
                                          const char* variable, const char* another,
                                          store_subject s) {
    s.package = package;
    s.symbol = symbol;
    s.environment = {variable, another};
    return s;
}

[[maybe_unused]] store_subject one_thread(store_subject s) {
    s.many_threads = false;
    return s;
}

} // namespace

const std::vector<store_subject>& store_subjects() {
    static const list_of<store_subject> list = {
        kept_by("lathwork", "2 MiB pages; short values lie in the index", make_lathwork_store),
        on_small_pages(kept_by("lathwork-4k", "the same on 4 KiB pages", make_lathwork_store_4k)),
        kept_by("lathwork-records", "every value a record with a version",
                make_lathwork_store_records),
        kept_by("lathwork-shm", "in a shared object: every value a record, one call at a time",
                make_lathwork_store_shm),
        BOOST(on_small_pages(
                  kept_by("rbtree-malloc-4k", "the user-space peer of llds", make_rbtree_malloc)),
              "rbtree-malloc-4k"),
        BOOST(on_huge_pages(
                  kept_by("rbtree-malloc-thp", "glibc malloc on 2 MiB pages", make_rbtree_malloc)),
              "rbtree-malloc-thp"),
        BOOST(
            preloading("libmimalloc2.0", "mi_malloc", "LD_PRELOAD=libmimalloc.so.2",
                       "MIMALLOC_LARGE_OS_PAGES=1",
                       kept_by("rbtree-mimalloc", "mimalloc with large pages", make_rbtree_malloc)),
            "rbtree-mimalloc"),
        BOOST(preloading("libjemalloc2", "mallctl", "LD_PRELOAD=libjemalloc.so.2",
                         "MALLOC_CONF=thp:always",
                         kept_by("rbtree-jemalloc", "jemalloc, thp:always", make_rbtree_malloc)),
              "rbtree-jemalloc"),
        BOOST(kept_by("rbtree-arena-thp",
                      "the same tree, nodes and values in one arena on 2 MiB pages",
                      make_rbtree_arena),
              "rbtree-arena-thp"),
        ABSL(on_small_pages(kept_by("absl-btree-4k", "absl::btree_map, malloc'ed values",
                                    make_absl_btree_store)),
             "absl-btree-4k"),
        ABSL(on_huge_pages(
                 kept_by("absl-btree-thp", "with malloc on 2 MiB pages", make_absl_btree_store)),
             "absl-btree-thp"),
        JUDY(on_small_pages(kept_by("judy-4k", "JudyL, malloc'ed values", make_judy_store)),
             "judy-4k"),
        JUDY(on_huge_pages(kept_by("judy-thp", "with malloc on 2 MiB pages", make_judy_store)),
             "judy-thp"),
        LMDB(
            one_thread(kept_by("lmdb", "in shared memory, no syncing, 100,000 sets per transaction",
                               make_lmdb_store)),
            "lmdb"),
        ABSL(kept_by("flat-hash", "absl::flat_hash_map: what giving up order buys",
                     make_flat_hash_store),
             "flat-hash"),
    };
    return list;
}

} // namespace lathbench
