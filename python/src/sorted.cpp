// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "sorted.hpp"
#include "memory.hpp"
#include "walk.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <chrono>
#include <new>
#include <string>
#include <thread>

namespace lathpy {

Word pack(PyObject* value) {
    if (PyLong_CheckExact(value)) {
        int over = 0;
        long long number = PyLong_AsLongLongAndOverflow(value, &over);
        if (!over && is_small(number))
            return small_word(number);
    }
    Py_INCREF(value);
    return reinterpret_cast<Word>(value);
}

PyObject* unpack(Word word) {
    if (tag_of(word) == Tag::small) {
        PyObject* number = PyLong_FromLongLong(small_of(word));
        if (!number)
            throw nb::python_error();
        return number;
    }
    Py_INCREF(object_of(word));
    return object_of(word);
}

uint64_t references(Word word) {
    uint64_t n = 0;

    each_reference(word, [&](PyObject*) {
        n++;
        return 0;
    });
    return n;
}

void free_block(Word word) {
    if (tag_of(word) == Tag::bucket)
        bucket_of(word)->free();
    else if (tag_of(word) == Tag::entry)
        PyMem_Free(entry_of(word));
}

void drop_word(Word word) {
    each_reference(word, [](PyObject* object) {
        Py_DECREF(object);
        return 0;
    });
    free_block(word);
}

Word make_entry(PyObject* key, Word value) {
    auto* entry = static_cast<Entry*>(PyMem_Malloc(sizeof(Entry)));

    if (!entry)
        throw std::bad_alloc();
    *entry = {key, value};
    return word_of(entry, Tag::entry);
}

Level::Level(size_t depth) : depth(depth) {
    lath_config config = index_config();

    config.layout = LATH_POINTS;
    config.flags = LATH_RANKS | LATH_GAPPED;

    must(LATH_CORE(lath_index_init(&index, &config)), "lath_index_init");
    open = true;
}

void Level::close(lath_item_fn each, void* arg) {
    if (open)
        lath_index_fini(&index, each, arg);
    open = false;
}

Sorted::Sorted(bool values, bool twins, nb::object key)
    : values(values), twins(twins), plain(key.is_none()), root(new Level(0)),
      key_fn(std::move(key)) {}

// No other call can be under way, and nothing finds the container any more.
Sorted::~Sorted() { end(root); }

nb::object Sorted::sort_of(nb::handle key) const {
    struct Call {
        unsigned& calls;
        explicit Call(unsigned& calls) : calls(calls) { calls++; }
        ~Call() { calls -= calls != 0; } // 0: a fork within it
    };

    if (key_fn.is_none())
        return nb::borrow(key);
    Call call(keying);
    return key_fn(key);
}

void Sorted::restart(nb::object key) {
    Sorted fresh(values, twins, std::move(key));

    if (keying) // what it returns belongs to the order that is about to end
        raise(PyExc_RuntimeError, "__init__ was called while the key function runs");
    quiet();
    conceal();
    std::swap(root, fresh.root);
    std::swap(held, fresh.held);
    std::swap(plain, fresh.plain);
    std::swap(key_fn, fresh.key_fn);
    kind = Kind::none;
    version++;
}

void Sorted::writing() {
    settle();
    if (comparing)
        raise(PyExc_RuntimeError, "the container was changed within a comparison of its keys");
    while (batch) {
        nb::gil_scoped_release others;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

void Sorted::quiet() {
    for (writing(); readers; writing()) {
        nb::gil_scoped_release others;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

Sorted::Exclusive::Exclusive(Sorted& sorted) : sorted(sorted) {
    sorted.writing();
    sorted.batch = true;
    sorted.version++;
}

Sorted::Exclusive::~Exclusive() {
    sorted.batch = false;
    sorted.version++;
}

Reading::Reading(Sorted& sorted) : sorted(sorted) {
    sorted.settle();
    sorted.readers++;
}

Reading::~Reading() {
    if (--sorted.readers || sorted.limbo.empty())
        return;
    await_visits(&sorted);
    for (PyObject* object : std::exchange(sorted.limbo, {}))
        Py_DECREF(object);
}

void Sorted::release(PyObject* object) {
    if (!object)
        return;
    if (readers) {
        limbo.push_back(object);
        return;
    }
    await_visits(this);
    Py_DECREF(object);
}

void Sorted::release(const Item& item) {
    release(item.sort);
    release(item.value);
    release(item.key);
}

bool Sorted::less(PyObject* a, PyObject* b) {
    if (PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b))
        return PyUnicode_Compare(a, b) < 0;
    bool guard = !is_plain(a) || !is_plain(b);
    comparing += guard;
    int result = PyObject_RichCompareBool(a, b, Py_LT);
    comparing -= guard && comparing; // 0: a fork within it
    if (result < 0) {
        tell_incomparable(a, b);
        throw nb::python_error();
    }
    return result;
}

bool Sorted::equal(PyObject* a, PyObject* b) {
    bool guard = !is_plain(a) || !is_plain(b);
    comparing += guard;
    int result = PyObject_RichCompareBool(a, b, Py_EQ);
    comparing -= guard && comparing; // 0: a fork within it
    if (result < 0) {
        tell_incomparable(a, b);
        throw nb::python_error();
    }
    return result;
}

// The place of `sort` before (right: behind) the items that sort equal.
Spot Sorted::bisect(const Bucket* bucket, PyObject* sort, bool right) {
    constexpr size_t many = 16;

    // Items often come in order: then one comparison tells that this one is the last.
    if (right && bucket->size() >= many && !less(sort, (*bucket)[bucket->last()].order()))
        return bucket->end();
    return bucket->partition([=, this](const Item& there) {
        return right ? !less(sort, there.order()) : less(there.order(), sort);
    });
}

// From the root to the level that has what sorts equal; *there: the path's word is set.
Code Sorted::descend(const KeyView& view, Path* path, bool* there) {
    path->level = root;
    for (;;) {
        Code code = encode(kind, view, path->level->depth);
        code.exact = code.exact && plain;
        path->code = code.code;
        *there = lath_index_get(&path->level->index, code.code, &path->word) != 0;
        if (!*there)
            path->word = no_value;
        if (!*there || tag_of(path->word) != Tag::level)
            return code;
        path->above.emplace_back(path->level, code.code);
        path->level = level_of(path->word);
    }
}

bool Sorted::find(PyObject* key, Path* path, bool change) {
    try {
        return search(key, path, change);
    } catch (nb::python_error& error) {
        // As in a dict: what is not comparable to a key is not equal to it.
        if (!error.matches(PyExc_TypeError))
            throw;
        return false;
    }
}

bool Sorted::search(PyObject* key, Path* path, bool change) {
    bool there;

    nb::object sort = sort_of(key);
    KeyView view(sort.ptr());
    if (change)
        writing();
    if (size() == 0 || view.nan)
        return false;
    if (!encodable(kind, view))
        return find_by_comparing(key, sort.ptr(), path);
    Code code = descend(view, path, &there);
    if (!there)
        return false;
    if (tag_of(path->word) != Tag::bucket)
        return code.exact || equal(key_at(*path).ptr(), key);
    const Bucket* bucket = bucket_of(path->word);
    path->at = bisect(bucket, sort.ptr(), false);
    if (path->at.at == (*bucket).end().at && path->at.piece == bucket->end().piece)
        return false;
    do {
        const Item& item = (*bucket)[path->at];
        if (equal(item.key, key)) // equal keys may sort apart by a key function
            return plain || !less(sort.ptr(), item.order());
        if (less(sort.ptr(), item.order()))
            return false;
    } while (bucket->next(&path->at));
    return false;
}

Sorted::Seen Sorted::peek(PyObject* key, Word* word) const {
    Word there;

    if (PyLong_CheckExact(key))
        return peek_integer(key, word);
    if (!is_plain(key))
        return Seen::unsure;
    KeyView view(key);
    Kind wanted = kind_of(view);
    if (!encodable(wanted, view)) // a NaN or a lone surrogate; and a str keeps its UTF-8 form now
        return Seen::unsure;
    Visit visit(this);
    Level* level = root_for(visit, wanted);
    while (level) {
        Code code = encode(wanted, view, level->depth);
        if (!lath_index_get(&level->index, code.code, &there))
            return Seen::absent;
        if (tag_of(there) != Tag::level)
            return look_at(key, code, there, word);
        level = level_of(there);
    }
    return Seen::unsure;
}

// Within a visit: whether the word that a level has for the code of a key is that of the key.
Sorted::Seen Sorted::look_at(PyObject* key, const Code& code, Word there, Word* word) const {
    PyObject* other = nullptr;

    if (tag_of(there) == Tag::entry) {
        other = entry_of(there)->key;
        there = std::atomic_ref(entry_of(there)->value).load(std::memory_order_acquire);
    } else if (!values && tag_of(there) == Tag::object) {
        other = object_of(there);
    } else if (tag_of(there) == Tag::bucket || !code.exact) {
        return Seen::unsure; // a bucket moves; a number has to be made to be compared
    }
    if (other) {
        if (!PyUnicode_CheckExact(other) || !PyUnicode_CheckExact(key))
            return Seen::unsure; // its comparison may be code of Python's
        if (PyUnicode_Compare(other, key))
            return Seen::absent;
    }
    if (word && tag_of(there) == Tag::object)
        Py_INCREF(object_of(there));
    if (word)
        *word = there;
    return Seen::there;
}

// As rank(), for what has no code among these keys.
uint64_t Sorted::rank_by_comparing(PyObject* sort, bool right) {
    uint64_t low = 0, high = size();

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        Path path;
        select(middle, &path);
        nb::object there = order_at(path);
        if (right ? !less(sort, there.ptr()) : less(there.ptr(), sort))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// As find(), for what has no code among these keys.
bool Sorted::find_by_comparing(PyObject* key, PyObject* sort, Path* path) {
    for (uint64_t rank = rank_by_comparing(sort, false); rank < size(); rank++) {
        *path = Path();
        select(rank, path);
        if (equal(key_at(*path).ptr(), key))
            return plain || !less(sort, order_at(*path).ptr());
        if (less(sort, order_at(*path).ptr()))
            return false;
    }
    return false;
}

void Sorted::select(uint64_t rank, Path* path) {
    if (!reach(rank, path))
        raise(PyExc_IndexError, "index out of range");
}

bool Sorted::reach(uint64_t rank, Path* path) {
    path->level = root;
    for (;;) {
        Level* level = path->level;
        const Extras::Node* node = level->extras.top();
        uint64_t passed = 0;
        while (node) {
            uint64_t left = passed + Extras::sum(node->left);
            uint64_t first =
                static_cast<uint64_t>(lath_index_rank(&level->index, node->code)) + left;
            if (rank < first) {
                node = node->left.get();
            } else if (rank <= first + node->weight) {
                rank -= first;
                break;
            } else {
                passed = left + node->weight;
                node = node->right.get();
            }
        }
        if (node) {
            path->code = node->code;
            lath_index_get(&level->index, node->code, &path->word);
        } else {
            lath_item item;
            if (lath_index_select(&level->index, rank - passed, &item))
                return false;
            path->code = item.key;
            path->word = item.value;
            rank = 0;
        }
        if (tag_of(path->word) == Tag::bucket)
            path->at = bucket_of(path->word)->spot_of(rank);
        if (tag_of(path->word) != Tag::level)
            return true;
        path->above.emplace_back(level, path->code);
        path->level = level_of(path->word);
    }
}

uint64_t Sorted::rank_of(const Path& path) {
    auto below = [](Level* level, uint64_t code) {
        return static_cast<uint64_t>(lath_index_rank(&level->index, code)) +
               level->extras.below(code);
    };
    uint64_t rank = below(path.level, path.code);

    rank +=
        tag_of(path.word) == Tag::bucket ? bucket_of(path.word)->position_of(path.at) : path.at.at;
    for (auto& [level, code] : path.above)
        rank += below(level, code);
    return rank;
}

uint64_t Sorted::rank(PyObject* sort, bool right) {
    Path path;
    bool there;

    if (size() == 0)
        return 0;
    KeyView view(sort);
    if (view.nan)
        refuse_unordered(kind, view);
    if (!encodable(kind, view))
        return rank_by_comparing(sort, right);
    Code code = descend(view, &path, &there);
    if (there && tag_of(path.word) == Tag::bucket) {
        path.at = bisect(bucket_of(path.word), sort, right);
    } else if (there) {
        nb::object key = code.exact ? nb::object() : key_at(path);
        path.at.at = code.exact ? right : right ? !less(sort, key.ptr()) : less(key.ptr(), sort);
    }
    return rank_of(path);
}

uint64_t Sorted::count_of(PyObject* key) {
    try {
        nb::object sort = sort_of(key);
        if (KeyView(sort.ptr()).nan)
            return 0;
        return rank(sort.ptr(), true) - rank(sort.ptr(), false);
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_TypeError))
            throw;
        return 0;
    }
}

nb::object Sorted::key_at(const Path& path) {
    if (tag_of(path.word) == Tag::bucket)
        return nb::borrow((*bucket_of(path.word))[path.at].key);
    if (tag_of(path.word) == Tag::entry)
        return nb::borrow(entry_of(path.word)->key);
    if (!values && tag_of(path.word) == Tag::object)
        return nb::borrow(object_of(path.word));
    return decode(kind, path.code);
}

nb::object Sorted::order_at(const Path& path) {
    if (tag_of(path.word) == Tag::bucket)
        return nb::borrow((*bucket_of(path.word))[path.at].order());
    return key_at(path);
}

nb::object Sorted::value_at(const Path& path) {
    if (tag_of(path.word) == Tag::bucket)
        return nb::borrow((*bucket_of(path.word))[path.at].value);
    if (tag_of(path.word) == Tag::entry)
        return nb::steal(unpack(entry_of(path.word)->value));
    return nb::steal(unpack(path.word));
}

// Counts items at the path; twin: besides others of that code.
void Sorted::count(const Path& path, int64_t by, bool twin) {
    size_t done_above = 0;

    try {
        for (; done_above < path.above.size(); done_above++)
            path.above[done_above].first->extras.add(path.above[done_above].second, by);
        if (twin)
            path.level->extras.add(path.code, by);
    } catch (...) {
        while (done_above--)
            path.above[done_above].first->extras.add(path.above[done_above].second, -by);
        throw;
    }
    for (auto& [level, code] : path.above)
        level->count += static_cast<uint64_t>(by);
    path.level->count += static_cast<uint64_t>(by);
    version++;
}

namespace {

// Calls visit(code, word) for each word of a level; stops at a result other than 0.
template <class Visit>
int each_word(Level* level, Visit visit) {
    uint64_t codes[64], words[64], from = 0;
    size_t n;

    do {
        n = lath_index_scan_values(&level->index, from, ~0ull, codes, words, 64, &from);
        for (size_t i = 0; i < n; i++)
            if (int ret = visit(codes[i], words[i]))
                return ret;
    } while (n == 64 && from != 0);
    return 0;
}

int visit_level(Level* level, visitproc visit, void* arg) {
    return each_word(level, [=](uint64_t, Word word) {
        if (tag_of(word) == Tag::level)
            return visit_level(level_of(word), visit, arg);
        return each_reference(word, [=](PyObject* object) { return visit(object, arg); });
    });
}

// The number of references that a level and those below it hold.
uint64_t references_of(Level* level) {
    uint64_t found = 0;

    each_word(level, [&](uint64_t, Word word) {
        found += tag_of(word) == Tag::level ? references_of(level_of(word)) : references(word);
        return 0;
    });
    return found;
}

void check(bool right, const char* what) {
    if (!right)
        raise(PyExc_RuntimeError, what);
}

} // namespace

// A batch of another thread ends here, in the midst of its work. The index is whole
// (lathwork/config.h); what is counted beside it is counted anew.
void Sorted::forget_threads() {
    era = forks;
    if (batch) {
        root->count = static_cast<uint64_t>(lath_index_count(&root->index)) + root->extras.total();
        held = references_of(root);
        version++;
    }
    batch = false;
    readers = keying = comparing = 0;
}

int Sorted::traverse(visitproc visit, void* arg) {
    settle();
    Py_VISIT(key_fn.ptr());
    for (PyObject* object : limbo)
        Py_VISIT(object);
    if (batch) // items come and go between two looks of the collector: it must find none
        return 0;
    return held ? visit_level(root, visit, arg) : 0;
}

// Checks a level and adds up the references it holds.
void Sorted::verify_level(Level* level, uint64_t* references) {
    char report[200];
    uint64_t items = 0;

    if (lath_index_verify(&level->index, 6, report, sizeof(report)))
        raise(PyExc_RuntimeError, report);
    each_word(level, [&](uint64_t code, Word word) {
        uint64_t here = 1;
        *references += lathpy::references(word);
        if (tag_of(word) == Tag::entry || (!values && tag_of(word) == Tag::object)) {
            bool entry = tag_of(word) == Tag::entry;
            KeyView view(entry ? entry_of(word)->key : object_of(word));
            check(encode(kind, view, level->depth).code == code, "a key has another code");
            check(!entry || (values && has_lone_keys()), "a container has no entries");
        } else if (tag_of(word) == Tag::bucket) {
            const Item* before = nullptr;
            here = bucket_of(word)->size();
            check(here && bucket_of(word)->sound(), "a bucket is empty or overfull");
            bucket_of(word)->each([&](const Item& item) {
                KeyView view(item.order());
                check(encodable(kind, view) && encode(kind, view, level->depth).code == code,
                      "an item has another code");
                check(!before || !less(item.order(), before->order()),
                      "items of a bucket are out of order");
                before = &item;
                return 0;
            });
        } else if (tag_of(word) == Tag::level) {
            verify_level(level_of(word), references);
            here = level_of(word)->count;
        }
        check(level->extras.below(code + 1) - level->extras.below(code) == here - 1 ||
                  code == ~0ull,
              "the extras of a code are wrong");
        items += here;
        return 0;
    });
    check(items == level->count, "the number of items is wrong");
    check(level->extras.total() == items - lath_index_count(&level->index),
          "the sum of the extras is wrong");
}

void Sorted::verify() {
    uint64_t references = 0;

    writing(); // waits for a batch
    Pinned pinned(*this);
    verify_level(root, &references);
    check(references == held, "the number of references is wrong");
}

} // namespace lathpy
