// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// sortq_calls.hpp - a sorted request queue (lathwork/sortq.h) described once (base/calls.hpp). The
// model is lists of requests, one per barrier. What is in the queue is the order in which all would
// leave it: they are dispatched, and then queue, memory and requests get their bytes back.
#pragma once

#include "base/calls.hpp"

#include "lathwork/sortq.h"

#include <cstddef>
#include <memory>
#include <string>

namespace calls {

constexpr word sector_end = word{1} << LATH_SORTQ_SECTOR_BITS;
constexpr std::int64_t none = -1; // no request

enum class shape : std::uint8_t { spread, narrow, rising, falling, streams, equal, whole };

struct sortq_setup : any_setup {
    bool wide = false;
    lath_sortq_config config = LATH_SORTQ_CONFIG_INIT;
    unsigned requests = 1;
    shape sectors = shape::spread;
    word at = 1u << 30, streams[4] = {}, time = 100;

    explicit sortq_setup(source& from) {
        static constexpr unsigned sizes[] = {1, 2, 5, 10, 40, 64, 65, 300, 2048, 2049, 2600};
        const unsigned form = from.byte();
        config.engine = form % 5 == 4 ? LATH_SORTQ_FIFO : LATH_SORTQ_HYBRID;
        config.simd = static_cast<lath_simd>(form % 3);
        config.flags = from.byte() % 16;
        wide = form / 5 % 4 == 0;
        requests = from.pick(sizes);
        sectors = static_cast<shape>(from.below(7));
        for (word& stream : streams)
            stream = any(from) >> 22;
    }

    static word any(source& from) {
        word n = 0;
        for (unsigned i = 0; i < 8; i++)
            n = n << 8 | from.byte();
        return n;
    }
    word sector(source& from) {
        switch (sectors) {
        case shape::spread:
            return from.below(65536) * 16u;
        case shape::narrow:
            return 5000 + from.below(40);
        case shape::rising:
            return (at += 8) & (sector_end - 1);
        case shape::falling:
            return (at -= 8) & (sector_end / 2 - 1);
        case shape::streams: {
            const unsigned i = from.below(4);
            streams[i] = (streams[i] + (i == 3 ? -8ull : 8ull)) & (sector_end / 4 - 1);
            return from.below(8) ? streams[i] : any(from) >> 22;
        }
        case shape::equal:
            return 77 + from.below(2);
        case shape::whole:
            break;
        }
        return from.below(16) ? any(from) >> 20 : from.below(2) ? sector_end - 1 : 0;
    }
    bool fifo() const { return config.engine == LATH_SORTQ_FIFO; }
    bool has(unsigned flag) const { return config.flags & flag; }
    bool refuses() const { return fifo() || has(LATH_SORTQ_CHECKED); } // a queued request
};

struct queued {
    std::uint32_t tag, sectors;
    word sector, time, order; // among equal sectors

    bool operator==(const queued& other) const {
        return tag == other.tag && sectors == other.sectors && sector == other.sector;
    }
};

struct sortq_call {
    explicit sortq_call(const sortq_setup& setup) : of(&setup) {}

    const sortq_setup* of;
    unsigned kind = 0, how = 0, index = 0, many = 0;
    word sector = 0;
    queued of_request{}; // what the call is made of; its sector and sectors before it
    bool no_request = false; // there was none
    std::vector<queued> batch;
    std::int64_t ret = 0, back = none, front = none; // results: numbers of requests
    std::vector<std::int64_t> items;
    word head = 0;
    word called = 0, returned = 0;
};

inline void print(std::FILE* out, const sortq_call& c) {
    auto show = [](std::int64_t n) { return static_cast<long long>(n); };
    std::fprintf(out, " how %u sector %llu request %u [%llu, +%u): %lld, back %lld front %lld\n",
                 c.how, static_cast<unsigned long long>(c.sector), c.of_request.tag,
                 static_cast<unsigned long long>(c.of_request.sector), c.of_request.sectors,
                 show(c.ret), show(c.back), show(c.front));
}
inline void print(std::FILE* out, const sortq_setup& s) {
    std::fprintf(out, "  %s, flags 0x%x, form %d, %u requests, shape %d\n",
                 lath_sortq_engine_name(s.config.engine), s.config.flags, s.config.simd, s.requests,
                 static_cast<int>(s.sectors));
}

// groups[0] is swept; each other one waits behind a barrier until a call looks for a request that
// the sweep has no more.
struct sortq_model {
    std::vector<std::vector<queued>> groups{1};
    std::vector<std::uint32_t> ages, others; // in order of arrival; in another queue
    word head = 0, clock = 0;
    std::vector<queued> read; // by contents(): as they leave

