// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/items.hpp - what the containers of index.hpp and point_map.hpp show and keep:
// ranges, entries, results, sections; values in the index itself or in boxes.
//
// index.hpp includes it; a program has no reason to do so itself.
//
//   lathwork::range where = lathwork::range::between(4096, 8192); // [4096, 8192)
//   if (where.contains(5000) && where == lathwork::range::sized(4096, 4096))
//       use(where.first(), where.end());
//
// Errors: a result has 0 or a negative errno, as the calls of index.hpp say.
#ifndef LATHWORK_CXX_ITEMS_HPP
#define LATHWORK_CXX_ITEMS_HPP

#include "lathwork/cxx/detail/calls.hpp"
#include "lathwork/error.h"
#include "lathwork/index.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define LATHWORK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LATHWORK_TSAN 1
#endif
#endif
#ifdef LATHWORK_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace lathwork {

using config = lath_config;
using stats = lath_index_stats;

// The defaults: ranges, memory from anonymous pages, threads register by themselves.
inline config default_config() { return LATH_CONFIG_INIT; }

// A lath_allocator over a memory resource, for config.allocator. Both stay where they are as long
// as a container made with them; the resource may be called by several threads at once.
inline lath_allocator memory_of(std::pmr::memory_resource& resource) {
    static constexpr std::size_t most = 64; // free() is not told the alignment: always this one
    return {[](void* ctx, std::size_t size, std::size_t align) -> void* {
                if (align > most)
                    return nullptr;
#ifdef __cpp_exceptions
                try {
#endif
                    return static_cast<std::pmr::memory_resource*>(ctx)->allocate(size, most);
#ifdef __cpp_exceptions
                } catch (...) {
                    return nullptr;
                }
#endif
            },
            [](void* ctx, void* block, std::size_t size) {
                static_cast<std::pmr::memory_resource*>(ctx)->deallocate(block, size, most);
            },
            &resource};
}

// The half-open range [first(), end()) of keys; key and size are those of the C calls. size 0 is no
// range. A range may go up to the last key, 2^64 - 1: then end() is 0.
struct range {
    std::uint64_t key = 0;
    std::uint64_t size = 0;

    constexpr range() = default;

    // [first, end); end 0 is 2^64. Empty if end is not above first.
    static constexpr range between(std::uint64_t first, std::uint64_t end) {
        return sized(first, end > first || end == 0 ? end - first : 0);
    }
    static constexpr range sized(std::uint64_t first, std::uint64_t size) {
        range r;
        r.key = first;
        r.size = size;
        return r;
    }

    constexpr std::uint64_t first() const { return key; }
    constexpr std::uint64_t end() const { return key + size; }
    constexpr std::uint64_t last() const { return key + (size - 1); }
    constexpr bool contains(std::uint64_t point) const { return point - key < size; }
    constexpr bool overlaps(const range& other) const {
        return contains(other.key) || other.contains(key);
    }
    friend constexpr bool operator==(const range&, const range&) = default;
};

// What a range_map shows: `auto [where, value] = ...`
template <typename T>
struct entry {
    range where;
    T value;
    friend bool operator==(const entry&, const entry&) = default;
};

// What a call did: true if it did all that it was asked for, else a negative errno of its list.
struct result {
    int error = 0;
    explicit operator bool() const { return error == 0; }
    // A sentence on it; never NULL.
    const char* what() const { return lath_strerror(error); }
};

// What insert did. there: on -EEXIST one range that is in the way.
struct insert_result : result {
    range there{};
};

// A value that lies in a word of the index, or, of a point_map whose keys are words, in its leaves,
// in place of a box.
template <typename T>
concept stored_directly = std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t);
template <typename T>
concept stored_in_leaf = std::is_trivially_copyable_v<T> && sizeof(T) <= 64;

// An RCU read-side critical section for the length of a scope: nothing that a find in it has
// returned is destroyed before it ends. It ends in the thread that began it, and the thread must
// not wait for readers meanwhile (drain(), take(), the end of a container). Sections may be nested.
class [[nodiscard]] read_section {
public:
    explicit read_section(const lath_rcu* rcu = &lath_rcu_auto) : rcu_(rcu) {
        ++depth;
        if (rcu_->read_lock)
            rcu_->read_lock();
    }
    // Of the flavour of a container.
    template <typename Container>
        requires requires(const Container& c) { c.rcu(); }
    explicit read_section(const Container& c) : read_section(c.rcu()) {}
    ~read_section() {
#ifdef LATHWORK_TSAN
        __tsan_release(&grace_period); // pairs with retired(): liburcu is not instrumented
#endif
        if (rcu_->read_unlock)
            rcu_->read_unlock();
        --depth;
    }
    // Whether the calling thread is in one.
    static bool inside() { return depth; }
    read_section(const read_section&) = delete;
    read_section& operator=(const read_section&) = delete;

