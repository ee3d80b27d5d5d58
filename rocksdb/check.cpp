// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// check.cpp - see check.hpp.
#include "check.hpp"

#include <memory>

#include <rocksdb/version.h>

#include "inside.hpp"

namespace lath_rocksdb {

namespace {

// Counts what is asked of it.
class counting_allocator final : public rocksdb::Allocator {
public:
    char* Allocate(size_t bytes) override { return plain_ += bytes, from(bytes); }
    char* AllocateAligned(size_t bytes, size_t, rocksdb::Logger*) override {
        return aligned_ += bytes, from((bytes + 15) & ~size_t{15});
    }
    size_t BlockSize() const override { return sizeof(memory_); }

    size_t plain_ = 0, aligned_ = 0;

private:
    char* from(size_t bytes) { return memory_ + (used_ += bytes) - bytes; }

    alignas(16) char memory_[8192];
    size_t used_ = 0;
};

class any_order final : public rocksdb::MemTableRep::KeyComparator {
public:
    int operator()(const char*, const char*) const override { return 0; }
    int operator()(const char*, const rocksdb::Slice&) const override { return 0; }
};

// Remembers what it is asked to find.
class probe final : public rocksdb::MemTableRep {
public:
    class finder final : public Iterator {
    public:
        explicit finder(probe* of) : of_(of) {}
        bool Valid() const override { return false; }
        const char* key() const override { return nullptr; }
        void Next() override {}
        void Prev() override {}
        void Seek(const rocksdb::Slice& key, const char* entry) override {
            of_->key_ = key;
            of_->entry_ = entry;
        }
        void SeekForPrev(const rocksdb::Slice&, const char*) override {}
        void SeekToFirst() override {}
        void SeekToLast() override {}
        // It is a part of its table: RocksDB may delete it, or as 7.8 forget it.
        static void operator delete(void*) {} // NOLINT(misc-new-delete-overloads)

    private:
        probe* of_;
    };

    explicit probe(rocksdb::Allocator* arena) : MemTableRep(arena) {}
    void Insert(rocksdb::KeyHandle) override {}
    bool Contains(const char*) const override { return false; }
    size_t ApproximateMemoryUsage() override { return 0; }
    Iterator* GetIterator(rocksdb::Arena*) override { return &finder_; }

    rocksdb::Slice key_;
    const char* entry_ = nullptr;

private:
    finder finder_{this};
};

bool allocators_agree() {
    counting_allocator arena;
    any_order order;
    probe table(&arena);
    char* buffer = nullptr;

    table.MemTableRep::Allocate(24, &buffer);
    if (arena.plain_ != 24 || !buffer)
        return false;
    std::unique_ptr<rocksdb::MemTableRep> list(
        rocksdb::SkipListFactory().CreateMemTableRep(order, &arena, nullptr, nullptr));
    const size_t before = arena.aligned_;
    list->Allocate(24, &buffer);
    return before && arena.aligned_ > before && arena.plain_ == 24;
}

bool lookups_agree() {
    static const char text[] = "\x0bkey12345678";
    counting_allocator arena;
    probe table(&arena);
    const rocksdb::LookupKey key(text, text + 1, text + sizeof(text) - 1);

    table.MemTableRep::Get(key, nullptr, nullptr);
    return table.key_.data() == text + 1 && table.key_.size() == 11 && table.entry_ == text;
}

} // namespace

std::string check_version(const std::string& version) {
    const std::string built =
        std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + ".";
    if (version.compare(0, built.size(), built) == 0)
        return "";
    return "it was built for RocksDB " + built + "x, and this is RocksDB " + version;
}

std::string check_layout() {
    if (!allocators_agree())
        return "this RocksDB's class Allocator is not the one that it was built for";
    if (!lookups_agree())
        return "this RocksDB's class LookupKey is not the one that it was built for";
    return "";
}

} // namespace lath_rocksdb
