# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# What RocksDB's own builds read of a plugin; doc/rocksdb.md says how.
lathwork_SOURCES = factory.cpp iterator.cpp memory.cpp memtable.cpp plugin.cpp validate.cpp
lathwork_HEADERS = entry.hpp factory.hpp inside.hpp iterator.hpp memory.hpp memtable.hpp validate.hpp
lathwork_CXXFLAGS = -DLATH_ROCKSDB_TREE
lathwork_LDFLAGS = -llathwork
lathwork_FUNC = register_lathwork