    const lath_rcu* rcu() const { return rcu_; }

    // call(head, fn): lath_rcu::call or lath_rcu_later. The first statement of fn is retired().
    static void retire(decltype(lath_rcu::call) call, lath_rcu_head* head,
                       void (*fn)(lath_rcu_head*)) {
#ifdef LATHWORK_TSAN
        __tsan_release(&grace_period);
#endif
        call(head, fn);
    }
    // Waits for a grace period.
    static void wait(const lath_rcu* rcu) {
        rcu->synchronize();
        retired();
    }
    static void retired() {
#ifdef LATHWORK_TSAN
        __tsan_acquire(&grace_period);
#endif
    }

private:
    static inline char grace_period = 0;
    static inline constinit thread_local unsigned depth = 0;
    const lath_rcu* rcu_;
};

namespace detail {

using reader = read_section;

// For calls that return no result.
[[noreturn]] inline void fail(int error) {
#ifdef __cpp_exceptions
    if (error == -ENOMEM)
        throw std::bad_alloc();
    throw std::system_error(-error, std::generic_category());
#else
    (void)error;
    std::abort();
#endif
}
inline void must(result done) {
    if (!done)
        fail(done.error);
}
// For at().
template <typename T>
T found_or_throw(std::optional<T> value, [[maybe_unused]] const char* what) {
    if (!value) {
#ifdef __cpp_exceptions
        throw std::out_of_range(what);
#else
        std::abort();
#endif
    }
    return *std::move(value);
}
// Whether ~T runs no code of the program's: then any thread may destroy one, whatever it holds.
template <typename T>
inline constexpr bool is_plain = std::is_trivially_destructible_v<T>;
template <typename Char>
inline constexpr bool is_plain<std::basic_string<Char>> = true;
template <typename T>
class removed_values;

// A T on its own. While the container has it, readers reach it; after retire() it is in one list of
// its removed_values, or on its way there, or iterators show it.
template <typename T>
struct box {
    lath_rcu_head head; // first: a callback gets its address
    removed_values<T>* owner;
    std::atomic<std::uint32_t> holders; // the container, and iterators that show it
    T value;

    // In a section in which it was found, or by one that holds it.
    void hold() { holders.fetch_add(1, std::memory_order_relaxed); }
    // The last one destroys it.
    void release() {
        if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1)
            owner->orphaned(this);
    }
};

// The boxes of one container. A value that left it is destroyed when no reader can see it: by the
// library's thread, outside of all its calls; a plain one, or one of another flavour than
// lath_rcu_auto, by a later call that changes the container; by drain(), or with the container.
//
// Threads: all but the destructor and end_one() may run beside one another.
template <typename T>
class removed_values {
    using box = detail::box<T>;

public:
    removed_values(const lath_allocator* allocator, const lath_rcu* rcu)
        : allocator_(allocator), rcu_(rcu) {}
    removed_values(const removed_values&) = delete;
    removed_values& operator=(const removed_values&) = delete;

