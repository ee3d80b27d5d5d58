// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Changes of a container.
#include "sorted.hpp"
#include "walk.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace lathpy {

namespace {

void insert_word(Level* level, uint64_t code, Word word) {
    lath_item item = {code, 1, word};

    if (lath_index_insert_item(&level->index, &item, nullptr))
        throw std::bad_alloc();
}

void keep(const Item& item) {
    Py_INCREF(item.key);
    Py_XINCREF(item.sort);
    Py_XINCREF(item.value);
}

} // namespace

void Sorted::admit(PyObject* sort) {
    if (size() == 0) {
        kind = kind_of(sort);
    } else if (!encodable(kind, sort)) {
        // Keys of other types compare with none of the keys (TypeError), or with all of them.
        Path path;
        select(0, &path);
        less(sort, order_at(path).ptr());
        become(Kind::object);
    }
}

nb::object Sorted::order_at(const Path& path) {
    if (tag_of(path.word) == Tag::bucket)
        return nb::borrow(bucket_of(path.word)->items[path.at].order());
    return decode(kind, path.code);
}

void Sorted::set_word(const Path& path, Word word) {
    lath_index_replace_item(&path.level->index, path.code, word, nullptr);
}

// The first item of a code.
void Sorted::add_first(const Path& path, bool exact, const Item& item) {
    if (exact) {
        Word word = item.value ? pack(item.value) : no_value;
        try {
            insert_word(path.level, path.code, word);
        } catch (...) {
            if (tag_of(word) == Tag::object)
                Py_DECREF(item.value);
            throw;
        }
        held += tag_of(word) == Tag::object;
    } else {
        Bucket* bucket = grow(nullptr, 1);
        bucket->items[bucket->used++] = item;
        try {
            insert_word(path.level, path.code, word_of(bucket, Tag::bucket));
        } catch (...) {
            std::free(bucket);
            throw;
        }
        keep(item);
        held += references(item);
    }
    count(path, 1, false);
}

// Makes a bucket of an exact item, and room for one more in a bucket. Returns the number of items.
size_t Sorted::widen(Path* path) {
    version++; // a walk may stand in a bucket that moves
    if (tag_of(path->word) == Tag::bucket) {
        Bucket* bucket = bucket_of(path->word);
        if (bucket->used == bucket->room) {
            bucket = grow(bucket, bucket->room * 2);
            path->word = word_of(bucket, Tag::bucket);
            set_word(*path, path->word);
        }
        return bucket->used;
    }
    nb::object key = decode(kind, path->code);
    nb::object value = values ? nb::steal(unpack(path->word)) : nb::object();
    Bucket* bucket = grow(nullptr, 2);
    held += 1 + (values && tag_of(path->word) == Tag::small);
    if (tag_of(path->word) == Tag::object)
        Py_DECREF(object_of(path->word)); // value holds another reference
    bucket->items[bucket->used++] = {nullptr, key.release().ptr(), value.release().ptr()};
    path->word = word_of(bucket, Tag::bucket);
    set_word(*path, path->word);
    return 1;
}

void Sorted::add_twin(Path* path, size_t at, const Item& item) {
    size_t used = widen(path);
    Bucket* bucket = bucket_of(path->word);

    count(*path, 1, true);
    std::memmove(&bucket->items[at + 1], &bucket->items[at], (used - at) * sizeof(Item));
    bucket->items[at] = item;
    bucket->used++;
    keep(item);
    held += references(item);
    if (bucket->used > nest_at)
        relieve(*path);
}

// Whether the key is at this path already; *at: where it is, or belongs.
bool Sorted::twin_of(const Path& path, PyObject* key, PyObject* sort, size_t* at) {
    if (tag_of(path.word) != Tag::bucket) {
        nb::object there = decode(kind, path.code);
        *at = 0;
        if (!twins && equal(there.ptr(), key))
            return true;
        *at = !less(sort, there.ptr());
        return false;
    }
    const Bucket* bucket = bucket_of(path.word);
    *at = bisect(bucket, sort, true);
    for (size_t i = *at; !twins && i-- > 0;) {
        if (equal(bucket->items[i].key, key)) {
            *at = i;
            return true;
        }
        if (less(bucket->items[i].order(), sort))
            break;
    }
    return false;
}

bool Sorted::add(nb::handle key, PyObject* value, Present present, nb::object* there) {
    nb::object sort = sort_of(key);
    Path path;
    bool taken;

    writing();
    admit(sort.ptr());
    Code code = descend(sort.ptr(), &path, &taken);
    Item item = {plain ? nullptr : sort.ptr(), key.ptr(), value};
    if (!taken) {
        add_first(path, code.exact, item);
        return true;
    }
    bool exact = code.exact && tag_of(path.word) != Tag::bucket;
    path.at = 1;
    if (exact ? !twins : twin_of(path, key.ptr(), sort.ptr(), &path.at)) {
        path.at = exact ? 0 : path.at;
        if (there)
            *there = value_at(path);
        if (values && present == Present::replace)
            set_value(path, value);
        return false;
    }
    add_twin(&path, path.at, item);
    return true;
}

