// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A run of one table: its samples, and what the options ask for.
#include "interrupt.hpp"
#include "random.hpp"
#include "table.hpp"
#include "timing.hpp"

#include <algorithm>
#include <utility>

namespace lathbench {

namespace {
std::string key_of(const cell& what, const std::string& subject) {
    return what.name + '\n' + subject + '\n' + what.metric;
}
} // namespace

session::session(const table& t, const options& o) : table_(t), opt_(o) {}

void session::keep(former measured) {
    auto wanted = subjects();
    auto enough = static_cast<std::size_t>(reps());
    std::map<std::string, std::set<std::string>> settled; // case -> subjects
    for (const auto& r : measured.rows)
        if (r.samples.size() >= enough || r.what.unit == "B") // sizes are taken once
            settled[r.what.name].insert(r.subject);
    for (const auto& a : measured.absences)
        settled[a.case_name].insert(a.subject);
    for (const auto& [name, have] : settled)
        if (wants_case(name) &&
            std::all_of(wanted.begin(), wanted.end(),
                        [&, &of = have](auto& subject) { return of.count(subject) != 0; }))
            kept_.insert(name);
    for (auto& r : measured.rows) {
        if (!kept_.count(r.what.name))
            continue;
        index_[key_of(r.what, r.subject)] = rows_.size();
        rows_.push_back(std::move(r));
    }
    for (const auto& a : measured.absences)
        if (kept_.count(a.case_name))
            absences_.push_back(a);
    if (!kept_.empty())
        remarks_ = std::move(measured.remarks);
    settled_ = kept_.size() * wanted.size() * enough;
}

bool session::all_kept() const {
    auto all = table_.cases(opt_);
    return !kept_.empty() && std::none_of(all.begin(), all.end(),
                                          [&](const std::string& c) { return wants_case(c); });
}

void session::on_progress(std::function<void(const session&, const std::string&)> watcher) {
    watcher_ = std::move(watcher);
}

double session::done_share() const {
    if (opt_.seconds)
        return std::min(1.0, static_cast<double>(wall_ns() - started_ns_) / 1e9 / opt_.seconds);
    std::size_t all = 0;
    for (const auto& name : table_.cases(opt_))
        all += opt_.cases.empty() || wants_case(name) || kept_.count(name);
    all *= subjects().size() * static_cast<std::size_t>(reps());
    return all ? std::min(1.0, static_cast<double>(settled_) / static_cast<double>(all)) : 1;
}

int session::reps() const {
    if (opt_.seconds)
        return 1;
    if (opt_.reps > 0)
        return opt_.reps;
    return opt_.quick() ? 3 : 7;
}

bool session::wants_subject(const std::string& name) const {
    const auto& known = table_.subjects;
    auto it =
        std::find_if(known.begin(), known.end(), [&](const subject& s) { return s.name == name; });
    if (it == known.end() || !it->missing.empty())
        return false;
    const auto& asked = opt_.subjects;
    if (opt_.brief && asked.empty() &&
        std::find(table_.more.begin(), table_.more.end(), name) != table_.more.end())
        return false;
    return asked.empty() || std::find(asked.begin(), asked.end(), name) != asked.end();
}

bool session::wants_case(const std::string& name) const {
    if (kept_.count(name))
        return false;
    if (opt_.cases.empty())
        return true;
    return std::any_of(opt_.cases.begin(), opt_.cases.end(), [&](const std::string& c) {
        return name == c || (name.size() > c.size() && name.compare(0, c.size(), c) == 0 &&
                             name[c.size()] == '/');
    });
}

bool session::wants_any(const std::vector<std::string>& names) const {
    return std::any_of(names.begin(), names.end(), [&](auto& name) { return wants_case(name); });
}

std::vector<std::string> session::subjects() const {
    std::vector<std::string> names;
    for (const auto& s : table_.subjects)
        if (wants_subject(s.name))
            names.push_back(s.name);
    return names;
}

std::uint64_t session::seed(std::uint64_t purpose) const {
    // neighbouring purposes get unrelated seeds
    return mix_bits(opt_.seed * golden_ratio + purpose * 0xd1b54a32d192ed03u);
}

void session::sample(const cell& what, const std::string& subject, double value, bool correct) {
    if (!wants_case(what.name))
        return;
    auto [it, fresh] = index_.try_emplace(key_of(what, subject), rows_.size());
    if (fresh)
        rows_.push_back({what, subject, {}, true});
    row& r = rows_[it->second];
    r.samples.push_back(value);
    taken_++;
    // cells with several metrics count once
    int& seen = cells_[what.name + '\n' + subject];
    if (static_cast<int>(r.samples.size()) > seen && seen < reps()) {
        seen++;
        settled_++;
    }
    if (!correct && r.verified) {
        r.verified = false;
        errors_.push_back(table_.name + " " + what.name + ": " + subject + " gave a wrong result");
    }
}

void session::wrong(const std::string& subject, const std::string& what) {
    errors_.push_back(table_.name + ": " + subject + ": " + what);
    for (auto& r : rows_)
        if (r.subject == subject)
            r.verified = false;
}

void session::not_available(const std::string& case_name, const std::string& subject,
                            const std::string& why) {
    bool known = std::any_of(absences_.begin(), absences_.end(), [&](const absence& a) {
        return a.case_name == case_name && a.subject == subject;
    });
    if (known)
        return;
    absences_.push_back({case_name, subject, why});
    if (wants_case(case_name) && wants_subject(subject))
        settled_ += static_cast<std::size_t>(reps());
}

void session::remark(const std::string& text) {
    if (std::find(remarks_.begin(), remarks_.end(), text) == remarks_.end())
        remarks_.push_back(text);
}

void session::progress(const std::string& text) {
    if (watcher_)
        watcher_(*this, text);
}

bool session::run() {
    if (opt_.seconds == 0) {
        table_.run(*this);
        return !stopped();
    }
    started_ns_ = wall_ns();
    stop_at(started_ns_ + static_cast<std::uint64_t>(opt_.seconds * 1e9));
    bool whole = false;
    int passes = 0;
    do {
        table_.run(*this);
        whole = whole || !stopped();
    } while (!stopped() && ++passes != opt_.reps);
    stop_at(0);
    std::string lacking;
    for (const auto& name : table_.cases(opt_))
        if (wants_case(name) &&
            std::none_of(rows_.begin(), rows_.end(), [&](auto& r) { return r.what.name == name; }))
            lacking += " " + name;
    if (!lacking.empty() && !interrupted())
        remark("the time was over before:" + lacking);
    return whole;
}

bool session::stopped() const { return interrupted() || time_over(); }

void session::each_interleaved(int reps, const std::vector<std::string>& subjects,
                               const std::function<void(const std::string&, int)>& body) {
    for (int rep = 0; rep < reps; rep++) {
        for (std::size_t i = 0; i < subjects.size(); i++) {
            if (stopped())
                return;
            body(subjects[(i + static_cast<std::size_t>(rep)) % subjects.size()], rep);
        }
    }
}

} // namespace lathbench