    template <typename... Args>
    box* make(Args&&... args) {
        void* memory =
            allocator_ ? allocator_->alloc(allocator_->ctx, sizeof(box), alignof(box))
                       : ::operator new(sizeof(box), std::align_val_t(alignof(box)), std::nothrow);
        if (!memory)
            return nullptr;
        struct guard { // T's constructor may throw
            removed_values* to;
            void* memory;
            ~guard() {
                if (memory)
                    to->give_back(memory);
            }
        } hold{this, memory};
        box* made = new (memory) box{{}, this, {1}, T(std::forward<Args>(args)...)};
        hold.memory = nullptr;
        return made;
    }
    // At once: no reader can have found it.
    void destroy(box* b) {
        b->~box();
        give_back(b);
    }
    // The container ends, and it has drained; boxes that iterators show are left.
    struct end {
        void operator()(removed_values* values) const {
            values->destroy_all();
            values->leave();
        }
    };
    // The container ends, and nobody reads: b is destroyed when its lines have come. nullptr: all
    // are.
    void end_one(box* b) {
        if (b) {
            __builtin_prefetch(b, 1);
            __builtin_prefetch(reinterpret_cast<const char*>(b) + 64, 1);
        }
        for (std::size_t i = 0; i < (b ? 1 : ending_.size()); i++) {
            box*& place = ending_[ended_++ % ending_.size()];
            box* next = std::exchange(place, b);
            if (next && is_last(next))
                destroy(next);
            else if (next)
                keep(next);
        }
    }
    // No iterator shows b any more, and the container does not have it.
    void orphaned(box* b) {
        destroy(b);
        leave();
    }
    // Whether no other shows b, which left the container a grace period ago.
    static bool is_last(const box* b) { return b->holders.load(std::memory_order_acquire) == 1; }
    // The container does not have b any more, but readers may have found it.
    void retire(box* b) { reader::retire(rcu_->call, &b->head, after_grace_period); }
    // Waits until no reader looks at what the container does not have any more.
    void wait() { reader::wait(rcu_); }
    // Waits for the readers and destroys all that left the container before. Not in a section.
    void drain() {
        rcu_->drain();
        destroy_all();
    }
    // No reader can find b any more: the library's thread, or a later call, destroys it, or the last
    // iterator that shows it.
    void keep(box* b) {
        if (!is_last(b)) {
            users_.fetch_add(1, std::memory_order_relaxed);
            if (b->holders.fetch_sub(1, std::memory_order_acq_rel) != 1)
                return;
            users_.fetch_sub(1, std::memory_order_relaxed);
        }
        lath_rcu_head* newest = unseen_.load(std::memory_order_relaxed);
        do
            b->head.next = newest;
        while (!unseen_.compare_exchange_weak(newest, &b->head));
        if (rcu_ == &lath_rcu_auto && !asked_.exchange(true)) {
            users_.fetch_add(1, std::memory_order_relaxed);
            reader::retire(lath_rcu_later, &asks_.head, destroy_later);
        }
    }
    // A call that changes the container begins with this. What a destructor removes waits for the
    // next one: a chain of values would use up the stack.
    void destroy_some() {
        static thread_local unsigned calls = 0;
        if (is_plain<T> && rcu_ == &lath_rcu_auto && ++calls % 64 == 0 && !reader::inside())
            lath_rcu_step(SIZE_MAX); // waits for nothing
        if ((is_plain<T> || rcu_ != &lath_rcu_auto) && !depth && unseen_.load())
            destroy_each(unseen_.exchange(nullptr));
    }
    // Destroys all that no reader looks at any more, and waits for the library's thread, of which
    // the child of a fork has none.
    void destroy_all() {
        while (lath_rcu_head* first = unseen_.exchange(nullptr))
            destroy_each(first);
        while (at_work_.load() == getpid() && !depth)
            std::this_thread::yield();
    }

private:
    static inline thread_local unsigned depth = 0; // of calls of destroy_each()