void Sorted::set_value(const Path& path, PyObject* value) {
    PyObject* old = nullptr;

    replaced++;
    if (tag_of(path.word) == Tag::bucket) {
        Item& item = bucket_of(path.word)->items[path.at];
        Py_INCREF(value);
        old = item.value;
        item.value = value;
    } else {
        Word word = pack(value);
        set_word(path, word);
        held += tag_of(word) == Tag::object;
        if (tag_of(path.word) == Tag::object) {
            held--;
            old = object_of(path.word);
        }
    }
    release(old);
}

Item Sorted::remove(Path path) {
    Item gone = {nullptr, nullptr, nullptr};
    bool last = true;

    if (tag_of(path.word) == Tag::bucket) {
        Bucket* bucket = bucket_of(path.word);
        gone = bucket->items[path.at];
        bucket->used--;
        std::memmove(&bucket->items[path.at], &bucket->items[path.at + 1],
                     (bucket->used - path.at) * sizeof(Item));
        last = bucket->used == 0;
        if (last)
            std::free(bucket);
        held -= references(gone);
    } else if (tag_of(path.word) == Tag::object) {
        gone.value = object_of(path.word);
        held--;
    }
    if (last)
        lath_index_erase_item(&path.level->index, path.code, nullptr);
    while (last && path.level->count == 1 && !path.above.empty()) { // the level is empty
        delete path.level;
        path.level = path.above.back().first;
        path.code = path.above.back().second;
        path.above.pop_back();
        lath_index_erase_item(&path.level->index, path.code, nullptr);
    }
    count(path, -1, !last);
    return gone;
}

// Takes the levels apart. gone: the references are collected, to be released last; there is room.
// NULL: they are dropped, which is for a container that nothing finds any more.
void Sorted::end(Level* level, std::vector<PyObject*>* gone) noexcept {
    using Owner = std::pair<Sorted*, std::vector<PyObject*>*>;
    auto each = [](void* arg, const lath_item* item) {
        auto* owner = static_cast<Owner*>(arg);
        auto drop = [owner](PyObject* object) {
            if (object && owner->second)
                owner->second->push_back(object);
            else
                Py_XDECREF(object);
        };
        switch (tag_of(item->value)) {
        case Tag::object:
            drop(object_of(item->value));
            break;
        case Tag::bucket: {
            Bucket* bucket = bucket_of(item->value);
            for (size_t i = 0; i < bucket->used; i++) {
                drop(bucket->items[i].sort);
                drop(bucket->items[i].key);
                drop(bucket->items[i].value);
            }
            std::free(bucket);
            break;
        }
        case Tag::level:
            owner->first->end(level_of(item->value), owner->second);
            break;
        default:
            break;
        }
    };
    Owner owner(this, gone);

    level->close(each, &owner);
    delete level;
}

void Sorted::clear() {
    std::vector<PyObject*> gone;

    quiet();
    auto empty = std::make_unique<Level>(0);
    gone.reserve(held);
    end(std::exchange(root, empty.release()), &gone);
    kind = Kind::none;
    held = 0;
    version++;
    for (PyObject* object : gone)
        release(object);
}

// A bucket that has become long. While a batch runs it stays: the call after it sees to it.
void Sorted::relieve(const Path& path) {
    if (readers || batch)
        return;
    const Bucket* bucket = bucket_of(path.word);
    PyObject *first = bucket->items[0].order(), *last = bucket->items[bucket->used - 1].order();

    if (!is_plain(first) || !is_plain(last) || !less(first, last))
        return;
    if (kind == Kind::integer && PyFloat_Check(last))
        become(Kind::real);
    else if (kind == Kind::text || kind == Kind::bytes)
        nest(path);
}

// Makes a level of a bucket of texts. Without memory it stays a bucket.
void Sorted::nest(const Path& path) {
    Bucket* bucket = bucket_of(path.word);
    std::vector<PyObject*> gone;

    try {
        Level* level = build(path.level->depth + level_bytes, bucket->items, bucket->used, &gone);
        set_word(path, word_of(level, Tag::level));
    } catch (const std::bad_alloc&) {
        return;
    }
    std::free(bucket);
}

// An item behind all others, whose references are taken over.
void Sorted::append(const Item& item) {
    Path path;
    bool taken;
    Code code = descend(item.order(), &path, &taken);

    if (!taken)
        add_first(path, code.exact, item);
    else if (tag_of(path.word) == Tag::bucket)
        add_twin(&path, bucket_of(path.word)->used, item);
    else
        add_twin(&path, 1, item);
}

// Makes codes of another kind of all items. Without memory, or if a key has no such code, the
// container stays as it was, and the error is thrown. Other threads may have changed it when the
// call begins: the caller looks again for what it had found.
void Sorted::become(Kind next) {
    Sorted made(values, twins, key_fn);

    quiet();
    made.kind = next;
    {
        Pinned pinned(*this); // encoding runs code of the caller's
        Walk walk(*this, 0, size(), false);
        while (walk.next()) {
            nb::object key = walk.key(), value = values ? walk.value() : nb::object();
            made.append({walk.item ? walk.item->sort : nullptr, key.ptr(), value.ptr()});
        }
    }
    std::swap(root, made.root);
    std::swap(held, made.held);
    kind = next;
    version++;
}

} // namespace lathpy
