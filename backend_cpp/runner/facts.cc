#include "facts.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string_view>
#include <vector>

#include "files.h"
#include "json.h"

namespace xir::runner {
namespace {

constexpr size_t kMostCores = 1024;
constexpr size_t kMostSensors = 256;

// Where a sensor has no temperature of its own from which on cores are slowed down.
constexpr double kUsualLimit = 95;

std::string ReadLine(const std::string& path) {
  const auto bytes = ReadFile(path);
  if (!bytes.ok()) return "";
  const std::string text(bytes.value().begin(), bytes.value().end());
  return text.substr(0, text.find('\n'));
}

std::string CoreFolder(size_t core, const std::string& root) {
  return root + "/sys/devices/system/cpu/cpu" + std::to_string(core);
}

// The lines about one processor, or about the only one that the file has.
std::string CpuinfoBlock(size_t core, const std::string& root) {
  const auto bytes = ReadFile(root + "/proc/cpuinfo");
  if (!bytes.ok()) return "";
  const std::string text(bytes.value().begin(), bytes.value().end());
  std::string first;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find("\n\n", start), text.size());
    const std::string block = text.substr(start, end - start);
    const size_t colon = block.find(':');
    if (first.empty()) first = block;
    if (block.rfind("processor", 0) == 0 && colon != std::string::npos &&
        std::strtoull(block.c_str() + colon + 1, nullptr, 10) == core) {
      return block;
    }
    start = end + 2;
  }
  return first;
}

std::string Caches(size_t core, const std::string& root) {
  std::string caches;
  for (size_t i = 0; i < 16; ++i) {
    const std::string folder = CoreFolder(core, root) + "/cache/index" + std::to_string(i);
    const std::string size = ReadLine(folder + "/size");
    if (size.empty()) continue;
    Answer cache;
    cache.Count("level", std::strtoull(ReadLine(folder + "/level").c_str(), nullptr, 10));
    cache.Text("type", ReadLine(folder + "/type")).Text("size", size);
    if (!caches.empty()) caches += ", ";
    caches += cache.Line();
  }
  return "[" + caches + "]";
}

void AppendCount(const std::string& name, const std::string& path, Answer* answer) {
  const uint64_t count = std::strtoull(ReadLine(path).c_str(), nullptr, 10);
  if (count > 0) answer->Count(name, count);
}

double Degrees(const std::string& path) {
  return std::strtod(ReadLine(path).c_str(), nullptr) / 1000;
}

// The least temperature from which on the system slows the sensor's cores down.
double Limit(const std::string& sensor) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < 16; ++i) {
    const std::string point = sensor + "/trip_point_" + std::to_string(i);
    const double degrees = Degrees(point + "_temp");
    if (ReadLine(point + "_type") == "passive" && degrees > 0) least = std::min(least, degrees);
  }
  return least < 200 ? least : kUsualLimit;
}

bool IsOfCores(std::string_view type) {
  for (const char* part : {"cpu", "CPU", "x86_pkg", "soc"}) {
    if (type.find(part) != std::string_view::npos) return true;
  }
  return false;
}

double ClockTime(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

std::string CoreFacts(size_t core, const std::string& root) {
  Answer facts;
  facts.Text("cpuinfo", CpuinfoBlock(core, root)).Value("caches", Caches(core, root));
  AppendCount("frequency", CoreFolder(core, root) + "/cpufreq/cpuinfo_max_freq", &facts);
  return facts.Members();
}

std::string CoreList(const std::string& root) {
  std::string cores;
  for (size_t core = 0; core < kMostCores; ++core) {
    // There is no other file that every system has for a core.
    const std::string folder = CoreFolder(core, root);
    if (ReadLine(folder + "/uevent").empty() && ReadLine(folder + "/topology/core_id").empty()) {
      break;
    }
    Answer facts;
    facts.Count("core", core);
    AppendCount("frequency", folder + "/cpufreq/cpuinfo_max_freq", &facts);
    AppendCount("capacity", folder + "/cpu_capacity", &facts);
    if (!cores.empty()) cores += ", ";
    cores += facts.Line();
  }
  return "[" + cores + "]";
}

std::string HotSensor(const std::string& root) {
  for (size_t i = 0; i < kMostSensors; ++i) {
    const std::string sensor = root + "/sys/class/thermal/thermal_zone" + std::to_string(i);
    const std::string type = ReadLine(sensor + "/type");
    if (type.empty()) break;
    if (!IsOfCores(type)) continue;
    const double degrees = Degrees(sensor + "/temp"), limit = Limit(sensor);
    if (degrees < limit) continue;
    char text[64];
    std::snprintf(text, sizeof(text), " at %.1f of %.1f °C", degrees, limit);
    return type + text;
  }
  return "";
}

double ReferenceNanoseconds() {
  constexpr int kSteps = 100'000, kRuns = 8;
  double shortest = std::numeric_limits<double>::infinity();
  volatile double begin = 1;
  for (int run = 0; run < kRuns; ++run) {
    const double start = ProcessorTime();
    double value = begin;
    for (int step = 0; step < kSteps; ++step) value = value * 0.999 + 0.001;
    begin = value;
    const double taken = ProcessorTime() - start;
    if (taken > 0) shortest = std::min(shortest, taken);
  }
  return shortest;
}

double ProcessorTime() { return ClockTime(CLOCK_PROCESS_CPUTIME_ID); }
double WallTime() { return ClockTime(CLOCK_MONOTONIC); }

}  // namespace xir::runner