    static box* of(lath_rcu_head* head) { return reinterpret_cast<box*>(head); }
    static void after_grace_period(lath_rcu_head* head) {
        reader::retired();
        of(head)->owner->keep(of(head)); // the flavour does not use the head any more
    }
    static void destroy_later(lath_rcu_head* head) {
        reader::retired();
        removed_values* self = reinterpret_cast<asking*>(head)->owner;
        self->at_work_.store(getpid());
        self->asked_.store(false);
        self->destroy_each(self->unseen_.exchange(nullptr));
        self->at_work_.store(0);
        self->leave();
    }
    // The destructor of a value may call the container.
    void destroy_each(lath_rcu_head* first) {
        ++depth;
        for (lath_rcu_head* next; first; first = next) {
            next = first->next;
            destroy(of(first));
        }
        --depth;
    }
    void leave() {
        if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
    void give_back(void* memory) {
        if (allocator_)
            allocator_->free(allocator_->ctx, memory, sizeof(box));
        else
            ::operator delete(memory, std::align_val_t(alignof(box)), std::nothrow);
    }

    const lath_allocator* allocator_;
    const lath_rcu* rcu_;
    std::atomic<lath_rcu_head*> unseen_{nullptr}; // a stack; callbacks push
    struct asking {
        lath_rcu_head head; // first, as in a box
        removed_values* owner;
    } asks_{{}, this};
    std::atomic<bool> asked_{false}; // the library's thread is to look at unseen_
    std::atomic<pid_t> at_work_{0}; // it destroys what it has taken from there
    std::array<box*, 16> ending_{};
    std::size_t ended_ = 0;
    std::atomic<std::size_t> users_{1}; // the container, boxes that only iterators have, asks_
};

// What an index has for a value: a word, or several (lath_config.value_size), of which a lath_item
// has the address.
template <std::size_t N>
struct long_word {
    std::array<std::uint64_t, N> words; // of nothing yet
};
template <typename T>
using word_of =
    std::conditional_t<stored_directly<T>, std::uint64_t, long_word<(sizeof(T) + 7) / 8>>;

inline std::uint64_t* words_of(std::uint64_t& word) { return &word; }
template <std::size_t N>
std::uint64_t* words_of(long_word<N>& word) {
    return word.words.data();
}
// As `value` of an item that a call reads.
inline std::uint64_t given(const std::uint64_t& word) { return word; }
template <std::size_t N>
std::uint64_t given(const long_word<N>& word) {
    return reinterpret_cast<std::uintptr_t>(word.words.data());
}
// An item that a call fills in, with its value.
template <typename Word>
struct taken_item {
    Word word{};
    lath_item item{0, 0, given(word)};
    const Word& value() {
        if constexpr (std::is_same_v<Word, std::uint64_t>)
            word = item.value;
        return word;
    }
};

// Items that a call fills in.
template <typename Word, std::size_t N>
struct taken_items {
    std::array<lath_item, N> items;
    [[no_unique_address]] std::array<Word, std::is_same_v<Word, std::uint64_t> ? 0 : N> words;
    taken_items() { // NOLINT(cppcoreguidelines-pro-type-member-init)
        for (std::size_t i = 0; i < words.size(); i++)
            items[i].value = given(words[i]);
    }
};

// Trivial values as words, and back.
template <typename T>
word_of<T> pack(const T& value) {
    word_of<T> word{};
    std::memcpy(words_of(word), &value, sizeof value);
    return word;
}
template <typename T>
T unpack(const word_of<T>& word) {
    std::array<unsigned char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &word, sizeof(T));
    return std::bit_cast<T>(bytes);
}

// The values of a container as words of its index: the value itself (Direct), or the address of a
// box. T is what a box has.
template <typename T, bool Direct>
class value_words {
    using box = detail::box<T>;

public:
    static constexpr bool direct = Direct;
    using word_type = typename std::conditional_t<Direct, std::type_identity<word_of<T>>,
                                                  std::type_identity<std::uint64_t>>::type;

    explicit value_words(const config& how) {
        if constexpr (!Direct)
            boxes_.reset(new (std::nothrow)
                             removed_values<T>(how.allocator, how.rcu ? how.rcu : &lath_rcu_auto));
    }
    // Whether there was memory.
    bool ready() const {
        if constexpr (Direct)
            return true;
        else
            return boxes_ != nullptr;
    }

    // A value that the index does not have yet, and owns when taken(0) is called. False: no memory.
    class made {
    public:
        made() = default;
        made(made&& other) noexcept
            : word_(other.word_), usable_(std::exchange(other.usable_, false)) {}
        made& operator=(made&&) = delete;
        ~made() {
            if constexpr (!Direct)
                if (usable_)
                    box_of(word_)->owner->destroy(box_of(word_));
        }
        explicit operator bool() const { return usable_; }
        const word_type& word() const { return word_; }
        // The index has it, unless there was an error, which this returns.
        int taken(int error) {
            if (!Direct && error == 0)
                usable_ = false;
            return error;
        }

    private:
        friend value_words;
        explicit made(word_type word) : word_(word), usable_(true) {}
        word_type word_{};
        bool usable_ = false;
    };
    template <typename... Args>
    made make(Args&&... args) {
        if constexpr (Direct) {
            return made(pack(T(std::forward<Args>(args)...)));
        } else {
            box* b = boxes_ ? boxes_->make(std::forward<Args>(args)...) : nullptr;
            return b ? made(reinterpret_cast<std::uintptr_t>(b)) : made();
        }
    }

    // What the index has for this word: a value, or a reference that is good in a section.
    static decltype(auto) show(const word_type& word) {
        if constexpr (Direct)
            return unpack<T>(word);
        else
            return std::as_const(box_of(word)->value);
    }
    // The value of an item that a call has filled in or shows.
    static word_type in(const auto* item) {
        if constexpr (std::is_same_v<word_type, std::uint64_t>)
            return item->value;
        else
            return *reinterpret_cast<const word_type*>(item->value);
    }
    static word_type in(word_type box) { return box; }
    static box* box_of(std::uint64_t word) { return reinterpret_cast<box*>(word); }

