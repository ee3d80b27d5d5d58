// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// oracle_test.cpp - two databases, one with RocksDB's skip list and one with this memtable, get the
// same calls and must give the same answers. Arguments: how many calls, a seed.
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/utilities/options_type.h>
#include <rocksdb/write_buffer_manager.h>

#include <filesystem>
#include <random>

#include <unistd.h>

#include "memtable.hpp"
#include "table.hpp"

using namespace lath_rocksdb;
using lath_rocksdb::factory;

namespace {

std::mt19937_64 random_number;

uint64_t below(uint64_t n) { return random_number() % n; }

class appender final : public rocksdb::AssociativeMergeOperator {
public:
    bool Merge(const rocksdb::Slice&, const rocksdb::Slice* there, const rocksdb::Slice& more,
               std::string* merged, rocksdb::Logger*) const override {
        *merged = (there ? there->ToString() + "," : "") + more.ToString();
        return true;
    }
    const char* Name() const override { return "appender"; }
};

constexpr unsigned int families = 6;

// Ranges are deleted in these. Others have iterators that follow writes, which RocksDB cannot
// combine.
bool has_ranges(unsigned int family) { return family && family % 3 != 1; }

// A database and what is open of it.
struct database {
    std::string path;
    std::unique_ptr<rocksdb::DB> db;
    std::vector<rocksdb::ColumnFamilyHandle*> family;
    std::vector<const rocksdb::Snapshot*> snapshots;
    std::vector<std::unique_ptr<rocksdb::Iterator>> iterators;
    std::shared_ptr<rocksdb::WriteBufferManager> manager =
        std::make_shared<rocksdb::WriteBufferManager>(size_t{1} << 40);
    bool pipelined = false;

    rocksdb::ColumnFamilyOptions options(unsigned int i, const char* memtable) const {
        rocksdb::ColumnFamilyOptions of;
        rocksdb::ConfigOptions config;
        const rocksdb::Status s = rocksdb::GetColumnFamilyOptionsFromString(
            config, of, std::string("memtable_factory=") + memtable, &of);
        EXPECT(s.ok());
        of.merge_operator = std::make_shared<appender>();
        if (i % 3 == 1)
            of.comparator = rocksdb::ReverseBytewiseComparator();
        if (i % 3 == 2)
            of.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(2));
        of.max_successive_merges = i == 4 ? 3 : 0;
        of.inplace_update_support = false;
        of.write_buffer_size = i == 5 ? 64 << 10 : 4 << 20;
        if (i == 2 && std::string(memtable) == "lathwork")
            of.memtable_insert_with_hint_prefix_extractor = of.prefix_extractor;
        return of;
    }

    void open(const char* memtable) {
        rocksdb::DBOptions of;
        of.create_if_missing = true;
        of.create_missing_column_families = true;
        of.write_buffer_manager = manager;
        of.enable_pipelined_write = pipelined;
        std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
        descriptors.reserve(families);
        for (unsigned int i = 0; i < families; i++)
            descriptors.emplace_back(i ? "family" + std::to_string(i) : "default",
                                     options(i, memtable));
        rocksdb::DB* opened = nullptr;
        const rocksdb::Status s = rocksdb::DB::Open(of, path, descriptors, &family, &opened);
        if (!s.ok())
            std::fprintf(stderr, "%s\n", s.ToString().c_str());
        EXPECT(s.ok());
        db.reset(opened);
    }

    void close() {
        iterators.clear();
        for (const auto* snapshot : snapshots)
            db->ReleaseSnapshot(snapshot);
        snapshots.clear();
        for (auto* one : family)
            db->DestroyColumnFamilyHandle(one);
        family.clear();
        EXPECT(db->Close().ok());
        db.reset();
    }
};

std::string some_key() {
    static const char* const begin[] = {"", "k",
                                        "a long beginning of keys that many have: ", "12345678"};
    const uint64_t which = below(4);
    if (which == 1)
        return "k" + std::to_string(below(20)); // many versions
    std::string key = begin[which] + std::to_string(below(3000));
    if (!below(30))
        key.push_back('\0');
    return key;
}

// A call on both databases, which must agree.
class pair {
public:
    database list, ours;

    template <typename call>
    void both(const call& of) {
        const std::string a = of(list), b = of(ours);
        if (a != b)
            std::fprintf(stderr, "skip_list: %s\nlathwork:  %s\n", a.c_str(), b.c_str());
        EXPECT(a == b);
    }

