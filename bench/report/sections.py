# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the report says and draws of each table. A table without an entry gets one made from its rows."""

# headline: (title, case, metric) in the picture of the README
# bars:     (title, case, metric): all subjects of one case; * is the largest number there, {n} in the title
# lines:    (title, family, axis, metric): a family of cases over "n", "threads" or "depth"; * stands for the number
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
        "lines": [("Lookup, one thread", "lookup/*", "n", "time"), ("Insert, one thread", "insert/*", "n", "time"),
                  ("Scan of 100, one thread", "scan100/*", "n", "time"),
                  ("Lookup, two threads", "lookup/*/2", "n", "time")],
        "bars": [("erase, {n} keys", "erase/*", "time"), ("mixed, {n} keys, 2 threads", "mixed/*/2", "time"),
                 ("bytes a key, {n} keys", "bytes/*", "bytes")],
    },
    "iova": {
        "title": "Address ranges for devices",
        "job": "find a free, aligned hole, take it, give it back (an IOMMU, a block allocator)",
        "why": "Summaries of the free space above each subtree lead straight to a hole that fits; threads keep "
               "small ranges of their own. A tree of used ranges walks from gap to gap behind one lock.",
        "headline": [("Device addresses, 4 KiB, 16 threads", "4k/16", "rate"),
                     ("Device addresses, mixed sizes, 16 threads", "mix/16", "rate")],
        "lines": [("4 KiB, pairs a second", "4k/*", "threads", "rate"), ("Mixed sizes", "mix/*", "threads", "rate"),
                  ("Large", "big/*", "threads", "rate"), ("Fragmented space", "frag/*", "threads", "rate")],
        "bars": [],
    },
    "sort": {
        "title": "Sorted requests",
        "job": "requests by address: insert, take the next, merge neighbours",
        "why": "Streams are recognised and appended to; random requests go into blocks that are sorted when they "
               "are opened, so that extraction is a walk along an array. This is the hybrid that the author of the "
               "experiment wished for.",
        "headline": [("Sorted requests, random arrivals", "random", "Tt"),
                     ("Sorted requests, sequential arrivals", "sequential", "Tt")],
        "lines": [("Random arrivals: insert and extract", "random/d*/b32", "depth", "Tt")],
        "bars": [("random: insert and extract", "random", "Tt"), ("sequential", "sequential", "Tt"),
                 ("95 % sequential", "seq95", "Tt"), ("zipf", "zipf", "Tt")],
    },
    "scan": {
        "title": "Queues of objects",
        "job": "intrusive run-queues that are scanned or popped in order",
        "why": "Several chains are threaded through the elements, so that the processor fetches the next ones while it "
               "works on this one; long lists are asked for early. A plain list waits for each element to "
               "learn of the next; arrays of pointers allocate.",
        "headline": [("Scan of 10⁶ objects, 20 ns work each", "scan/1000000/shuffled/20", "time"),
                     ("Scan of 10,000 objects", "scan/10000/shuffled/0", "time")],
        "lines": [("Scan, shuffled in memory", "scan/*/shuffled/0", "n", "time"),
                  ("Scan, 20 ns of work each", "scan/*/shuffled/20", "n", "time"),
                  ("Run-queue, one kind of task", "queue/*/steady", "n", "time"),
                  ("Run-queue, 16 kinds of task", "queue/*/types16", "n", "time")],
        "bars": [],
    },
    "store": {
        "title": "Key-value store",
        "job": "values of any length under 64-bit keys, larger than the cache",
        "why": "Large pages spare walks of the page table, dense leaves spare misses, batches overlap those that "
               "remain. A tree of malloc'ed nodes pays one miss, and often one page walk, a level.",
        "headline": [("Store, {n} items: set and get", "set+get/*/1", "cpu"),
                     ("Store, {n} items: set and get, 64 a call", "mset+mget/*/1", "cpu")],
        "lines": [("Set and get", "set+get/*/1", "n", "cpu"), ("Set and get, 64 a call", "mset+mget/*/1", "n", "cpu")],
        "bars": [("set and get, {n} items", "set+get/*/1", "cpu"), ("with 2 threads", "set+get/*/2", "wall"),
                 ("full scan in order", "scan/*/1", "cpu"), ("bytes an item", "bytes/*", "bytes")],
    },
}

# who is who, told once a section
ABOUT = {
    "linux-rbtree": "lib/rbtree.c of Linux 6.1", "boost-rbtree": "Boost.Intrusive's set",
    "absl-btree": "Abseil's btree_map", "maple-lock": "Linux's maple tree behind a lock",
    "maple-rcu": "the maple tree in RCU mode", "design-2013": "the skiplist of the 2013 patches, written anew",
    "tbb": "oneTBB's concurrent_map", "libcds": "libcds's SkipListMap", "judy": "JudyL",
    "maple": "Linux's maple tree", "rbtree-2013": "the allocator of Linux in 2013",
    "rbtree-rcache": "that of Linux 6.1 with its magazines", "off": "no allocator at all: the bound",
    "calendar": "1,024 buckets fixed to the device's size", "vector-ptr": "std::vector<T*>",
    "split-list-seed": "the split list as first proposed", "vector": "std::vector<T>, which cannot be a queue",
}


def section_of(table, summary):
    """The entry of a table, or an empty one."""
    empty = {"title": table, "job": summary, "why": "", "headline": [], "lines": [], "bars": []}
    return SECTIONS.get(table, empty)
