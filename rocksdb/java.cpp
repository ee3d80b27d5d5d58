// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// java.cpp - loads the memtable into the RocksDB of a Java program, org.rocksdb:rocksdbjni.
//
// Java opens RocksDB's library so that other libraries do not see its names. When this library is
// loaded, by System.load() after RocksDB.loadLibrary(), it opens them, and then the one with the
// memtable, which is in the same directory.
#include <cstdio>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <link.h>

namespace {

int find_rocksdb(dl_phdr_info* info, size_t, void* found) {
    if (!info->dlpi_name || !std::strstr(info->dlpi_name, "librocksdbjni"))
        return 0;
    *static_cast<std::string*>(found) = info->dlpi_name;
    return 1;
}

std::string open_both() {
    std::string rocksdb;
    dl_iterate_phdr(find_rocksdb, &rocksdb);
    if (rocksdb.empty())
        return "RocksDB.loadLibrary() has to come first";
    if (!dlopen(rocksdb.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
        return dlerror();
    Dl_info self;
    if (!dladdr(reinterpret_cast<void*>(&open_both), &self))
        return "its own file is unknown";
    std::string path = self.dli_fname;
    path.replace(path.rfind('/') + 1, std::string::npos, "liblathwork-rocksdb-java-memtable.so");
    return dlopen(path.c_str(), RTLD_NOW) ? "" : dlerror();
}

[[gnu::constructor]] void loaded() {
    const std::string wrong = open_both();
    if (!wrong.empty())
        std::fprintf(stderr, "lathwork: the memtable is not available: %s\n", wrong.c_str());
}

} // namespace
