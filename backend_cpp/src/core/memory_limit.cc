#include "core/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "core/read_text.h"

namespace xir {
namespace {

uint64_t PhysicalMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return UINT64_MAX;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::vector<std::string> ReadLines(const std::string& path) { return Split(ReadText(path), '\n'); }

bool HasItem(const std::string& list, std::string_view item) {
  const std::vector<std::string> items = Split(list, ',');
  return std::find(items.begin(), items.end(), item) != items.end();
}

// The limit that a file holds: a number, or "max".
uint64_t ReadLimit(const std::string& path) {
  const std::vector<std::string> lines = ReadLines(path);
  if (lines.empty()) return UINT64_MAX;
  uint64_t limit = 0;
  const char* end = lines[0].data() + lines[0].size();
  const auto [last, error] = std::from_chars(lines[0].data(), end, limit);
  return error == std::errc() && last == end ? limit : UINT64_MAX;
}

// Where a hierarchy of groups is mounted, and which of its groups stands there.
struct Mount {
  std::string group;
  std::string directory;
};

// A line of /proc/self/mountinfo, proc(5):
//   36 35 98:0 /group /sys/fs/cgroup/memory rw,noatime shared:1 - cgroup cgroup rw,memory
std::vector<Mount> FindMounts(const std::string& root, bool version2) {
  std::vector<Mount> mounts;
  for (const std::string& line : ReadLines(root + "/proc/self/mountinfo")) {
    const std::vector<std::string> fields = Split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const bool memory =
        version2 ? dash[1] == "cgroup2" : dash[1] == "cgroup" && HasItem(dash[3], "memory");
    if (memory) mounts.push_back({fields[3], root + fields[4]});
  }
  return mounts;
}

// The least limit of `group` and of the groups around it, as far as they can be seen.
uint64_t LimitOfGroup(const Mount& mount, std::string group, const std::string& file) {
  // Inside a container the mounted group may be this one, or one around it.
  if (mount.group != "/" && group.rfind(mount.group, 0) == 0) group.erase(0, mount.group.size());
  uint64_t limit = UINT64_MAX;
  while (true) {
    limit = std::min(limit, ReadLimit(mount.directory + group + "/" + file));
    if (group.empty()) return limit;
    const size_t slash = group.rfind('/');
    group.erase(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

uint64_t AvailableMemory() {
  static const uint64_t limit = ReadAvailableMemory("");
  return limit;
}

uint64_t ReadAvailableMemory(const std::string& root) {
  uint64_t limit = PhysicalMemory();
  // A line is hierarchy:controllers:group, cgroups(7); version 2 has no controllers there.
  for (const std::string& line : ReadLines(root + "/proc/self/cgroup")) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version2 = controllers.empty();
    if (!version2 && !HasItem(controllers, "memory")) continue;
    for (const Mount& mount : FindMounts(root, version2)) {
      limit = std::min(limit, LimitOfGroup(mount, line.substr(second + 1),
                                           version2 ? "memory.max" : "memory.limit_in_bytes"));
    }
  }
  return limit;
}

}  // namespace xir
