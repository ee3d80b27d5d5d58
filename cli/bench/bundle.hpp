// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// `lath bench --bundle DIR`: a folder that measures on a machine on which nothing can be installed.
#pragma once

#include <string>

namespace lathcli {

// Writes this program, the shared libraries and the loader that it runs with, the script `run` and
// a README. The directory is made, or is there and empty. Throws std::runtime_error that names the
// path; what was written until then is removed.
void write_bundle(const std::string& directory);

} // namespace lathcli
