// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `scan`: full scans of queues of independent objects, and run-queues.
//
//   scan/N/ORDER/WORK  N elements of one cache line, which are queued in the ORDER of their
//                      addresses (in-order) or not (shuffled). WORK on each element: 0 (add a
//                      value), 5, 20, 100 (ns of dependent multiplications), virtual (a virtual
//                      call; 16 types in random order), line2 (elements of two lines, both read)
//   queue/N/KIND       N tasks are popped, run and queued again. KIND: steady (multiply and add),
//                      types16 (a virtual call of one of 16 types), work20, work100 (ns), mix
//                      (types16, every 16th to the front), burst (N tasks are pushed on an empty
//                      queue, then all are popped)
//
// Metrics, per element: time in ns, and cycles of the time stamp counter. Before each sample the
// queue is filled anew and scanned once, which warms it up. The results of that scan and of every
// timed one are compared with the oracle.
#include "harness/parameters.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"

#include "subjects/scan/queues.hpp"
#include "subjects/scan/scan_subject.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace lathbench {

namespace {

struct work_name {
    const char* name;
    scan_work work;
    double ns; // expected, to size samples
};

constexpr work_name narrow_works[] = {
    {"0", scan_work::sum, 1},
    {"5", scan_work::ns5, 5},
    {"20", scan_work::ns20, 20},
    {"100", scan_work::ns100, 100},
    {"virtual", scan_work::virtual_call, 2},
};
constexpr work_name wide_works[] = {{"line2", scan_work::second_line, 2}};

std::vector<work_name> all_works() {
    std::vector<work_name> works(std::begin(narrow_works), std::end(narrow_works));
    works.insert(works.end(), std::begin(wide_works), std::end(wide_works));
    return works;
}

struct kind_name {
    const char* name;
    queue_kind kind;
    double ns;
};

constexpr kind_name kinds[] = {
    {"steady", queue_kind::steady, 3},  {"types16", queue_kind::types16, 5},
    {"work20", queue_kind::work20, 20}, {"work100", queue_kind::work100, 100},
    {"mix", queue_kind::mix, 5},        {"burst", queue_kind::burst, 3},
};

struct clocks {
    std::uint64_t ns, tsc;
    static clocks now() {
#if defined(__x86_64__)
        return {wall_ns(), __rdtsc()};
#else
        return {wall_ns(), 0};
#endif
    }
};

// n elements, side by side in memory, and the order in which they are queued. The memory is on huge
// pages, so that the cost of address translation does not hide that of the container.
template <class E>
class population {
public:
    population(std::size_t n, bool shuffled, std::uint64_t seed)
        : bytes_((n * sizeof(E) + huge - 1) / huge * huge + huge) {
        map_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map_ == MAP_FAILED)
            throw std::runtime_error("scan: no memory for " + std::to_string(n) + " elements");
        auto start = (reinterpret_cast<std::uintptr_t>(map_) + huge - 1) / huge * huge;
        auto* first = reinterpret_cast<unsigned char*>(start);
        madvise(first, bytes_ - huge, MADV_HUGEPAGE);
        std::mt19937_64 random(seed);
        for (std::size_t i = 0; i < n; ++i) {
            E* e = construct(first + i * sizeof(E), static_cast<unsigned>(random() % scan_types),
                             std::make_integer_sequence<unsigned, scan_types>());
            e->value = i + 1;
            if constexpr (E::lines == 2)
                *reinterpret_cast<std::uint64_t*>(e->rest) = i;
            order.push_back(e);
        }
        if (shuffled)
            std::shuffle(order.begin(), order.end(), random);
    }
    population(const population&) = delete;
    population& operator=(const population&) = delete;
    ~population() { munmap(map_, bytes_); }

    std::vector<E*> order;

private:
    static constexpr std::size_t huge = std::size_t{2} << 20;

    template <unsigned... Type>
    static E* construct(void* where, unsigned type, std::integer_sequence<unsigned, Type...>) {
        E* made = nullptr;
        ((type == Type ? void(made = new (where) scan_kind<Type, E::lines>()) : void()), ...);
        return made;
    }

    std::size_t bytes_;
    void* map_;
};

template <class E, class Step>
std::uint64_t fold(const std::vector<E*>& order, Step step) {
    std::uint64_t a = 1;
    for (const E* e : order)
        a = step(a, *e);
    return a;
}

template <class E>
std::uint64_t scan_oracle(scan_work work, const std::vector<E*>& order) {
    switch (work) {
    case scan_work::sum:
        return fold(order, scan_body<scan_work::sum, E>);
    case scan_work::ns5:
        return fold(order, scan_body<scan_work::ns5, E>);
    case scan_work::ns20:
        return fold(order, scan_body<scan_work::ns20, E>);
    case scan_work::ns100:
        return fold(order, scan_body<scan_work::ns100, E>);
    case scan_work::virtual_call:
        return fold(order, scan_body<scan_work::virtual_call, E>);
    case scan_work::second_line:
        return fold(order, scan_body<scan_work::second_line, E>);
    default:
        return fold(order, scan_body<scan_work::order, E>);
    }
}

