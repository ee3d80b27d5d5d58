# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The consumer project of tests/install, with the package that conan made."""

import os
import tempfile

from conan import ConanFile
from conan.tools.cmake import cmake_layout


class Consumer(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires(self.tested_reference_str)

    def test(self):
        package = self.dependencies["lathwork"].package_folder
        lib = os.path.join(package, "lib")
        consumer = os.path.join(self.recipe_folder, "..", "..", "..", "tests", "install", "consumer.sh")
        with tempfile.TemporaryDirectory() as work:
            self.run(
                f'PKG_CONFIG_PATH="{lib}/pkgconfig" LD_LIBRARY_PATH="{lib}" "{consumer}" "{work}"'
                f' -DCMAKE_PREFIX_PATH="{package}"'
            )