    // The index does not have the word any more, but readers may look at its value.
    void retire([[maybe_unused]] const word_type& word) {
        if constexpr (!Direct)
            boxes_->retire(box_of(word));
    }
    // The index does not have the word any more, and no reader can look at its value.
    void keep([[maybe_unused]] const word_type& word) {
        if constexpr (!Direct)
            boxes_->keep(box_of(word));
    }
    // As keep(), of a container that ends: destroys it soon. 0: all of them.
    void end([[maybe_unused]] const word_type& word) {
        if constexpr (!Direct)
            boxes_->end_one(word ? box_of(word) : nullptr);
    }
    void destroy_some() {
        with_boxes([&](auto& boxes) { boxes.destroy_some(); });
    }
    void destroy_all() {
        with_boxes([](auto& boxes) { boxes.destroy_all(); });
    }
    void drain() {
        with_boxes([](auto& boxes) { boxes.drain(); });
    }

private:
    void with_boxes(auto fn) {
        if constexpr (!Direct)
            if (boxes_)
                fn(*boxes_);
    }
    struct none {};
    using owner = std::unique_ptr<removed_values<T>, typename removed_values<T>::end>;
    [[no_unique_address]] std::conditional_t<Direct, none, owner> boxes_;
};

// The value of what a box has: of a point_map, the entry.
template <typename V, typename T>
const V& value_in(const T& stored) {
    if constexpr (std::is_same_v<V, T>)
        return stored;
    else
        return stored.entry.second;
}

} // namespace detail

// A value that has left a map: true if there was one. It is there until this is destroyed; then it
// waits for readers that may look at it and is destroyed after them, by a later call of the map.
// Destroyed before the map.
template <typename V, typename Stored = V, bool Direct = stored_directly<Stored>>
class removed {
    using box = detail::box<Stored>;

public:
    using value_type = V;

    removed() = default;
    // What the index had for the value.
    explicit removed(const typename detail::value_words<Stored, Direct>::word_type& word) {
        if constexpr (Direct)
            there_ = detail::unpack<V>(word);
        else
            there_ = detail::value_words<Stored, false>::box_of(word);
    }
    removed(removed&& other) noexcept : there_(std::exchange(other.there_, {})) {}
    removed& operator=(removed&& other) noexcept {
        std::swap(there_, other.there_);
        return *this;
    }
    ~removed() {
        if constexpr (!Direct)
            if (there_)
                there_->owner->retire(there_);
    }

    bool has_value() const { return static_cast<bool>(there_); }
    explicit operator bool() const { return has_value(); }
    // How many values, as std::map's erase() returns.
    operator std::size_t() const { return has_value(); } // NOLINT(google-explicit-constructor)
    const V& operator*() const {
        if constexpr (Direct)
            return *there_; // NOLINT(bugprone-unchecked-optional-access): has_value()
        else
            return detail::value_in<V>(there_->value);
    }
    const V* operator->() const { return std::addressof(**this); }
    V value_or(V other) const { return has_value() ? **this : std::move(other); }
    // Moves the value out, or copies it while an iterator shows it; of one that only moves that is
    // misuse, and the process ends. It waits for the readers if the value is in a box: not in a
    // section. There is a value.
    V take() {
        if constexpr (Direct) {
            return *std::exchange(there_, {}); // NOLINT(bugprone-unchecked-optional-access)
        } else {
            there_->owner->wait();
            struct end { // V's constructor may throw
                box* gone;
                ~end() { gone->owner->keep(gone); }
            } after{std::exchange(there_, {})};
            V& value = const_cast<V&>(detail::value_in<V>(after.gone->value));
            if (!detail::removed_values<Stored>::is_last(after.gone)) {
                if constexpr (std::is_copy_constructible_v<V>)
                    return std::as_const(value);
                detail::stop("lathwork: take() or extract() of a value that only moves, which an "
                             "iterator shows");
            }
            return std::move(value);
        }
    }

private:
    std::conditional_t<Direct, std::optional<V>, box*> there_{};
};

} // namespace lathwork

#endif // LATHWORK_CXX_ITEMS_HPP