// The sizes that the parameter of that name sets, or else --n, or else those of the mode.
std::vector<std::uint64_t> sizes(const options& opt, const char* name,
                                 std::vector<std::uint64_t> quick,
                                 std::vector<std::uint64_t> normal) {
    return size_list(opt, name, !opt.n.empty() ? opt.n : opt.quick() ? quick : normal);
}

std::vector<std::uint64_t> scan_sizes(const options& opt) {
    return sizes(opt, "list_sizes", {1000, 10000, 1000000}, {100, 1000, 10000, 100000, 1000000});
}

std::vector<std::uint64_t> queue_sizes(const options& opt) {
    return sizes(opt, "queue_sizes", {10, 1000, 100000}, {10, 100, 1000, 10000, 100000});
}

bool wants_scan(const options& opt, bool shuffled, const char* work) {
    return wants_word(opt, "order", shuffled ? "shuffled" : "in-order") &&
           wants_word(opt, "work", work);
}

std::uint64_t rounds_of(const options& opt, double ns) {
    auto sample_us = size_list(opt, "sample_us", {400}).front();
    return std::max<std::uint64_t>(
        static_cast<std::uint64_t>(static_cast<double>(sample_us) * 1000 / ns), 1);
}

std::string scan_case(std::uint64_t n, bool shuffled, const char* work) {
    return "scan/" + std::to_string(n) + (shuffled ? "/shuffled/" : "/in-order/") + work;
}

std::string queue_case(std::uint64_t n, const char* kind) {
    return "queue/" + std::to_string(n) + "/" + kind;
}

// Cases that --quick measures. A case that is asked for by name is measured in any mode.
bool quick_scan(bool shuffled, scan_work work) {
    return work == scan_work::sum ||
           (shuffled && (work == scan_work::ns5 || work == scan_work::ns20));
}
bool quick_queue(queue_kind kind) {
    return kind == queue_kind::steady || kind == queue_kind::types16 || kind == queue_kind::work20;
}

bool chosen(const session& s, const std::string& case_name, bool in_quick) {
    return s.wants_case(case_name) && (in_quick || !s.opt().quick() || !s.opt().cases.empty());
}

class runner {
public:
    explicit runner(session& s) : session_(s) {}

    void run() {
        session_.remark("elements lie on huge pages where the system grants them");
        session_.remark(
            "cycles are those of the time stamp counter, which runs at a constant rate");
        for (std::uint64_t n : scan_sizes(session_.opt())) {
            for (bool shuffled : {true, false}) {
                scans<1>(n, shuffled, {std::begin(narrow_works), std::end(narrow_works)});
                scans<2>(n, shuffled, {std::begin(wide_works), std::end(wide_works)});
            }
        }
        for (std::uint64_t n : queue_sizes(session_.opt()))
            queues(n);
    }

private:
    // The subjects to measure. Variants are among them with --full, or when --subjects names them.
    template <class E>
    std::vector<std::string> names(const std::vector<std::string>& cases) {
        std::vector<std::string> names;
        for (const auto& name : session_.subjects()) {
            if (!find_subject(scan_subjects<E>(), name).variant || session_.opt().full() ||
                !session_.opt().subjects.empty())
                names.push_back(name);
            else
                for (const auto& c : cases)
                    session_.not_available(c, name,
                                           "a variant: measured with --full or when named");
        }
        return names;
    }

    template <unsigned Lines>
    void scans(std::uint64_t n, bool shuffled, std::vector<work_name> works) {
        using E = scan_element<Lines>;
        std::erase_if(works, [&](const work_name& w) {
            return !wants_scan(session_.opt(), shuffled, w.name) ||
                   !chosen(session_, scan_case(n, shuffled, w.name), quick_scan(shuffled, w.work));
        });
        if (works.empty() || session_.stopped())
            return;
        population<E> all(n, shuffled, session_.seed(n));
        std::uint64_t in_order = scan_oracle(scan_work::order, all.order);
        std::uint64_t in_memory = in_order;
        if (shuffled) {
            auto sorted = all.order;
            std::sort(sorted.begin(), sorted.end());
            in_memory = scan_oracle(scan_work::order, sorted);
        }
        std::vector<std::string> cases;
        for (const auto& w : works)
            cases.push_back(scan_case(n, shuffled, w.name));
        session_.repeat(std::to_string(n), scan_subjects<E>(), names<E>(cases),
                        [&](const scan_subject<E>& s, int) {
                            auto subject = s.make();
                            for (E* e : all.order)
                                subject->push_back(*e);
                            bool right = subject->scan(scan_work::order, 1) ==
                                         (s.name == "vector" ? in_memory : in_order);
                            for (const auto& w : works)
                                one_scan(*subject, s.name, all, {scan_case(n, shuffled, w.name), n},
                                         w, right);
                        });
    }