    void write() {
        rocksdb::WriteBatch batch;
        const unsigned int f = static_cast<unsigned int>(below(families));
        rocksdb::WriteBatch other;
        for (uint64_t n = 1 + (below(10) ? 0 : below(100)); n; n--) {
            const std::string key = some_key(), value = std::to_string(below(1 << 20));
            const auto put = [&](rocksdb::WriteBatch& to, database& of, uint64_t what) {
                rocksdb::ColumnFamilyHandle* in = of.family[f];
                if (what < 70)
                    to.Put(in, key, value + std::string(what, 'v'));
                else if (what < 80)
                    to.Delete(in, key);
                else if (what < 99)
                    to.Merge(in, key, value);
                else
                    to.DeleteRange(in, key, key + "5");
            };
            const uint64_t what = below(has_ranges(f) ? 100 : 99);
            put(batch, list, what);
            put(other, ours, what);
        }
        EXPECT(list.db->Write({}, &batch).ok());
        EXPECT(ours.db->Write({}, &other).ok());
    }

    void get() {
        const std::string key = some_key();
        const unsigned int f = static_cast<unsigned int>(below(families));
        const uint64_t snapshot = below(list.snapshots.size() + 2);
        both([&](database& of) {
            std::string value;
            const rocksdb::Status s =
                of.db->Get(read_options(of, snapshot), of.family[f], key, &value);
            return s.ToString() + value;
        });
    }

    void multi_get() {
        std::vector<std::string> names;
        for (uint64_t n = below(20); n; n--)
            names.push_back(some_key());
        const unsigned int f = static_cast<unsigned int>(below(families));
        both([&](database& of) {
            std::vector<rocksdb::Slice> keys(names.begin(), names.end());
            std::vector<std::string> values;
            const auto results = of.db->MultiGet(
                {}, std::vector<rocksdb::ColumnFamilyHandle*>(keys.size(), of.family[f]), keys,
                &values);
            std::string all;
            for (size_t i = 0; i < keys.size(); i++)
                all += results[i].ToString() + values[i] + ";";
            return all;
        });
    }

    // Steps of an iterator; the same ones for both.
    static std::string steps(rocksdb::Iterator& it, uint64_t seed, const std::string& from) {
        std::mt19937_64 turn(seed);
        std::string all;
        switch (turn() % 4) {
        case 0:
            it.SeekToFirst();
            break;
        case 1:
            it.SeekToLast();
            break;
        case 2:
            it.Seek(from);
            break;
        default:
            it.SeekForPrev(from);
        }
        const uint64_t back = turn() % 10;
        for (uint64_t n = turn() % 60; n && it.Valid(); n--) {
            all += it.key().ToString() + "=" + it.value().ToString() + ";";
            turn() % 10 < back ? it.Prev() : it.Next();
        }
        return all + (it.Valid() ? it.key().ToString() : "end") + it.status().ToString();
    }

    void iterate() {
        const std::string from = some_key();
        const unsigned int f = static_cast<unsigned int>(below(families));
        const uint64_t snapshot = below(list.snapshots.size() + 2), seed = random_number();
        both([&](database& of) {
            rocksdb::ReadOptions options = read_options(of, snapshot);
            options.total_order_seek = true;
            const std::unique_ptr<rocksdb::Iterator> it(of.db->NewIterator(options, of.family[f]));
            return steps(*it, seed, from);
        });
    }

    // Iterators that stay while others write, some of them to see what is written.
    void keep_iterating() {
        const std::string from = some_key();
        const uint64_t seed = random_number(), which = below(8);
        if (list.iterators.size() < 8) {
            const unsigned int f = static_cast<unsigned int>(below(families));
            const bool tail = !has_ranges(f) && below(2);
            for (database* of : {&list, &ours}) {
                rocksdb::ReadOptions options;
                options.tailing = tail;
                options.total_order_seek = true;
                of->iterators.emplace_back(of->db->NewIterator(options, of->family[f]));
            }
            tailing.push_back(tail);
            return;
        }
        both([&](database& of) {
            rocksdb::Iterator& it = *of.iterators[which];
            if (!tailing[which])
                return steps(it, seed, from);
            // Forwards only. Without a seek its answers depend on when RocksDB has flushed.
            std::string all;
            it.Seek(from);
            for (uint64_t n = seed % 20; n && it.Valid(); n--, it.Next())
                all += it.key().ToString() + "=" + it.value().ToString() + ";";
            return all + it.status().ToString();
        });
    }

