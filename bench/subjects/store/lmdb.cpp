// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// LMDB in shared memory, without syncing, with 100,000 sets per transaction. It allows one writer
// at a time, so it takes part with one thread.
#include "store_subject.hpp"

#include <lmdb.h>

#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

namespace lathbench {

namespace {

struct lmdb {
    static constexpr bool is_ordered = true;

    lmdb() {
        char dir[] = "/dev/shm/lath-bench-XXXXXX";
        if (!mkdtemp(dir))
            throw std::runtime_error("lmdb: cannot make a directory in /dev/shm");
        path = dir;
        check(mdb_env_create(&env));
        check(mdb_env_set_mapsize(env, std::size_t{16} << 30));
        check(mdb_env_open(
            env, dir, MDB_WRITEMAP | MDB_NOSYNC | MDB_NOMETASYNC | MDB_NORDAHEAD | MDB_NOMEMINIT,
            0600));
        // the system frees the files when the process ends, however it ends
        unlink((path + "/data.mdb").c_str());
        unlink((path + "/lock.mdb").c_str());
        rmdir(dir);
    }
    static void check(int ret) {
        if (ret)
            throw std::runtime_error(std::string("lmdb: ") + mdb_strerror(ret));
    }
    void set(std::uint64_t key, const char* value, int size) {
        stop_reading();
        if (!writing) {
            check(mdb_txn_begin(env, nullptr, 0, &writing));
            check(mdb_dbi_open(writing, nullptr, MDB_INTEGERKEY | MDB_CREATE, &db));
            check(mdb_cursor_open(writing, db, &cursor));
        }
        MDB_val k{8, &key}, v{static_cast<std::size_t>(size), const_cast<char*>(value)};
        check(mdb_cursor_put(cursor, &k, &v, MDB_NOOVERWRITE));
        if (++sets == 100000)
            commit();
    }
    void commit() {
        if (!writing)
            return;
        mdb_cursor_close(cursor);
        check(mdb_txn_commit(writing));
        writing = nullptr;
        sets = 0;
    }
    void stop_reading() {
        if (reading)
            mdb_txn_abort(reading);
        reading = nullptr;
    }
    void start_reading() {
        commit();
        if (!reading)
            check(mdb_txn_begin(env, nullptr, MDB_RDONLY, &reading));
    }
    bool find(std::uint64_t key, MDB_val& v) {
        start_reading();
        MDB_val k{8, &key};
        return !mdb_get(reading, db, &k, &v);
    }
    std::uint64_t get(std::uint64_t key) {
        MDB_val v;
        return find(key, v) ? *static_cast<unsigned char*>(v.mv_data) : 0;
    }
    scan_result scan() {
        scan_result r;
        MDB_cursor* c = nullptr;
        MDB_val k, v;
        start_reading();
        check(mdb_cursor_open(reading, db, &c));
        while (!mdb_cursor_get(c, &k, &v, MDB_NEXT)) {
            std::uint64_t key;
            std::memcpy(&key, k.mv_data, 8);
            r.sum += key + *static_cast<unsigned char*>(v.mv_data);
            ++r.count;
        }
        mdb_cursor_close(c);
        return r;
    }
    std::string value(std::uint64_t key, int) {
        MDB_val v;
        return find(key, v) ? std::string(static_cast<char*>(v.mv_data), v.mv_size) : "";
    }

    std::string path;
    MDB_env* env = nullptr;
    MDB_dbi db = 0;
    MDB_txn *writing = nullptr, *reading = nullptr;
    MDB_cursor* cursor = nullptr;
    int sets = 0;
};

} // namespace

std::unique_ptr<store_bench> make_lmdb_store() { return std::make_unique<store_bench_of<lmdb>>(); }

} // namespace lathbench