    template <class E>
    void one_scan(const scan_bench<E>& subject, const std::string& name, const population<E>& all,
                  const cell& what, const work_name& w, bool right) {
        // the array has its own order; the caller has checked what it computes from that
        bool comparable =
            name != "vector" || w.work == scan_work::sum || w.work == scan_work::second_line;
        auto known = oracles_.try_emplace(what.name, 0);
        if (known.second)
            known.first->second = scan_oracle(w.work, all.order);
        std::uint64_t expected = known.first->second;
        auto rounds = rounds_of(session_.opt(), w.ns * static_cast<double>(what.n));
        std::uint64_t warm = subject.scan(w.work, 1);
        if (!comparable)
            expected = warm;
        clocks start = clocks::now();
        std::uint64_t got = subject.scan(w.work, rounds);
        clocks end = clocks::now();
        record(what, name, start, end, static_cast<double>(rounds * what.n),
               right && warm == expected && got == expected * rounds);
    }

    void queues(std::uint64_t n) {
        using E = scan_element<1>;
        std::unique_ptr<population<E>> all;
        for (const auto& k : kinds) {
            std::string case_name = queue_case(n, k.name);
            if (!wants_word(session_.opt(), "kind", k.name) ||
                !chosen(session_, case_name, quick_queue(k.kind)) || session_.stopped())
                continue;
            if (!all)
                all = std::make_unique<population<E>>(n, true, session_.seed(n));
            std::uint64_t turns = n * rounds_of(session_.opt(), k.ns * static_cast<double>(n));
            pointer_deque<E> plain; // the oracle
            if (k.kind != queue_kind::burst)
                for (E* e : all->order)
                    plain.push_back(*e);
            run_queue_kind(plain, k.kind, n, all->order);
            std::uint64_t expected = run_queue_kind(plain, k.kind, turns, all->order);
            session_.repeat(case_name, scan_subjects<E>(), names<E>({case_name}),
                            [&](const scan_subject<E>& s, int) {
                                auto subject = s.make();
                                if (!subject->is_queue()) {
                                    session_.not_available(
                                        case_name, s.name,
                                        "no queue, or a queue under another name");
                                    return;
                                }
                                if (k.kind != queue_kind::burst)
                                    for (E* e : all->order)
                                        subject->push_back(*e);
                                subject->turn(k.kind, n, all->order); // warm
                                clocks start = clocks::now();
                                std::uint64_t got = subject->turn(k.kind, turns, all->order);
                                clocks end = clocks::now();
                                record({case_name, n}, s.name, start, end,
                                       static_cast<double>(turns), got == expected);
                            });
        }
    }

    void record(cell what, const std::string& name, clocks start, clocks end, double elements,
                bool right) {
        session_.sample(what, name, static_cast<double>(end.ns - start.ns) / elements, right);
        if (end.tsc == 0) {
            session_.not_available(what.name, name, "cycles: no time stamp counter");
            return;
        }
        what.metric = "cycles";
        what.unit = "cycles";
        session_.sample(what, name, static_cast<double>(end.tsc - start.tsc) / elements, right);
    }

    session& session_;
    std::map<std::string, std::uint64_t> oracles_;
};

std::vector<std::string> scan_cases(const options& opt) {
    std::vector<std::string> names;
    auto add = [&](const std::string& name, bool in_quick) {
        if (in_quick || !opt.quick())
            names.push_back(name);
    };
    for (std::uint64_t n : scan_sizes(opt)) {
        for (bool shuffled : {true, false}) {
            for (const auto& w : all_works())
                if (wants_scan(opt, shuffled, w.name))
                    add(scan_case(n, shuffled, w.name), quick_scan(shuffled, w.work));
        }
    }
    for (std::uint64_t n : queue_sizes(opt))
        for (const auto& k : kinds)
            if (wants_word(opt, "kind", k.name))
                add(queue_case(n, k.name), quick_queue(k.kind));
    return names;
}

std::vector<parameter> scan_parameters() {
    std::vector<std::string> works, kind_names;
    for (const auto& w : all_works())
        works.emplace_back(w.name);
    for (const auto& k : kinds)
        kind_names.emplace_back(k.name);
    return {
        sizes_parameter("list_sizes", "elements scanned", "--n, or 100 to 1e6 by mode"),
        sizes_parameter("queue_sizes", "tasks in a run-queue", "--n, or 10 to 1e5 by mode"),
        words_parameter("order", "of the queue in memory", {"shuffled", "in-order"}),
        words_parameter("work", "done on each element of a scan", works),
        words_parameter("kind", "of run-queue workload", kind_names),
        size_parameter("sample_us", "length of a sample, at least one scan", "400"),
    };
}

} // namespace

table scan_table() {
    table t;
    t.name = "scan";
    t.summary = "scans of queues of independent objects, and run-queues";
    t.named_peer = "vector-ptr";
    for (const auto& s : scan_subjects<scan_element<1>>())
        t.subjects.push_back(
            {s.name, s.variant ? s.note + "; with --full or by name" : s.note, ""});
    t.more = {"lathwork-iterator", "lathwork-hot", "circular-prefetch", "deque", "boost-list"};
    t.cases = scan_cases;
    t.parameters = scan_parameters();
    t.run = [](session& s) { runner(s).run(); };
    return t;
}

} // namespace lathbench