    bool operator==(const sortq_model& m) const { return head == m.head && read == m.leaving(); }

    bool in(std::uint32_t tag) const {
        return std::find(ages.begin(), ages.end(), tag) != ages.end();
    }
    queued* find(std::uint32_t tag, bool swept = false) {
        for (std::size_t i = 0; i < (swept ? 1 : groups.size()); i++)
            for (queued& q : groups[i])
                if (q.tag == tag)
                    return &q;
        return nullptr;
    }
    bool ends() const { return groups.size() > 1; } // at a barrier
    void insert(queued q) {
        q.order = ++clock;
        groups.back().push_back(q);
        ages.push_back(q.tag);
    }
    void remove(std::uint32_t tag) {
        std::erase(ages, tag);
        for (auto& group : groups)
            std::erase_if(group, [&](const queued& q) { return q.tag == tag; });
        if (ages.empty())
            groups.resize(1);
    }
    void barrier() {
        if (!ages.empty() && (!ends() || !groups.back().empty()))
            groups.emplace_back();
    }
    void pass() {
        while (groups[0].empty() && ends())
            groups.erase(groups.begin());
    }
    static bool before(const queued& a, const queued& b, word head) {
        const bool a_next = a.sector < head, b_next = b.sector < head;
        if (a_next != b_next)
            return b_next;
        return a.sector != b.sector ? a.sector < b.sector : a.order < b.order;
    }
    std::vector<queued> swept(const sortq_setup& s, std::size_t group, word from) const {
        std::vector<queued> all = groups[group];
        if (!s.fifo())
            std::sort(all.begin(), all.end(),
                      [&](const queued& a, const queued& b) { return before(a, b, from); });
        return all;
    }
    const queued* first(const sortq_setup& s) {
        pass();
        const std::vector<queued>& all = groups[0];
        if (all.empty() || s.fifo())
            return all.empty() ? nullptr : &all[0];
        return &*std::min_element(all.begin(), all.end(), [&](const queued& a, const queued& b) {
            return before(a, b, head);
        });
    }
    // Dispatches one, or says none.
    std::int64_t leave(const sortq_setup& s) {
        of = &s;
        const queued* q = first(s);
        if (!q)
            return none;
        const std::uint32_t tag = q->tag;
        head = s.has(LATH_SORTQ_LOWEST) ? 0 : q->sector;
        remove(tag);
        return tag;
    }
    std::vector<queued> leaving() const {
        std::vector<queued> all;
        word from = head;
        for (std::size_t i = 0; of && i < groups.size(); i++) {
            const auto some = swept(*of, i, from);
            all.insert(all.end(), some.begin(), some.end());
            if (!some.empty() && !of->has(LATH_SORTQ_LOWEST))
                from = some.back().sector;
        }
        return all;
    }
    const sortq_setup* of = nullptr; // of the first call
};

class sortq_calls {
public:
    using model = sortq_model;
    using domain = sortq_setup;
    using setup = sortq_setup;
    using call = sortq_call;

    static const std::vector<described<sortq_calls>> kinds;

    sortq_calls(const setup& how, const host&)
        : of_(how), stride_(how.wide ? 136 : sizeof(lath_request)),
          raw_(
              static_cast<char*>(std::aligned_alloc(64, (how.requests * stride_ + 127) / 64 * 64))),
          where_(how.requests) {
        std::memset(raw_.get(), 0, how.requests * stride_);
        begin();
    }

