// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "walk.hpp"

#include <algorithm>

namespace lathpy {

Walk::Walk(Sorted& sorted, uint64_t from, uint64_t count, bool backward)
    : sorted(sorted), count(count), version(sorted.version), replaced(sorted.replaced),
      backward(backward) {
    uint64_t size = sorted.size();

    if (from >= size)
        this->count = 0;
    else
        this->count = std::min(count, backward ? from + 1 : size - from);
    if (this->count == 0)
        return;
    if (from == (backward ? size - 1 : 0))
        push(sorted.root, backward ? ~0ull : 0, true);
    else
        seek(from);
}

void Walk::push(Level* level, uint64_t from, bool more) {
    frames.emplace_back();
    Frame& frame = frames.back();
    frame.level = level;
    frame.from = from;
    frame.more = more;
    frame.at = frame.used = 0;
    frame.want = 8;
}

// Frames that are at the item of this rank, which is then the next one.
void Walk::seek(uint64_t rank) {
    Path path;

    if (!sorted.reach(rank, &path))
        return; // the first step says that the container changed
    auto behind = [this](Level* level, uint64_t code) {
        bool more = code != (backward ? 0 : ~0ull);
        push(level, backward ? code - 1 : code + 1, more);
    };
    for (auto& [level, code] : path.above)
        behind(level, code);
    if (tag_of(path.word) == Tag::bucket) {
        behind(path.level, path.code);
        bucket = bucket_of(path.word);
        at = path.at;
    } else {
        push(path.level, path.code, true);
    }
}

void Walk::fill(Frame& frame) const {
    lath_item items[64];

    frame.at = 0;
    if (!frame.more) {
        frame.used = 0;
        return;
    }
    if (backward) {
        frame.used = static_cast<unsigned>(
            lath_index_scan_back(&frame.level->index, frame.from, 0, items, frame.want, nullptr));
        for (unsigned i = 0; i < frame.used; i++) {
            frame.codes[i] = items[i].key;
            frame.words[i] = items[i].value;
        }
    } else {
        frame.used = static_cast<unsigned>(lath_index_scan_values(
            &frame.level->index, frame.from, ~0ull, frame.codes, frame.words, frame.want, nullptr));
    }
    uint64_t last = frame.used ? frame.codes[frame.used - 1] : 0;
    frame.more = frame.used == frame.want && last != (backward ? 0 : ~0ull);
    frame.from = backward ? last - 1 : last + 1;
    frame.want = std::min(frame.want * 2, 64u);
}

void Walk::changed() {
    version = ~0ull; // the next step raises too
    raise(PyExc_RuntimeError, "the container changed during the iteration");
}

bool Walk::next() {
    if (count == 0)
        return false;
    if (version != sorted.version)
        changed();
    count--;
    for (;;) {
        if (bucket) {
            item = &(*bucket)[at];
            if (!(backward ? bucket->previous(&at) : bucket->next(&at)))
                bucket = nullptr;
            return true;
        }
        // A batch of another thread that erases has not lowered the number of items yet.
        if (frames.empty())
            changed();
        Frame& frame = frames.back();
        if (frame.at == frame.used) {
            fill(frame);
            if (frame.used == 0) {
                frames.pop_back();
                continue;
            }
        }
        code = frame.codes[frame.at];
        word = frame.words[frame.at++];
        if (tag_of(word) == Tag::bucket) {
            bucket = bucket_of(word);
            at = backward ? bucket->last() : Spot();
        } else if (tag_of(word) == Tag::level) {
            push(level_of(word), backward ? ~0ull : 0, true);
        } else {
            item = nullptr;
            if (replaced != sorted.replaced) // the word may be outdated
                lath_index_get(&frame.level->index, code, &word);
            return true;
        }
    }
}

nb::object Walk::key() const {
    if (!item && tag_of(word) == Tag::entry)
        return nb::borrow(entry_of(word)->key);
    if (!item && !sorted.values && tag_of(word) == Tag::object)
        return nb::borrow(object_of(word));
    return item ? nb::borrow(item->key) : decode(sorted.kind, code);
}

nb::object Walk::value() const {
    if (!item && tag_of(word) == Tag::entry)
        return nb::steal(unpack(entry_of(word)->value));
    return item ? nb::borrow(item->value) : nb::steal(unpack(word));
}

} // namespace lathpy
