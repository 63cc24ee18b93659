// In the place of the profiler's files in a build without it: there are no profiles to make texts
// of.
#include "xir/profile.h"

namespace xir {

std::string ProfileTable(Span<const Profile>, const ProfileTableOptions&) { return ""; }
std::string ProfileTrace(Span<const Profile>) { return ""; }
std::string ProfileEtdump(Span<const Profile>) { return ""; }

}  // namespace xir