    bool failed() const { return false; }
    std::string verify(bool) {
        const int broken = lath_sortq_verify(&queue_[0]);
        return broken ? "invariant S" + std::to_string(broken) : "";
    }
    void contents(model& m) {
        const std::vector<char> requests(raw_.get(), raw_.get() + of_.requests * stride_),
            memory(room_[0].get(), room_[0].get() + size_);
        const lath_sortq queue = queue_[0];
        m.head = lath_sortq_head(&queue_[0]);
        while (const lath_request* r = lath_sortq_dispatch(&queue_[0]))
            m.read.push_back(seen(r->tag));
        std::copy(requests.begin(), requests.end(), raw_.get());
        std::copy(memory.begin(), memory.end(), room_[0].get());
        queue_[0] = queue;
    }
    bool end(const model*) { return true; }

    lath_sortq* queue() { return &queue_[0]; }
    lath_sortq* other() { return &queue_[1]; }
    const setup& of() const { return of_; }
    lath_request_pool& pool() { return pool_; }
    lath_request* request(std::uint32_t tag) const {
        return reinterpret_cast<lath_request*>(raw_.get() + tag * stride_);
    }
    std::int64_t number(const void* r) const {
        return r ? (static_cast<const char*>(r) - raw_.get()) / static_cast<std::ptrdiff_t>(stride_)
                 : none;
    }
    queued seen(std::uint32_t tag) const {
        const lath_request* r = request(tag);
        return {tag, r->sectors, r->sector, r->time, 0};
    }
    char* room() { return room_[1].get(); }

    // Makes both queues; all requests are in none of them.
    void begin() {
        lath_request_pool_init(&pool_, raw_.get(), stride_, of_.requests);
        lath_sortq_config config = of_.config;
        for (unsigned i = 0; i < 2; i++) {
            size_ = lath_sortq_memsize(&config, &pool_);
            room_[i].reset(static_cast<char*>(std::aligned_alloc(64, (size_ + 63) / 64 * 64)));
            std::memset(room_[i].get(), 0, size_);
            const int ret = lath_sortq_init(&queue_[i], &config, &pool_, room_[i].get());
            if (!ret)
                continue;
            if (ret != -EOPNOTSUPP || config.simd < LATH_SIMD_AVX2)
                std::abort();
            config.simd = LATH_SIMD_BEST; // not on this processor, or in this build
            i--;
        }
        std::fill(where_.begin(), where_.end(), 0);
    }
    // A request that is nowhere (0), in the queue (1) or in the other one (2), into c.of_request.
    bool choose(call& c, unsigned where) {
        for (unsigned i = 0; i < of_.requests; i++) {
            const std::uint32_t tag = (c.index + i) % of_.requests;
            if (where_[tag] == where) {
                c.of_request = seen(tag);
                return true;
            }
        }
        c.no_request = true;
        return false;
    }
    // One of the queue for most calls, else any other.
    void choose_any(call& c) {
        if (c.how % 8 == 0   ? choose(c, 0) || choose(c, 1) || choose(c, 2)
            : c.how % 8 == 1 ? choose(c, 2) || choose(c, 1) || choose(c, 0)
                             : choose(c, 1) || choose(c, 0) || choose(c, 2))
            c.no_request = false;
    }
    void put(std::uint32_t tag, unsigned where) { where_[tag] = where; }
    // Prepares a request that is nowhere.
    void fill_in(call& c, word sector, std::uint32_t sectors) {
        c.of_request = {c.of_request.tag, sectors, sector, ++clock_, 0};
        lath_request* r = request(c.of_request.tag);
        r->sector = sector, r->sectors = sectors, r->time = clock_;
    }

private:
    struct free_memory {
        void operator()(char* at) const { std::free(at); }
    };

