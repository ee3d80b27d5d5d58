# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""conan create packaging/conan: the library and its headers, static and shared, from the source tree around this file.

The package keeps its own CMake files, so that find_package(lathwork) and the targets are those of any other installation."""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, rmdir
from conan.tools.gnu import PkgConfigDeps


class Lathwork(ConanFile):
    name = "lathwork"
    version = "0.2.1"
    license = "MIT OR GPL-2.0-only"
    description = "Concurrent ordered in-memory structures: maps of ranges and intervals, free space, queues, a store"
    topics = ("ordered", "concurrent", "range-map", "interval-tree", "allocator", "key-value")
    settings = "os", "arch", "compiler", "build_type"
    requires = "xxhash/[>=0.8 <1]"

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "LICENSES/*", "cmake/*", "include/*", "src/*", "doc/*", "debug/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux" or str(self.settings.arch) not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("lathwork needs Linux on x86-64 or arm64")

    def generate(self):
        PkgConfigDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("CLI", "BENCH", "TESTS", "VALKEY"):
            toolchain.cache_variables["LATH_" + part] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE*", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "share", "man"))

    def package_info(self):
        self.cpp_info.libs = ["lathwork"]
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package's own lathwork-config.cmake
        self.cpp_info.builddirs = ["lib/cmake/lathwork"]
