// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// crash_test.cpp - a process that writes into a database is killed; what it was told is written
// must be there when the database is opened again, which reads it from the log into a memtable.
// Argument: how often.
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <cinttypes>
#include <filesystem>
#include <random>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "table.hpp"

using namespace lath_rocksdb;
using lath_rocksdb::factory;

namespace {

constexpr unsigned int writers = 2;
constexpr uint64_t keys = 5000; // of each writer

// Memory of both processes: the number of writes that each writer has done.
struct shared {
    std::atomic<uint64_t> done[writers];
};

shared* map_shared(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
    EXPECT(fd >= 0 && !ftruncate(fd, sizeof(shared)));
    void* memory = mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(memory != MAP_FAILED);
    close(fd);
    return static_cast<shared*>(memory);
}

std::unique_ptr<rocksdb::DB> open_database(const std::string& path) {
    rocksdb::Options options;
    rocksdb::DB* db = nullptr;
    options.create_if_missing = true;
    options.memtable_factory = std::make_shared<factory>();
    options.write_buffer_size = 8 << 20;
    options.avoid_flush_during_recovery = true;
    const rocksdb::Status s = rocksdb::DB::Open(options, path, &db);
    if (!s.ok())
        std::fprintf(stderr, "%s\n", s.ToString().c_str());
    EXPECT(s.ok());
    return std::unique_ptr<rocksdb::DB>(db);
}

std::string key_of(unsigned int writer, uint64_t i) {
    return std::to_string(i * 7919 % keys) + "." + std::to_string(writer);
}

// A writer's i-th write puts i under two of its keys at once.
[[noreturn]] void write_for_ever(const std::string& root) {
    const auto db = open_database(root + "/db");
    shared* to = map_shared(root + "/shared");
    std::vector<std::thread> threads;
    threads.reserve(writers);
    for (unsigned int writer = 0; writer < writers; writer++)
        threads.emplace_back([&, writer] {
            for (uint64_t i = to->done[writer];; i++) {
                rocksdb::WriteBatch batch;
                batch.Put(key_of(writer, i), std::to_string(i));
                batch.Put("copy " + key_of(writer, i), std::to_string(i));
                EXPECT(db->Write({}, &batch).ok());
                to->done[writer] = i + 1;
            }
        });
    for (auto& thread : threads)
        thread.join();
    std::abort();
}

// A write that is done is there, or a later one to the same keys; of one that was under way all or
// nothing is.
void check(const std::string& root, shared* to) {
    const auto db = open_database(root + "/db");
    for (unsigned int writer = 0; writer < writers; writer++) {
        const uint64_t done = to->done[writer];
        for (uint64_t i = done - std::min(done, keys); i <= done; i++) {
            std::string value, copy;
            const rocksdb::Status s = db->Get({}, key_of(writer, i), &value);
            EXPECT(db->Get({}, "copy " + key_of(writer, i), &copy).ok() == s.ok());
            EXPECT(value == copy);
            if (i < done)
                EXPECT(s.ok() && (value == std::to_string(i) || value == std::to_string(i + keys)));
        }
    }
    uint64_t n = 0;
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
    std::string before;
    for (it->SeekToFirst(); it->Valid(); it->Next(), n++) {
        EXPECT(!n || it->key().compare(before) > 0);
        before = it->key().ToString();
    }
    EXPECT(it->status().ok() && n <= 2 * writers * keys);
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 3)
        write_for_ever(argv[2]);
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
    const std::string root =
        (std::filesystem::temp_directory_path() / ("lath-crash-" + std::to_string(getpid())))
            .string();
    std::filesystem::create_directories(root);
    shared* to = map_shared(root + "/shared");
    std::mt19937 random(static_cast<unsigned int>(rounds));
    for (int round = 0; round < rounds; round++) {
        const uint64_t before = to->done[0];
        const pid_t child = fork();
        EXPECT(child >= 0);
        if (!child) {
            execl("/proc/self/exe", argv[0], "write", root.c_str(), nullptr);
            _exit(127);
        }
        while (to->done[0] == before) // until it has opened the database
            EXPECT(!waitpid(child, nullptr, WNOHANG) && !usleep(1000));
        usleep(static_cast<useconds_t>(random() % 200000));
        kill(child, SIGKILL);
        int status;
        EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        check(root, to);
    }
    std::printf("killed %d times after %" PRIu64 " writes\n", rounds, to->done[0] + to->done[1]);
    std::filesystem::remove_all(root);
    std::printf("1 passed, 0 failed\n");
}