    setup of_;
    std::size_t stride_, size_ = 0;
    std::unique_ptr<char, free_memory> raw_, room_[2];
    std::vector<unsigned> where_;
    lath_request_pool pool_{};
    lath_sortq queue_[2];
    word clock_ = 100;
};

// ---- arguments ----

inline void draw_any(sortq_setup& s, source& from, sortq_call& c) {
    c.how = from.byte();
    c.index = from.below(65536);
    c.sector = s.sector(from);
    c.many = from.byte();
}

// ---- the calls ----

inline bool shows(const queued* q, std::int64_t got) { return got == (q ? q->tag : none); }

inline void insert(sortq_calls& it, sortq_call& c) {
    const bool other = c.how % 16 == 2;
    const bool again = c.how % 16 == 1 && it.of().refuses();
    if (!it.choose(c, again ? c.how & 32 && it.of().fifo() ? 2 : 1 : 0))
        return;
    if (!again)
        it.fill_in(c, c.sector + (c.how % 64 == 3 && it.of().refuses() ? sector_end : 0),
                   c.how % 4 ? 8 : 1 + c.many);
    c.ret = lath_sortq_insert(other ? it.other() : it.queue(), it.request(c.of_request.tag));
    if (!c.ret)
        it.put(c.of_request.tag, other ? 2 : 1);
}
inline std::int64_t refusal(const sortq_model& m, const sortq_call& c, const queued& q) {
    const bool elsewhere = std::find(m.others.begin(), m.others.end(), q.tag) != m.others.end();
    return m.in(q.tag) || (elsewhere && c.of->fifo()) ? -EEXIST
           : q.sector >= sector_end                   ? -EINVAL
                                                      : 0;
}
inline bool inserted(sortq_model& m, const sortq_call& c, bool other) {
    m.of = c.of;
    if (c.no_request || c.ret != refusal(m, c, c.of_request))
        return c.no_request;
    if (!c.ret && other)
        m.others.push_back(c.of_request.tag);
    else if (!c.ret)
        m.insert(c.of_request);
    return true;
}
inline bool insert_agrees(sortq_model& m, const sortq_call& c) {
    return inserted(m, c, c.how % 16 == 2);
}

// Up to 255 from a sector on; in one call or one by one.
inline void insert_many(sortq_calls& it, sortq_call& c) {
    static constexpr word steps[] = {0, 1, 8, 4096, word{1} << 30, sector_end - 9};
    std::vector<lath_request*> all;
    const unsigned n = c.how & 64 ? c.many : c.many % 41;
    word at = c.sector;
    for (unsigned i = 0; i < n && it.choose(c, 0); i++) {
        it.fill_in(c, at, 8);
        it.put(c.of_request.tag, 1);
        c.batch.push_back(c.of_request);
        all.push_back(it.request(c.of_request.tag));
        at = (at + steps[c.how % 6]) % sector_end;
    }
    if (all.size() > 3 && c.how % 32 == 5 && it.of().refuses()) { // one that is queued then
        all[all.size() / 2] = all[0];
        it.put(c.batch[all.size() / 2].tag, 0);
        c.batch[all.size() / 2] = c.batch[0];
    }
    c.no_request = false;
    c.ret = static_cast<std::int64_t>(lath_sortq_insert_batch(it.queue(), all.data(), all.size()));
    for (std::size_t i = static_cast<std::size_t>(c.ret); i < c.batch.size(); i++)
        if (c.batch[i].tag != c.batch[0].tag)
            it.put(c.batch[i].tag, 0);
}
inline bool insert_many_agrees(sortq_model& m, const sortq_call& c) {
    m.of = c.of;
    std::int64_t done = 0;
    for (; static_cast<std::size_t>(done) < c.batch.size(); done++) {
        if (refusal(m, c, c.batch[static_cast<std::size_t>(done)]))
            break;
        m.insert(c.batch[static_cast<std::size_t>(done)]);
    }
    return c.ret == done;
}

// Looks for what ends where a request will start, or starts where it will end, and inserts it.
inline void insert_at(sortq_calls& it, sortq_call& c) {
    const bool again = c.how % 16 == 1 && it.of().refuses();
    lath_sortq_merge found, second;
    word start = c.sector;
    if (c.how & 16 && it.choose(c, 1))
        start = c.how & 32 ? c.of_request.sector + c.of_request.sectors
                           : std::max<word>(c.of_request.sector, 8) - 8;
    c.no_request = false;
    if (!it.choose(c, again ? 1 : 0))
        return;
    if (again)
        start = c.of_request.sector;
    else
        it.fill_in(c, start < sector_end || it.of().refuses() ? start : c.sector, 8);
    const word end = c.of_request.sector + c.of_request.sectors;
    const unsigned flags = c.how >> 6;
    lath_sortq_lookup(it.queue(), c.of_request.sector, end, flags, &found);
    lath_sortq_lookup(it.queue(), c.of_request.sector, end, flags | LATH_SORTQ_LOOK_FRONT, &second);
    c.back = it.number(found.back);
    c.front = it.number(found.front);
    c.many = !second.back && second.slot == found.slot &&
             (second.front == found.front || (!found.front && !(flags & LATH_SORTQ_LOOK_ALL)));
    c.head = lath_sortq_head(it.queue());
    c.ret = lath_sortq_insert_at(it.queue(), &found, it.request(c.of_request.tag));
    if (!c.ret)
        it.put(c.of_request.tag, 1);
}
// All that a lookup says is so.
inline bool found_is_there(sortq_model& m, const sortq_call& c) {
    const word start = c.of_request.sector, end = start + c.of_request.sectors;
    if (c.back != none) {
        const queued* q = m.find(static_cast<std::uint32_t>(c.back));
        if (!q || q->sector + q->sectors != start || (c.how >> 6 & LATH_SORTQ_LOOK_FRONT) ||
            (m.ends() && m.find(q->tag, true)))
            return false;
    }
    const queued* q = c.front == none ? nullptr : m.find(static_cast<std::uint32_t>(c.front));
    return c.front == none || (q && q->sector == end && !m.ends());
}
// All that is there is found: with LATH_SORTQ_MERGES any, else the neighbours of the start.
inline bool all_is_found(sortq_model& m, const sortq_call& c) {
    const word start = c.of_request.sector, end = start + c.of_request.sectors;
    const unsigned flags = c.how >> 6;
    const bool merges = c.of->has(LATH_SORTQ_MERGES);
    const bool asks_back = !(flags & LATH_SORTQ_LOOK_FRONT);
    const bool asks_front = c.back == none || (flags & LATH_SORTQ_LOOK_ALL);
    bool back = false, front = false;
    const queued mine{0, 0, start, 0, ~word{0}};
    const queued *before = nullptr, *behind = nullptr;
    const auto all = m.swept(*c.of, 0, m.head);
    for (const queued& q : all) {
        back |= merges && q.sector + q.sectors == start;
        front |= merges && q.sector == end && !(start < m.head && m.head <= end);
        if (!sortq_model::before(mine, q, m.head))
            before = &q;
        else if (!behind)
            behind = &q;
    }
    if (!c.of->fifo()) {
        back |= before && before->sector + before->sectors == start;
        front |= behind && behind->sector == end && !(start < m.head && m.head <= end);
    }
    return (!asks_back || (c.back != none) == back || (merges && !back)) &&
           (!asks_front || (c.front != none) == front || (merges && !front));
}
inline bool insert_at_agrees(sortq_model& m, const sortq_call& c) {
    if (c.no_request)
        return true;
    const bool must = !m.ends() && c.of_request.sector < sector_end && !m.in(c.of_request.tag);
    return c.many && found_is_there(m, c) && (!must || all_is_found(m, c)) && inserted(m, c, false);
}

inline void dispatch(sortq_calls& it, sortq_call& c) {
    const lath_request* r = lath_sortq_dispatch(it.queue());
    c.back = it.number(r);
    if (r)
        it.put(r->tag, 0);
    c.head = lath_sortq_head(it.queue());
}
inline void dispatch_many(sortq_calls& it, sortq_call& c) {
    std::vector<lath_request*> out(c.many + 1u);
    const std::size_t n = lath_sortq_dispatch_batch(it.queue(), out.data(), c.many);
    for (std::size_t i = 0; i < n; i++) {
        c.items.push_back(it.number(out[i]));
        it.put(out[i]->tag, 0);
    }
    c.head = lath_sortq_head(it.queue());
}
inline bool dispatch_many_agrees(sortq_model& m, const sortq_call& c) {
    std::vector<std::int64_t> want;
    for (unsigned i = 0; i < c.many; i++) {
        want.push_back(m.leave(*c.of));
        if (want.back() == none) {
            want.pop_back();
            break;
        }
    }
    return c.items == want && c.head == m.head;
}

inline void remove(sortq_calls& it, sortq_call& c) {
    it.choose_any(c);
    const bool other = c.how % 16 == 9;
    lath_sortq* queue = other ? it.other() : it.queue();
    c.ret = lath_sortq_remove(queue, it.request(c.of_request.tag));
    if (!c.ret)
        it.put(c.of_request.tag, 0);
    c.back = lath_sortq_remove(queue, it.request(c.of_request.tag));
}
inline bool remove_agrees(sortq_model& m, const sortq_call& c) {
    const std::uint32_t tag = c.of_request.tag;
    const bool there = c.how % 16 == 9 ? std::erase(m.others, tag) > 0 : m.in(tag);
    if (c.how % 16 != 9)
        m.remove(tag);
    return c.ret == (there ? 0 : -ENOENT) && c.back == -ENOENT;
}

inline void front_merged(sortq_calls& it, sortq_call& c) {
    static constexpr word far[] = {word{1} << 31, (word{1} << 32) - 3, word{1} << 32};
    it.choose_any(c);
    const word down = c.how % 32 == 31 ? far[c.many % 3] : c.many % 41u;
    c.sector = c.many == 255 ? c.of_request.sector + 1 + c.index
                             : std::max(c.of_request.sector, down) - down;
    const lath_request* r = it.request(c.of_request.tag);
    c.ret = lath_sortq_front_merged(it.queue(), it.request(c.of_request.tag), c.sector);
    c.back = static_cast<std::int64_t>(r->sector);
    c.front = r->sectors;
}
inline bool front_merged_agrees(sortq_model& m, const sortq_call& c) {
    const queued& was = c.of_request;
    const bool wrong = c.sector > was.sector || was.sectors + (was.sector - c.sector) > 0xffffffffu;
    queued* q = m.find(was.tag);
    if (!q || wrong)
        return static_cast<word>(c.back) == was.sector && c.front == was.sectors &&
               (c.ret == (q ? -EINVAL : -ENOENT) || (!q && wrong && c.ret == -EINVAL));
    if (q->sector != c.sector && !c.of->fifo() && m.find(was.tag, true))
        q->order = ++m.clock; // behind those that are there
    q->sectors += static_cast<std::uint32_t>(q->sector - c.sector);
    q->sector = c.sector;
    return !c.ret && static_cast<word>(c.back) == q->sector && c.front == q->sectors;
}

inline void back_merged(sortq_calls& it, sortq_call& c) {
    if (it.of().refuses())
        it.choose_any(c);
    else if (!it.choose(c, 1)) // another one is not noticed
        return;
    lath_request* r = it.request(c.of_request.tag);
    r->sectors += c.many % 16;
    c.ret = lath_sortq_back_merged(it.queue(), r);
    if (c.ret)
        r->sectors -= c.many % 16;
}
inline bool back_merged_agrees(sortq_model& m, const sortq_call& c) {
    queued* q = c.no_request ? nullptr : m.find(c.of_request.tag);
    if (q)
        q->sectors += c.many % 16;
    return c.no_request || c.ret == (q ? 0 : -ENOENT) ||
           (!q && !c.ret && !(c.of->has(LATH_SORTQ_MERGES) && c.of->refuses()));
}

inline void neighbours(sortq_calls& it, sortq_call& c) {
    it.choose_any(c);
    c.back = it.number(lath_sortq_prev(it.queue(), it.request(c.of_request.tag)));
    c.front = it.number(lath_sortq_next(it.queue(), it.request(c.of_request.tag)));
}
inline bool neighbours_agree(sortq_model& m, const sortq_call& c) {
    const auto all = m.swept(*c.of, 0, m.head);
    const queued *before = nullptr, *behind = nullptr;
    for (std::size_t i = 0; !c.of->fifo() && i < all.size(); i++)
        if (all[i].tag == c.of_request.tag) {
            before = i ? &all[i - 1] : nullptr;
            behind = i + 1 < all.size() ? &all[i + 1] : nullptr;
        }
    return shows(before, c.back) && shows(behind, c.front);
}

inline void first_from(sortq_calls& it, sortq_call& c) {
    c.sector += c.how % 64 == 7 ? sector_end : c.how % 64 == 8 ? word{1} << 63 : 0;
    c.back = it.number(lath_sortq_first_from(it.queue(), c.sector));
}
inline bool first_from_agrees(sortq_model& m, const sortq_call& c) {
    m.pass();
    const queued* best = nullptr;
    for (const queued& q : m.groups[0])
        if (!c.of->fifo() && q.sector >= c.sector &&
            (!best || q.sector < best->sector ||
             (q.sector == best->sector && q.order < best->order)))
            best = &q;
    return shows(best, c.back);
}

inline void set_head(sortq_calls& it, sortq_call& c) {
    c.sector = c.how % 8 == 0   ? sector_end + c.many
               : c.how % 8 == 1 ? lath_sortq_head(it.queue())
                                : c.sector;
    c.ret = lath_sortq_set_head(it.queue(), c.sector);
    c.head = lath_sortq_head(it.queue());
}
inline bool set_head_agrees(sortq_model& m, const sortq_call& c) {
    const bool right = c.sector < sector_end && !c.of->has(LATH_SORTQ_LOWEST);
    m.head = right ? c.sector : m.head;
    return c.ret == (right ? 0 : -EINVAL) && c.head == m.head;
}

// ---- what cannot be ----

struct sortq_arguments {
    lath_sortq_config config;
    lath_request_pool pool;
    lath_sortq* queue;
    char* memory;
    bool config_null, pool_null;
};
// The first ones say no size either.
inline constexpr void (*wrong_inits[])(sortq_arguments&) = {
    [](sortq_arguments& a) { a.config.size = 0; },
    [](sortq_arguments& a) { a.config.size = offsetof(lath_sortq_config, simd) - 1; },
    [](sortq_arguments& a) { a.config.size++; },
    [](sortq_arguments& a) { a.config.size = SIZE_MAX; },
    [](sortq_arguments& a) { std::memset(&a.config.engine, 7, 4); },
    [](sortq_arguments& a) { a.config.engine = static_cast<lath_sortq_engine>(1); },
    [](sortq_arguments& a) { a.config.flags = 16; },
    [](sortq_arguments& a) { a.config.flags = 1u << 31; },
    [](sortq_arguments& a) { std::memset(&a.config.simd, 4, 4); },
    [](sortq_arguments& a) { a.pool = {}; },
    [](sortq_arguments& a) { a.pool.count = 0; },
    [](sortq_arguments& a) { a.pool.count = 1u << 20; },
    [](sortq_arguments& a) { a.pool.count = ~0u; },
    [](sortq_arguments& a) { a.pool_null = true; },
    [](sortq_arguments& a) { a.config_null = a.pool_null = true; },
    [](sortq_arguments& a) { a.queue = nullptr; },
    [](sortq_arguments& a) { a.memory = nullptr; },
    [](sortq_arguments& a) { a.memory += 32; },
    [](sortq_arguments& a) { a.memory += 8; },
    [](sortq_arguments& a) {
        a.queue = reinterpret_cast<lath_sortq*>(reinterpret_cast<char*>(a.queue) + 8);
    },
};
constexpr unsigned wrong_sizes = 15;

inline void init_wrong(sortq_calls& it, sortq_call& c) {
    alignas(64) static lath_sortq queue[2];
    sortq_arguments a{it.of().config, it.pool(), &queue[0], it.room(), false, false};
    const unsigned what = c.index % std::size(wrong_inits);
    wrong_inits[what](a);
    const lath_sortq_config* config = a.config_null ? nullptr : &a.config;
    const std::size_t size = lath_sortq_memsize(config, a.pool_null ? nullptr : &a.pool);
    c.many = (size == 0) == (what < wrong_sizes);
    c.ret = lath_sortq_init(a.queue, config, a.pool_null ? nullptr : &a.pool, a.memory);
}

inline void pool_wrong(sortq_calls& it, sortq_call& c) {
    constexpr word size = sizeof(lath_request);
    char* base = reinterpret_cast<char*>(it.request(0));
    const struct {
        char* base;
        word stride;
        std::uint32_t count;
    } all[] = {{nullptr, size, 16},    {base + 4, size, 1}, {base, size, 0},
               {base, size, 1u << 20}, {base, size, ~0u},   {base, 0, 16},
               {base, size - 8, 1},    {base, size + 4, 1}, {base, word{1} << 63, 3},
               {base, ~word{0} - 7, 2}};
    const auto& a = all[c.index % std::size(all)];
    const lath_request_pool before = it.pool();
    c.ret = lath_request_pool_init(&it.pool(), a.base, a.stride, a.count);
    c.many = it.pool().base == before.base && it.pool().stride == before.stride &&
             it.pool().count == before.count;
}
inline bool is_refused(sortq_model&, const sortq_call& c) { return c.many && c.ret == -EINVAL; }

// The caller excludes concurrent calls.
inline described<sortq_calls> row(const char* name, unsigned weight, std::vector<int> errors,
                                  void (*make)(sortq_calls&, sortq_call&),
                                  bool (*agrees)(sortq_model&, const sortq_call&)) {
    return {name, weight, effect::alone, std::move(errors), nullptr, draw_any, make, agrees};
}

inline void oldest(sortq_calls& it, sortq_call& c) {
    if (!it.of().has(LATH_SORTQ_AGES))
        return;
    const lath_request* r = lath_sortq_oldest(it.queue());
    c.back = it.number(r);
    c.front = r && lath_sortq_expired(it.queue(), r->time) == r &&
              !lath_sortq_expired(it.queue(), r->time - 1);
}
inline bool oldest_agrees(sortq_model& m, const sortq_call& c) {
    return c.back == none ? m.ages.empty() || !c.of->has(LATH_SORTQ_AGES)
                          : c.back == m.ages[0] && c.front;
}

inline void count(sortq_calls& it, sortq_call& c) {
    const bool named = std::strcmp(lath_sortq_simd_name(it.queue()), "none") != 0;
    c.back = lath_sortq_count(it.queue());
    c.front = lath_sortq_count(it.other());
    c.ret = lath_sortq_verify(it.other()) || named == it.of().fifo();
}
inline bool count_agrees(sortq_model& m, const sortq_call& c) {
    return !c.ret && static_cast<std::size_t>(c.back) == m.ages.size() &&
           static_cast<std::size_t>(c.front) == m.others.size();
}

inline const std::vector<described<sortq_calls>> sortq_calls::kinds = {
    row("insert, insert_slow, settle", 60, {EEXIST, EINVAL}, insert, insert_agrees),
    row("insert_batch", 8, {}, insert_many, insert_many_agrees),
    row("insert_at, lookup", 40, {EEXIST, EINVAL}, insert_at, insert_at_agrees),
    row("dispatch, dispatch_slow", 60, {}, dispatch,
        [](sortq_model& m, const sortq_call& c) {
            return m.leave(*c.of) == c.back && c.head == m.head;
        }),
    row("dispatch_batch", 6, {}, dispatch_many, dispatch_many_agrees),
    row("remove", 24, {ENOENT}, remove, remove_agrees),
    row("front_merged", 16, {ENOENT, EINVAL}, front_merged, front_merged_agrees),
    row("back_merged", 8, {ENOENT}, back_merged, back_merged_agrees),
    row(
        "first", 10, {},
        [](sortq_calls& it, sortq_call& c) { c.back = it.number(lath_sortq_first(it.queue())); },
        [](sortq_model& m, const sortq_call& c) { return shows(m.first(*c.of), c.back); }),
    row("first_from", 12, {}, first_from, first_from_agrees),
    row("next, prev", 16, {}, neighbours, neighbours_agree),
    row("set_head, head", 6, {EINVAL}, set_head, set_head_agrees),
    row("oldest, expired", 8, {}, oldest, oldest_agrees),
    row(
        "barrier", 3, {}, [](sortq_calls& it, sortq_call&) { lath_sortq_barrier(it.queue()); },
        [](sortq_model& m, const sortq_call&) {
            m.barrier();
            return true;
        }),
    row("count, verify, simd_name", 4, {}, count, count_agrees),
    row("init, memsize", 4, {EINVAL}, init_wrong, is_refused),
    row("request_pool_init", 4, {EINVAL}, pool_wrong, is_refused),
    row(
        "request_pool_init, init", 1, {}, [](sortq_calls& it, sortq_call&) { it.begin(); },
        [](sortq_model& m, const sortq_call&) {
            m = sortq_model();
            return true;
        }),
};

} // namespace calls
