// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Tables of cases WORK[/KIND]/N[/T]: structures are filled with N things of a kind and read, by one
// thread and by T.
#pragma once

#include "table.hpp"

#include <string>
#include <vector>

namespace lathbench {

// What such a table measures.
struct sized_plan {
    std::vector<std::uint64_t> quick, normal, full; // sizes
    std::vector<std::string> kinds; // {""}: one kind, which has no name
    std::vector<std::string> threaded, single; // works with each number of threads, with one

    std::vector<std::uint64_t> sizes(const options& opt) const {
        return sizes_of(opt, quick, normal, full);
    }
    static std::string name(const std::string& work, const std::string& kind, std::uint64_t n,
                            int threads = 1) {
        return work + (kind.empty() ? "" : "/" + kind) + "/" + std::to_string(n) +
               (threads == 1 ? "" : "/" + std::to_string(threads));
    }
    std::vector<std::string> cases(const options& opt, std::uint64_t n,
                                   const std::string& kind) const {
        std::vector<std::string> names;
        for (int t : threads_of(opt))
            for (const auto& work : threaded)
                names.push_back(name(work, kind, n, t));
        for (const auto& work : single)
            names.push_back(name(work, kind, n));
        return names;
    }
    std::vector<std::string> operator()(const options& opt) const {
        std::vector<std::string> names;
        for (auto n : sizes(opt))
            for (const auto& kind : kinds)
                for (auto& name : cases(opt, n, kind))
                    names.push_back(std::move(name));
        return names;
    }
};

template <class Subject>
class sized_runner {
public:
    sized_runner(session& s, const sized_plan& plan, const std::vector<Subject>& all)
        : session_(s), plan_(plan), all_subjects_(all) {}
    virtual ~sized_runner() = default;

    void run() {
        for (auto n : plan_.sizes(session_.opt()))
            for (const auto& kind : plan_.kinds)
                if (!session_.stopped() && session_.wants_any(plan_.cases(session_.opt(), n, kind)))
                    measure(kind, n);
    }

protected:
    // Makes the input of kind_ and n_.
    virtual void prepare() = 0;
    // Says why a subject has no figures for some cases. Returns whether it has any.
    virtual bool able(const Subject&) { return true; }
    virtual void repetition(const Subject& s, int threads) = 0;

    std::string name(const std::string& work, int threads = 1) const {
        return sized_plan::name(work, kind_, n_, threads);
    }
    void put(const char* work, const Subject& s, int threads, double ns, bool right) {
        session_.sample({name(work, threads), n_, threads}, s.name, ns, right);
    }
    void put_bytes(const Subject& s, std::uint64_t bytes, std::uint64_t things, bool right) {
        session_.sample({name("bytes"), n_, 1, "bytes", "B"}, s.name,
                        static_cast<double>(bytes) / static_cast<double>(things), right);
    }

    session& session_;
    std::string kind_;
    std::uint64_t n_ = 0;

private:
    void measure(const std::string& kind, std::uint64_t n) {
        kind_ = kind;
        n_ = n;
        prepare();
        auto names = session_.subjects();
        std::erase_if(names,
                      [&](const auto& name) { return !able(find_subject(all_subjects_, name)); });
        for (int threads : threads_of(session_.opt()))
            session_.repeat((kind.empty() ? "" : kind + ", ") + std::to_string(n) + ", " +
                                std::to_string(threads) + " threads",
                            all_subjects_, names,
                            [&](const Subject& s, int) { repetition(s, threads); });
    }

    const sized_plan& plan_;
    const std::vector<Subject>& all_subjects_;
};

} // namespace lathbench
