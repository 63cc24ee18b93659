// Texts about where a time was spent, from files that are not trusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "xir/profile.h"

namespace xir {

// The text in valid UTF-8 without control characters; what else there was is '?'.
std::string Printable(std::string_view text);

// "model.py:41,43 net.py:7", of each file's name what follows its first `skip` bytes; "" where
// nothing is known.
std::string LinesOf(const std::vector<Origin>& origins, size_t skip = 0);

// How long the directory is that the files of all these places have in common.
size_t CommonDirectory(Span<const std::vector<Origin>* const> places);

// "features.0.1 +2": the first module, and how many others.
std::string ModulesOf(const std::vector<Origin>& origins);

// "conv2d+relu": the operators without their namespace, each once.
std::string OpsOf(const std::vector<Origin>& origins);

}  // namespace xir
