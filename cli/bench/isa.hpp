// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The vector code of the library in this process: LATH_ISA (lathwork/config.h) chooses it before
// main().
#pragma once

#include <string>
#include <vector>

namespace lathcli {

// The words of LATH_ISA.
const std::vector<std::string>& isa_names();
// The one in use.
std::string isa_in_use();
// Returns if the library uses that one, else starts this program anew with LATH_ISA set. Throws
// std::runtime_error if processor or build do not have it.
void use_isa(const std::string& name, char** argv);

} // namespace lathcli
