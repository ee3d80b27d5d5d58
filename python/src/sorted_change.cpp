// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Changes of a container.
#include "sorted.hpp"
#include "walk.hpp"

#include <memory>
#include <new>

namespace lathpy {

namespace {

void insert_word(Level* level, uint64_t code, Word word) {
    lath_item item = {code, 1, word};

    must(LATH_CORE(lath_index_insert_item(&level->index, &item, nullptr)), "lath_index_insert");
}

void keep(const Item& item) {
    Py_INCREF(item.key);
    Py_XINCREF(item.sort);
    Py_XINCREF(item.value);
}

void drop(const Item& item) {
    Py_DECREF(item.key);
    Py_XDECREF(item.sort);
    Py_XDECREF(item.value);
}

} // namespace

Journal::~Journal() {
    for (auto& [rank, old] : done)
        sorted.release(old);
}

void Journal::reserve() {
    others = others || (!done.empty() && version != sorted.version);
    if (done.size() == done.capacity())
        done.reserve(2 * done.size() + 8);
}

void Journal::changed(uint64_t rank, PyObject* old) {
    done.push_back({rank, old});
    version = sorted.version;
}

void Journal::undo() {
    if (others)
        return;
    for (; !done.empty(); done.pop_back()) {
        auto [rank, old] = done.back();
        Path path;
        sorted.select(rank, &path);
        if (old) {
            sorted.release(sorted.set_value(path, old));
            sorted.release(old);
        } else {
            sorted.take(std::move(path));
        }
    }
}

void Sorted::admit(const KeyView& view) {
    if (size() == 0 && (kind != kind_of(view) || !visible.load(std::memory_order_relaxed))) {
        conceal();
        kind = kind_of(view);
        reveal();
    }
    refuse_unordered(kind, view);
    if (encodable(kind, view)) {
        kind = kind_with(kind, view);
    } else {
        // Keys of other types compare with none of the keys (TypeError), or with all of them.
        Path path;
        select(0, &path);
        less(view.key, order_at(path).ptr());
        become(Kind::object);
    }
}

void Sorted::set_word(Path* path, Word word) {
    lath_index_replace_item(&path->level->index, path->code, word, nullptr);
    path->word = word;
}

// The word of an item that is alone in its code, with its own references. Throws std::bad_alloc.
Word Sorted::lone_word(const Item& item, bool exact) const {
    Word word = no_value;

    if (exact)
        return item.value ? pack(item.value) : no_value;
    if (!has_lone_keys())
        word = word_of(Bucket::make(&item, 1), Tag::bucket);
    else if (!values)
        word = word_of(item.key, Tag::object);
    else // pack() takes the reference of the value, and cannot fail
        word = make_entry(item.key, no_value);
    if (tag_of(word) == Tag::entry) {
        Py_INCREF(item.key);
        entry_of(word)->value = pack(item.value);
    } else {
        keep(item);
    }
    return word;
}

// The first item of a code.
void Sorted::add_first(const Path& path, bool exact, const Item& item) {
    Word word = lone_word(item, exact);
    bool counted = false;

    try {
        count(path, 1, false);
        counted = true;
        insert_word(path.level, path.code, word);
    } catch (...) {
        if (counted)
            count(path, -1, false);
        drop_word(word); // the caller has other references
        throw;
    }
    held += references(word);
}

// Makes a bucket of an item that has none.
void Sorted::widen(Path* path) {
    nb::object key = key_at(*path);
    nb::object value = values ? value_at(*path) : nb::object();
    Item item = {nullptr, key.ptr(), value.ptr()};
    version++; // a walk may stand here
    Word word = word_of(Bucket::make(&item, 1), Tag::bucket), gone = path->word;

    held += references(word) - references(gone);
    (void)key.release();
    (void)value.release();
    set_word(path, word);
    await_visits(this);
    drop_word(gone); // the bucket has other references
}

// Adds an item at the path's place among others of its code.
void Sorted::add_twin(Path* path, const Item& item) {
    if (tag_of(path->word) != Tag::bucket)
        widen(path);
    Bucket* bucket = bucket_of(path->word);

    count(*path, 1, true);
    try {
        Bucket* grown = bucket->insert(path->at, item);
        if (grown != bucket)
            set_word(path, word_of(grown, Tag::bucket));
    } catch (...) {
        count(*path, -1, true);
        throw;
    }
    keep(item);
    held += references(item);
    if (bucket_of(path->word)->size() > nest_at)
        relieve(*path);
}

// Whether the item's key is at this path already; *at: where it is, or belongs.
bool Sorted::twin_of(const Path& path, const Item& item, Spot* at) {
    if (tag_of(path.word) != Tag::bucket) {
        nb::object there = key_at(path);
        if (!twins && equal(there.ptr(), item.key))
            return true;
        at->at = !less(item.order(), there.ptr());
        return false;
    }
    const Bucket* bucket = bucket_of(path.word);
    *at = bisect(bucket, item.order(), true);
    if (twins)
        return false;
    for (Spot there = *at; bucket->previous(&there);) {
        const Item& other = (*bucket)[there];
        bool same = equal(other.key, item.key);
        if ((!same || !plain) && less(other.order(), item.order())) // see search()
            break;
        if (same) {
            *at = there;
            return true;
        }
    }
    return false;
}

bool Sorted::add(nb::handle key, PyObject* value, Present present, nb::object* there) {
    nb::object sort = sort_of(key);

    return add_item({plain ? nullptr : sort.ptr(), key.ptr(), value}, present, there, nullptr);
}

bool Sorted::add_item(const Item& item, Present present, nb::object* there, Journal* journal) {
    KeyView view(item.order());
    Path path;
    bool taken;

    if (journal)
        journal->reserve();
    writing();
    admit(view);
    Code code = descend(view, &path, &taken);
    if (!taken) {
        uint64_t rank = journal ? rank_of(path) : 0;
        add_first(path, code.exact, item);
        if (journal)
            journal->changed(rank, nullptr);
        return true;
    }
    bool exact = code.exact && tag_of(path.word) != Tag::bucket;
    if (exact && twins)
        path.at.at = 1;
    else if (exact || twin_of(path, item, &path.at)) {
        if (there)
            *there = value_at(path);
        if (values && present == Present::replace) {
            nb::object old = journal ? value_at(path) : nb::object();
            PyObject* gone = set_value(path, item.value);
            if (journal)
                journal->changed(rank_of(path), old.release().ptr());
            release(gone);
        }
        return false;
    }
    uint64_t rank = journal ? rank_of(path) : 0;
    add_twin(&path, item);
    if (journal)
        journal->changed(rank, nullptr);
    return true;
}

PyObject* Sorted::set_value(const Path& path, PyObject* value) {
    PyObject* old = nullptr;

    replaced++;
    if (tag_of(path.word) == Tag::bucket) {
        Py_INCREF(value);
        return std::exchange((*bucket_of(path.word))[path.at].value, value);
    }
    Word word = pack(value), was = path.word;
    if (tag_of(was) == Tag::entry)
        was = std::atomic_ref(entry_of(was)->value).exchange(word, std::memory_order_acq_rel);
    else
        lath_index_replace_item(&path.level->index, path.code, word, nullptr);
    held += tag_of(word) == Tag::object;
    if (tag_of(was) == Tag::object) {
        held--;
        old = object_of(was);
    }
    return old;
}

Item Sorted::remove(Path path) {
    Item gone = {nullptr, nullptr, nullptr};
    bool last = true;

    if (tag_of(path.word) == Tag::bucket) {
        Bucket* bucket = bucket_of(path.word);
        gone = (*bucket)[path.at];
        last = bucket->size() == 1;
        if (!last)
            bucket->erase(path.at);
        held -= references(gone);
    } else {
        Word value = path.word;
        held -= references(path.word);
        if (tag_of(path.word) == Tag::entry) {
            gone.key = entry_of(path.word)->key;
            value = entry_of(path.word)->value;
        }
        if (tag_of(value) == Tag::object)
            gone.value = object_of(value);
    }
    if (last) {
        lath_index_erase_item(&path.level->index, path.code, nullptr);
        if (is_block(path.word)) {
            await_visits(this);
            free_block(path.word);
        }
    }
    while (last && path.level->count == 1 && !path.above.empty()) { // the level is empty
        std::unique_ptr<Level> empty(path.level);
        path.level = path.above.back().first;
        path.code = path.above.back().second;
        path.above.pop_back();
        lath_index_erase_item(&path.level->index, path.code, nullptr);
        await_visits(this);
    }
    count(path, -1, !last);
    return gone;
}

void Sorted::take_ranks(const std::vector<uint64_t>& ranks) {
    std::vector<Item> gone;

    gone.reserve(ranks.size());
    for (uint64_t rank : ranks) {
        Path path;
        select(rank, &path);
        gone.push_back(remove(std::move(path)));
    }
    for (const Item& item : gone)
        release(item);
}

// Takes a level apart that nothing finds any more, and drops its references.
void Sorted::end(Level* level) noexcept {
    auto each = [](void* arg, const lath_item* item) {
        if (tag_of(item->value) == Tag::level)
            static_cast<Sorted*>(arg)->end(level_of(item->value));
        else
            drop_word(item->value);
    };

    level->close(each, this);
    delete level;
}

void Sorted::clear() {
    quiet();
    auto empty = std::make_unique<Level>(0);
    conceal();
    kind = Kind::none;
    held = 0;
    version++;
    end(std::exchange(root, empty.release()));
}

void Sorted::exchange(Sorted& other) {
    quiet();
    other.quiet();
    conceal();
    other.conceal();
    std::swap(root, other.root);
    std::swap(kind, other.kind);
    std::swap(held, other.held);
    version++;
    other.version++;
    reveal();
    other.reveal();
}

// A bucket that has become long. While a batch runs it stays: the call after it sees to it.
void Sorted::relieve(const Path& path) {
    if (readers || batch)
        return;
    const Bucket* bucket = bucket_of(path.word);
    PyObject *first = (*bucket)[{}].order(), *last = (*bucket)[bucket->last()].order();

    if (kind > Kind::object ? ends_here(path.code)
                            : !is_plain(first) || !is_plain(last) || !less(first, last))
        return;
    // Integers beyond 64 bits share a code; as long as they are few the others keep theirs.
    if (kind == Kind::integer && (PyFloat_Check(last) || 2 * bucket->size() > size()))
        become(Kind::real);
    else if (has_levels(kind))
        nest(path);
}

// Makes a level of a bucket. Without memory it stays a bucket.
void Sorted::nest(Path path) {
    Bucket* bucket = bucket_of(path.word);
    std::vector<Item> items;
    std::vector<PyObject*> gone; // integers that are in words now

    try {
        bucket->each([&](const Item& item) {
            items.push_back(item);
            return 0;
        });
        gone.reserve(items.size());
        Level* level =
            build(path.level->depth + level_bytes, items.data(), items.size(), true, &gone);
        set_word(&path, word_of(level, Tag::level));
    } catch (const std::bad_alloc&) {
        return;
    }
    bucket->free();
    held -= gone.size();
    for (PyObject* object : gone)
        Py_DECREF(object);
}

// A level of items in order, with codes of another kind, that has its own references, whose
// number is added. Throws std::bad_alloc.
Level* Sorted::rebuild(Kind next, const std::vector<Item>& items, uint64_t* references) {
    std::vector<lath_item> words;
    auto level = std::make_unique<Level>(0);
    auto code_at = [&](size_t i) {
        return next == Kind::object ? Code{0, false} : encode(next, KeyView(items[i].order()), 0);
    };

    try {
        for (size_t i = 0, end; i < items.size(); i = end) {
            Code code = code_at(i);
            for (end = i + 1; end < items.size() && code_at(end).code == code.code; end++)
                ;
            words.push_back({code.code, 1, no_value});
            level->extras.add(code.code, static_cast<int64_t>(end - i) - 1);
            if (end - i > 1 || !code.exact || !plain)
                words.back().value = word_of(Bucket::make(&items[i], end - i), Tag::bucket);
            else if (values)
                words.back().value = pack(items[i].value);
        }
        must(LATH_CORE(lath_index_load_sorted(&level->index, words.size(), words.data(), nullptr)),
             "lath_index_load_sorted");
    } catch (...) {
        for (const lath_item& word : words)
            if (tag_of(word.value) == Tag::object)
                Py_DECREF(object_of(word.value));
        free_words(words);
        throw;
    }
    level->count = items.size();
    for (const lath_item& word : words) {
        *references += tag_of(word.value) == Tag::object;
        if (tag_of(word.value) == Tag::bucket)
            bucket_of(word.value)->each([=](const Item& item) {
                keep(item);
                *references += lathpy::references(item);
                return 0;
            });
    }
    return level.release();
}

// Makes codes of another kind of all items, in their order. If it throws, the container stays as it
// was. Other threads may have changed it when the call begins: the caller looks again for what it
// had found.
void Sorted::become(Kind next) {
    struct Owned : std::vector<Item> {
        ~Owned() {
            for (const Item& item : *this)
                drop(item);
        }
    } items;
    uint64_t references = 0;

    quiet();
    items.reserve(size());
    for (Walk walk(*this, 0, size(), false); walk.next();) {
        nb::object sort = nb::borrow(walk.item ? walk.item->sort : nullptr);
        nb::object value = values ? walk.value() : nb::object();
        items.push_back({nullptr, walk.key().release().ptr(), nullptr});
        items.back().sort = sort.release().ptr();
        items.back().value = value.release().ptr();
    }
    Level* made = rebuild(next, items, &references);
    conceal();
    Level* before = std::exchange(root, made);
    kind = next;
    held = references;
    version++;
    reveal();
    end(before);
}

} // namespace lathpy