    void snapshots() {
        if (list.snapshots.size() < 10) {
            list.snapshots.push_back(list.db->GetSnapshot());
            ours.snapshots.push_back(ours.db->GetSnapshot());
            return;
        }
        const size_t i = below(list.snapshots.size());
        for (database* of : {&list, &ours}) {
            of->db->ReleaseSnapshot(of->snapshots[i]);
            of->snapshots.erase(of->snapshots.begin() + static_cast<ptrdiff_t>(i));
        }
    }

    void flush() {
        const unsigned int f = static_cast<unsigned int>(below(families));
        both([&](database& of) { return of.db->Flush({}, of.family[f]).ToString(); });
    }

    void reopen() {
        for (database* of : {&list, &ours}) {
            of->close();
            of->pipelined = !of->pipelined;
        }
        tailing.clear();
        list.open("skip_list");
        ours.open("lathwork");
    }

    // All memory that memtables have is known to the manager.
    void accounting() {
        uint64_t tables = 0;
        for (auto* one : ours.family) {
            uint64_t size = 0;
            EXPECT(ours.db->GetIntProperty(one, "rocksdb.size-all-mem-tables", &size));
            tables += size;
        }
        EXPECT(ours.manager->memory_usage() + (64 << 10) >= tables);
    }

    std::vector<bool> tailing;

private:
    static rocksdb::ReadOptions read_options(const database& of, uint64_t snapshot) {
        rocksdb::ReadOptions options;
        if (snapshot < of.snapshots.size())
            options.snapshot = of.snapshots[snapshot];
        return options;
    }
};

// A family whose order the memtable does not have has skip lists, from its creation on and in a
// database that is opened again.
void check_other_order(const std::string& path) {
    class other final : public rocksdb::Comparator {
    public:
        const char* Name() const override { return "other"; }
        int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
            return static_cast<int>(a.size()) - static_cast<int>(b.size());
        }
        void FindShortestSeparator(std::string*, const rocksdb::Slice&) const override {}
        void FindShortSuccessor(std::string*) const override {}
    } order;
    rocksdb::Options options;
    rocksdb::DB* db = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> handles(1);
    options.create_if_missing = true;
    options.memtable_factory = std::make_shared<factory>();
    EXPECT(rocksdb::DB::Open(options, path, &db).ok());
    rocksdb::ColumnFamilyOptions family(options);
    family.comparator = &order;
    EXPECT(db->CreateColumnFamily(family, "other", &handles[0]).ok());
    for (const bool again : {false, true}) {
        EXPECT(db->Put({}, handles.back(), "longer", "1").ok());
        EXPECT(db->Put({}, handles.back(), "zz", "2").ok());
        std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handles.back()));
        it->SeekToFirst();
        EXPECT(it->Valid() && it->key() == "zz");
        it->Next();
        EXPECT(it->Valid() && it->key() == "longer");
        it.reset();
        for (rocksdb::ColumnFamilyHandle* handle : handles)
            EXPECT(db->DestroyColumnFamilyHandle(handle).ok());
        delete db;
        if (!again)
            EXPECT(rocksdb::DB::Open(
                       rocksdb::DBOptions(options), path,
                       {{"default", rocksdb::ColumnFamilyOptions(options)}, {"other", family}},
                       &handles, &db)
                       .ok());
    }
}

} // namespace

int main(int argc, char** argv) {
    const uint64_t calls = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 400000;
    const std::string root =
        (std::filesystem::temp_directory_path() / ("lath-rocksdb-" + std::to_string(getpid())))
            .string();
    random_number.seed(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    add_factory(*rocksdb::ObjectLibrary::Default());
    if (memtable::told_before_count)
        memtable::least_deferred = 0; // memtables are small here, and their entries shall wait too
    std::filesystem::create_directories(root);
    pair of;
    of.list.path = root + "/list";
    of.ours.path = root + "/ours";
    of.list.open("skip_list");
    of.ours.open("lathwork");
    for (uint64_t i = 0; i < calls; i++) {
        const uint64_t what = below(100000);
        if (what < 60000)
            of.write();
        else if (what < 80000)
            of.get();
        else if (what < 84000)
            of.multi_get();
        else if (what < 90000)
            of.iterate();
        else if (what < 99000)
            of.keep_iterating();
        else if (what < 99800)
            of.snapshots();
        else if (what < 99970)
            of.accounting();
        else if (what < 99995)
            of.flush();
        else
            of.reopen();
    }
    of.list.close();
    of.ours.close();
    check_other_order(root + "/other");
    std::filesystem::remove_all(root);
    std::printf("2 passed, 0 failed\n");
}
