// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// plugin.cpp - in RocksDB's own tree: what RocksDB calls to register its plugins.
#include "factory.hpp"

extern "C" int register_lathwork(rocksdb::ObjectLibrary& library, const std::string&) {
    lath_rocksdb::add_factory(library);
    return 1;
}
