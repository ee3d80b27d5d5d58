# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the report says and draws of each table. A table without an entry gets one made from its rows."""

# headline: (title, case, metric) in the picture on top of the page
# bars:     (title, case, metric): all subjects of one case; * is the largest number there, {n} in the title
# lines:    (title, family, axis, metric): a family of cases over items, threads, ...; * stands for the number;
#           a family of less than three cases is drawn as bars
# kinds:    (title, metric, names): the cases NAME of NAME/KIND/N[/1]: a chart for each KIND, of keys or of values
#           (may be left out)
# Tables whose first headline is in the picture of the README, beside the headline in which lathwork is furthest behind.
PICTURE = ("index", "ranges", "interval", "iova", "sort", "store")

SECTIONS = {
    "ranges": {
        "title": "Range index",
        "job": "extents by address: look up, take out, put back, by many threads",
        "why": "A leaf holds dozens of ranges side by side and one vector compare decides among them; "
               "writers in different leaves do not wait for each other, and readers for nobody. "
               "An rbtree chases a pointer a level, and one lock serialises its threads.",
        "headline": [("Range index, rounds of 4 threads", "thread/4", "time"),
                     ("Range index, rounds of 1 thread", "thread/1", "time")],
        "lines": [("Time of a thread for its rounds", "thread/*", "threads", "time")],
        "bars": [("fill: 100,000 in order", "fill", "time"), ("check: look up each", "check", "time"),
                 ("delete: take all out", "delete", "time")],
    },
    "index": {
        "title": "Ordered map, 64-bit keys",
        "job": "a map u64 → u64 with order: lookups, batches, scans, updates",
        "why": "A single lookup waits for memory, in any structure; a batch keeps a dozen misses in flight. "
               "Scans run along arrays, and an erase clears a bit. A btree for one thread, all in cache, "
               "is as fast for single lookups, and JudyL takes fewer bytes a key.",
        "headline": [("Ordered map, {n} keys: lookups, 256 a call", "lookup-batch/*", "time"),
                     ("Ordered map, {n} keys: single lookup", "lookup/*", "time"),
                     ("Ordered map, {n} keys: scan of 100", "scan100/*", "time"),
                     ("Ordered map, {n} keys: insert, 2 threads", "insert/*/2", "time")],
        "lines": [("Lookup, one thread", "lookup/*", "items", "time"), ("Insert, one thread", "insert/*", "items", "time"),
                  ("Scan of 100, one thread", "scan100/*", "items", "time"),
                  ("Lookup, two threads", "lookup/*/2", "items", "time")],
        "bars": [("erase, {n} keys", "erase/*", "time"), ("mixed, {n} keys, 2 threads", "mixed/*/2", "time"),
                 ("bytes a key, {n} keys", "bytes/*", "bytes"), ("all insert at the end, 2 threads", "tail/*/2", "time"),
                 ("half updates of hot keys, {n} keys, 2 threads", "hot/*/2", "time"), ("all update one key, 2 threads", "one-key/*/2", "time"),
                 ("from empty to {n} keys, 2 threads", "fill/*/2", "time")],
        "kinds": ("Keys", "time", ["insert", "turn", "lookup", "lookup-dep", "miss", "lookup-batch", "miss-batch", "scan100", "erase"]),
    },
    "values": {
        "title": "Structs and texts",
        "job": "a map of structs of 8 to 64 bytes, of texts, or under texts, in one thread",
        "why": "A struct lies in the leaf, its words but the first in a row behind all pairs: a find waits for one line more than with "
               "numbers. Texts are in boxes, each an allocation with a head for the readers: iterators, which copy them, and the end of "
               "such a map take longer than a btree's.",
        "headline": [("Structs of 32 bytes, {n} keys: find", "hit/32/*", "time"), ("Structs of 32 bytes, {n} keys: insert", "fill/32/*", "time")],
        "bars": [("find, 32 bytes, {n}", "hit/32/*", "time"), ("insert, 32 bytes, {n}", "fill/32/*", "time"), ("100 entries, 32 bytes, {n}", "scan/32/*", "time"),
                 ("walk, 32 bytes, {n}", "walk/32/*", "time"), ("copy, 32 bytes, {n}", "copy/32/*", "time"),
                 ("bytes an entry, 32 bytes, {n}", "bytes/32/*", "bytes"), ("find by a text, {n}", "hit/texts/*", "time"),
                 ("walk by texts, {n}", "walk/texts/*", "time"), ("end, texts, {n}", "end/texts/*", "time")],
    },
    "ranks": {
        "title": "Ranks",
        "job": "order statistics: how many keys are below one, which is the n-th, how many are in a range",
        "why": "Inner nodes of 64 entries have a count for each: a rank passes arrays of counts on a few levels, where a binary tree "
               "has a miss per level. An insert writes to the nodes above only if a rank was asked for since the last insert nearby.",
        "headline": [("Ranks, {n} keys: rank", "rank/*", "time"), ("Ranks, {n} keys: insert", "insert/*", "time")],
        "bars": [("rank, {n}", "rank/*", "time"), ("select, {n}", "select/*", "time"), ("count of a range, {n}", "count/*", "time"),
                 ("insert, {n}", "insert/*", "time"), ("ten inserts and a rank, {n}", "mixed/*", "time"),
                 ("rank, {n}, 2 threads", "rank/*/2", "time"), ("bytes a key, {n}", "bytes/*", "bytes")],
    },
    "interval": {
        "title": "Intervals that overlap",
        "job": "intervals of any length: which of them cover a point or meet a range; insert and erase between",
        "why": "A class of lengths is a tree of arrays, in which all that may cover a point begins in one short stretch; "
               "the misses of the classes overlap. A red-black tree of largest ends waits for a miss per level.",
        "headline": [("Intervals, {n}, uniform: stab", "stab/uniform/*", "time"),
                     ("Intervals, {n}, uniform: insert", "insert/uniform/*", "time")],
        "bars": [("stab, uniform, {n}", "stab/uniform/*", "time"), ("stab, nested, {n}", "stab/nested/*", "time"),
                 ("stab, long tail, {n}", "stab/tail/*", "time"), ("insert, uniform, {n}", "insert/uniform/*", "time"),
                 ("insert, uniform, {n}, 2 threads", "insert/uniform/*/2", "time"),
                 ("stab, uniform, {n}, 2 threads", "stab/uniform/*/2", "time"),
                 ("erase, uniform, {n}", "erase/uniform/*", "time"), ("bytes per interval, {n}", "bytes/uniform/*", "bytes")],
    },
    "locks": {
        "title": "Locks on ranges",
        "job": "hold a range of keys, exclusive or shared, while other threads hold others: a lock and an unlock",
        "why": "A hash of the place selects a line that nobody else writes, so holders of ranges apart do not meet. A tree or one lock "
               "is a line that all write; with one thread, and few ranges held, that costs less.",
        "headline": [("Range locks, 2 threads apart", "apart/2", "time"), ("Range locks, 1 thread", "apart/1", "time")],
        "bars": [("1 thread", "apart/1", "time"), ("2 threads apart", "apart/2", "time"), ("2 threads share pages", "read/2", "time"),
                 ("2 threads, any pages", "mixed/2", "time"), ("2 threads beside 1,000 held", "held/2", "time")],
    },
    "address-space": {
        "title": "An address space",
        "job": "regions that threads look up, allocate, map over and change at once",
        "why": "Changes of regions apart lock parts apart, and a change is one search in a tree of arrays. A tree behind one lock "
               "serves one thread at a time.",
        "headline": [("Address space, {n} regions: map, 2 threads", "map/*/2", "time"),
                     ("Address space, {n} regions: query", "query/*/1", "time")],
        "bars": [("query, {n}", "query/*/1", "time"), ("query, {n}, 2 threads", "query/*/2", "time"),
                 ("alloc, {n}", "alloc/*/1", "time"), ("alloc, {n}, 2 threads", "alloc/*/2", "time"),
                 ("map, {n}", "map/*/1", "time"), ("map, {n}, 2 threads", "map/*/2", "time"),
                 ("a program's calls, {n}", "program/*/1", "time"), ("a program's calls, {n}, 2 threads", "program/*/2", "time")],
    },
    "bytes": {
        "title": "Byte keys",
        "job": "records by byte string, in order, the keys left where they are: insert, look up, go on from a key",
        "why": "Eight bytes of a key at a time are a number in a tree of arrays, so few records are looked at. A tree of strings "
               "follows a pointer to a key at each comparison.",
        "headline": [("Byte keys, {n}, 16 bytes: get", "get/bytes16/*", "time"),
                     ("Byte keys, {n}, common prefix: insert", "insert/prefix64/*", "time")],
        "bars": [("get, short, {n}", "get/short/*", "time"), ("get, 16 bytes, {n}", "get/bytes16/*", "time"),
                 ("get, common prefix, {n}", "get/prefix64/*", "time"), ("get, addresses of pages, {n}", "get/url/*", "time"),
                 ("insert, 16 bytes, {n}", "insert/bytes16/*", "time"), ("insert, common prefix, {n}", "insert/prefix64/*", "time"),
                 ("insert, addresses of pages, {n}", "insert/url/*", "time"),
                 ("insert, 16 bytes, {n}, 2 threads", "insert/bytes16/*/2", "time"),
                 ("bytes per record, common prefix, {n}", "bytes/prefix64/*", "bytes")],
    },
    "iova": {
        "title": "Address ranges for devices",
        "job": "find a free, aligned hole, take it, give it back (an IOMMU, a block allocator)",
        "why": "Summaries of the free space above each subtree lead straight to a hole that fits; threads keep "
               "small ranges in a separate place. A tree of used ranges walks from gap to gap behind one lock.",
        "headline": [("Device addresses, 4 KiB, 16 threads", "4k/16", "rate"),
                     ("Device addresses, mixed sizes, 16 threads", "mix/16", "rate")],
        "lines": [("4 KiB, pairs a second", "4k/*", "threads", "rate"), ("Mixed sizes", "mix/*", "threads", "rate"),
                  ("Large", "big/*", "threads", "rate"), ("Fragmented space", "frag/*", "threads", "rate")],
    },
    "blocks": {
        "title": "Blocks of a disk in pieces",
        "job": "64 KiB at a multiple of 64 KiB where the free space is in small pieces",
        "why": "Summaries for each alignment lead to a hole with an aligned place. Trees by size try every hole that is "
               "long enough. A bitmap is as small as the disk is full of holes, and reads it word by word.",
        "headline": [("64 KiB on a disk in {n} pieces, p99", "64k/*", "p99")],
        "bars": [("64 KiB, {n} pieces, median", "64k/*", "p50"), ("64 KiB, {n} pieces, p99", "64k/*", "p99"),
                 ("small and 64 KiB, {n} pieces, p99", "mix/*", "p99"), ("bytes per piece, {n} pieces", "64k/*", "bytes")],
    },
    "sort": {
        "title": "Sorted requests",
        "job": "requests by address: insert, take the next, merge neighbours",
        "why": "Streams are recognised and appended to; random requests go into blocks that are sorted when they "
               "are opened, so that extraction is a walk along an array. This is the hybrid that the author of the "
               "experiment wished for.",
        "headline": [("Sorted requests, random arrivals", "random", "both"),
                     ("Sorted requests, sequential arrivals", "sequential", "both")],
        "lines": [("Random arrivals: insert and extract", "random/d*/b32", "requests in the queue", "both")],
        "bars": [("random: insert and extract", "random", "both"), ("sequential", "sequential", "both"),
                 ("95 % sequential", "seq95", "both"), ("zipf", "zipf", "both")],
    },
    "scan": {
        "title": "Queues of objects",
        "job": "intrusive run-queues that are scanned or popped in order",
        "why": "Several chains are threaded through the elements, so that the processor fetches the next ones while it "
               "works on this one; long lists are asked for early. A plain list waits for each element to "
               "learn of the next; arrays of pointers allocate.",
        "headline": [("Scan of 10⁶ objects, 20 ns work each", "scan/1000000/shuffled/20", "time"),
                     ("Scan of 10,000 objects", "scan/10000/shuffled/0", "time")],
        "lines": [("Scan, shuffled in memory", "scan/*/shuffled/0", "items", "time"),
                  ("Scan, 20 ns of work each", "scan/*/shuffled/20", "items", "time"),
                  ("Run-queue, one kind of task", "queue/*/steady", "items", "time"),
                  ("Run-queue, 16 kinds of task", "queue/*/types16", "items", "time")],
    },
    "store": {
        "title": "Key-value store",
        "job": "values of any length under 64-bit keys, larger than the cache",
        "why": "Large pages spare walks of the page table, dense leaves spare misses, batches overlap those that "
               "remain. A tree of malloc'ed nodes pays one miss, and often one page walk, a level.",
        "headline": [("Store, {n} items: set and get", "set+get/*/1", "cpu"),
                     ("Store, {n} items: set and get, 64 a call", "mset+mget/*/1", "cpu")],
        "lines": [("Set and get", "set+get/*/1", "items", "cpu"), ("Set and get, 64 a call", "mset+mget/*/1", "items", "cpu")],
        "bars": [("set and get, {n} items", "set+get/*/1", "cpu"), ("with 2 threads", "set+get/*/2", "wall"),
                 ("full scan in order", "scan/*/1", "cpu"), ("bytes an item", "bytes/*", "bytes")],
        "kinds": ("Items", "cpu", ["set+get", "set", "get", "mset+mget", "mset", "mget", "scan", "path-set+get", "path-mset+mget"]),
    },
}

