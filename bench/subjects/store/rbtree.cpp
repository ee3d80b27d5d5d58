// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The user-space peer of the llds benchmark: a red-black tree, whose nodes have a pointer to the
// value, behind one reader-writer lock. And the same tree with nodes and values in one arena on 2
// MiB pages, which is what llds had in the kernel.
#include "store_subject.hpp"

#include <boost/intrusive/set.hpp>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <utility>

namespace lathbench {

namespace {

namespace bi = boost::intrusive;

struct node : bi::set_base_hook<bi::link_mode<bi::normal_link>> {
    std::uint64_t key;
    char* value;
    int size;
};

struct key_of_node {
    using type = std::uint64_t;
    const std::uint64_t& operator()(const node& n) const { return n.key; }
};

constexpr std::size_t cache_line = 64;

struct from_malloc {
    void prepare(std::size_t) {} // malloc has no such call
    void* get(std::size_t size, std::size_t) {
        void* p = std::malloc(size);
        if (!p)
            throw std::bad_alloc();
        return p;
    }
};

// One reserved area, given out from front to back. Each thread takes chunks for itself, so that it
// needs no lock for memory. A node begins on a cache line, as in llds; values are in other chunks.
class from_arena {
public:
    from_arena() {
        constexpr std::size_t room = std::size_t{64} << 30, huge = std::size_t{2} << 20;
        void* map = mmap(nullptr, room, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED)
            throw std::runtime_error("rbtree-arena-thp: cannot reserve memory");
        at_ = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(map) + huge - 1) &
                                      ~(huge - 1));
        end_ = at_ + (room - huge);
        madvise(at_, room - huge, MADV_HUGEPAGE);
    }
    void prepare(std::size_t size) {
        madvise(at_, std::min(size, static_cast<std::size_t>(end_ - at_)), MADV_POPULATE_WRITE);
    }
    void* get(std::size_t size, std::size_t align) {
        thread_local struct {
            char *from, *end;
        } of_kind[2] = {};
        auto& [from, end] = of_kind[align > 1];
        auto p = (reinterpret_cast<std::uintptr_t>(from) + align - 1) & ~(align - 1);
        if (!from || p + size > reinterpret_cast<std::uintptr_t>(end)) {
            from = __atomic_fetch_add(&at_, chunk, __ATOMIC_RELAXED);
            end = from + chunk;
            p = reinterpret_cast<std::uintptr_t>(from);
        }
        from = reinterpret_cast<char*>(p + size);
        return reinterpret_cast<void*>(p);
    }

private:
    static constexpr std::size_t chunk = std::size_t{1} << 20;
    char *at_, *end_;
};

template <class Memory>
struct rbtree {
    static constexpr bool is_ordered = true;

    node* make(std::uint64_t key, const char* value, int size) {
        node* n = new (memory.get(sizeof(node), cache_line)) node;
        n->value = static_cast<char*>(memory.get(static_cast<std::size_t>(size), 1));
        n->key = key;
        n->size = size;
        std::memcpy(n->value, value, static_cast<std::size_t>(size));
        return n;
    }
    void set(std::uint64_t key, const char* value, int size) {
        lock.read();
        bool there = tree.find(key) != tree.end();
        lock.done();
        if (there)
            return;
        node* n = make(key, value, size);
        lock.write();
        tree.insert(*n);
        lock.done();
    }
    std::uint64_t get(std::uint64_t key) {
        lock.read();
        auto it = tree.find(key);
        std::uint64_t first = it == tree.end() ? 0 : static_cast<unsigned char>(it->value[0]);
        lock.done();
        return first;
    }
    scan_result scan() {
        scan_result r;
        std::uint64_t before = 0;
        for (const node& n : tree) {
            r.sum += n.key + static_cast<unsigned char>(n.value[0]);
            r.ordered &= n.key >= before;
            before = n.key;
            ++r.count;
        }
        return r;
    }
    std::string value(std::uint64_t key, int) {
        auto it = tree.find(key);
        return it == tree.end() ? "" : std::string(it->value, static_cast<std::size_t>(it->size));
    }

    Memory memory;
    one_lock lock;
    bi::set<node, bi::key_of_value<key_of_node>, bi::constant_time_size<false>> tree;
};

// fill() makes nodes in the order of arrival, as set() does, but links them in key order: the
// memory is the same, and it takes less time.
template <class Memory>
class rbtree_bench : public store_bench_of<rbtree<Memory>> {
public:
    void prepare(std::uint64_t items) override {
        this->map.memory.prepare(static_cast<std::size_t>(items) * 128);
    }
    void fill(std::uint64_t first, std::uint64_t last, const item_kind& kind) override {
        std::vector<std::pair<std::uint64_t, node*>> all;
        all.reserve(static_cast<std::size_t>(last - first));
        item it;
        for (std::uint64_t i = first; i < last; ++i) {
            kind.make(i, it);
            all.emplace_back(it.key, this->map.make(it.key, it.value, it.size));
        }
        std::sort(all.begin(), all.end());
        for (auto& [key, n] : all)
            this->map.tree.push_back(*n);
    }
};

} // namespace

std::unique_ptr<store_bench> make_rbtree_malloc() {
    return std::make_unique<rbtree_bench<from_malloc>>();
}
std::unique_ptr<store_bench> make_rbtree_arena() {
    return std::make_unique<rbtree_bench<from_arena>>();
}

} // namespace lathbench