# Who is who: told where a subject is first met. The names of ours that a table compares are here too.
ABOUT = {
    "interval-tree": "an interval tree of held ranges behind a spinlock, as proposed for Linux",
    "list-2020": "a sorted list of held ranges without a lock, built from its paper (EuroSys 2020)",
    "maple-rwlock": "Linux's maple tree, one reader-writer lock",
    "rwlock": "one pthread_rwlock", "rwlock-stripes": "64 pthread_rwlocks by place",
    "avl": "BlueStore's two AVL trees of free ranges",
    "absl": "Abseil's btree_map behind a queue lock", "absl-btree": "Abseil's btree_map", "absl-btree-view": "Abseil's btree_map of string_view",
    "absl-btree-4k": "Abseil's btree_map with malloc'ed values", "absl-btree-thp": "Abseil's btree_map with malloc on 2 MiB pages",
    "bitmap": "a bit per page, searched word by word", "boost-avl": "Boost.Intrusive's AVL tree",
    "boost-dary4": "Boost.Heap, four children per node, in an array", "boost-fibonacci": "Boost.Heap's Fibonacci heap",
    "boost-list": "Boost.Intrusive's doubly linked list", "boost-pairing": "Boost.Heap's pairing heap",
    "boost-rbtree": "Boost.Intrusive's red-black tree", "boost-slist": "Boost.Intrusive's singly linked list",
    "boost-ranked": "Boost.MultiIndex's ranked index",
    "boost-splay": "Boost.Intrusive's splay tree", "boost-treap": "Boost.Intrusive's treap",
    "btree-locks": "a B+-tree with a lock per node, taken hand over hand",
    "buddy": "a buddy allocator, powers of two only", "calendar": "1,024 buckets fixed to the size of the device",
    "chunked-fifo": "a queue of chunks of 128 pointers", "circular": "a ring of pointers",
    "circular-prefetch": "a ring of pointers that fetches 16 elements ahead", "deque": "std::deque of pointers",
    "design-2013": "the skiplist of the 2013 patches, written anew", "flat-hash": "Abseil's hash table, without order",
    "sorted": "a sorted vector with an implicit tree of largest ends, which cannot be changed",
    "icl": "Boost.ICL's interval_set of free ranges; for intervals its interval_map of sets", "judy": "JudyL, a digital tree that compresses its nodes",
    "judy-4k": "JudyL with malloc'ed values", "judy-thp": "JudyL with malloc on 2 MiB pages",
    "libcds": "libcds's SkipListMap", "linux-interval-tree": "lib/interval_tree.c of Linux 6.1, a red-black tree of largest ends",
    "linux-rbtree": "lib/rbtree.c of Linux 6.1",
    "linux-rbtree-hint": "lib/rbtree.c, the greatest node looked at first", "lmdb": "LMDB in shared memory, without syncing",
    "maple": "Linux's maple tree", "maple-lock": "Linux's maple tree behind a lock",
    "maple-rcu": "Linux's maple tree in RCU mode", "off": "no allocator at all: a bound, not a peer",
    "lathwork-cxx": "the C++ containers point_map and range_map",
    "lathwork-plain": "the index without LATH_RANKS", "lathwork-store": "a store, which copies the keys", "pb-ds": "libstdc++'s policy-based tree with the size of each subtree",
    "pairing-heap": "a pairing heap of embedded nodes", "radix-heap": "a radix heap of embedded nodes",
    "rbtree": "lib/rbtree.c of Linux 6.1 behind a queue lock",
    "rbtree-2013": "the IOMMU's allocator of Linux in 2013", "rbtree-6.1": "the IOMMU's allocator of Linux 6.1",
    "rbtree-gaps": "a red-black tree with the longest gap of each subtree, proposed for Linux in 2026",
    "rbtree-rcache": "the IOMMU's allocator of Linux 6.1 with its magazines",
    "rbtree-arena-thp": "a red-black tree in one arena on 2 MiB pages",
    "rbtree-jemalloc": "a red-black tree with jemalloc on 2 MiB pages",
    "rbtree-malloc-4k": "a red-black tree of malloc'ed nodes on 4 KiB pages",
    "rbtree-malloc-thp": "a red-black tree of malloc'ed nodes on 2 MiB pages",
    "rbtree-mimalloc": "a red-black tree with mimalloc on large pages",
    "split-list-seed": "the split list as first proposed", "std-map": "std::map",
    "split-list-seed-f5": "the first split list, 5 chains", "split-list-seed-f17": "the first split list, 17 chains",
    "std-multimap": "std::multimap", "std-priority-queue": "std::priority_queue, a binary heap",
    "tbb": "oneTBB's concurrent_map", "vector": "std::vector<T>, which cannot be a queue",
    "vector-ptr": "std::vector<T*>", "vector-ptr-prefetch": "std::vector<T*>, fetching 16 ahead",
    "vector-ptr-far": "std::vector<T*>, fetching 32 ahead",
}


def section_of(table, summary):
    """The entry of a table, or an empty one."""
    return {"title": table, "job": summary, "why": "", "headline": [], "lines": [], "bars": []} | SECTIONS.get(table, {})
