// What a device says of its cores, from files as Linux has them.

#include "facts.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "testing.h"

namespace xir::testing {
namespace {

// A root with files of one line.
class Root {
 public:
  Root() : path_(TemporaryPattern("xir_facts")) { mkdtemp(path_.data()); }
  ~Root() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  void Write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = path_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

 private:
  std::string path_;
};

}  // namespace

XIR_TEST(sensors_are_compared_with_their_least_limit) {
  Root root;
  EXPECT(runner::HotSensor(root.path()).empty());
  const std::string zone = "sys/class/thermal/thermal_zone";
  root.Write(zone + "0/type", "battery");
  root.Write(zone + "0/temp", "120000");
  root.Write(zone + "1/type", "cpu-1-0");
  root.Write(zone + "1/temp", "94900");
  EXPECT(runner::HotSensor(root.path()).empty());
  root.Write(zone + "1/temp", "95000");
  EXPECT(runner::HotSensor(root.path()) == "cpu-1-0 at 95.0 of 95.0 °C");
  root.Write(zone + "1/trip_point_0_type", "critical");
  root.Write(zone + "1/trip_point_0_temp", "80000");
  root.Write(zone + "1/trip_point_1_type", "passive");
  root.Write(zone + "1/trip_point_1_temp", "105000");
  EXPECT(runner::HotSensor(root.path()).empty());
  root.Write(zone + "1/trip_point_2_type", "passive");
  root.Write(zone + "1/trip_point_2_temp", "90000");
  EXPECT(runner::HotSensor(root.path()) == "cpu-1-0 at 95.0 of 90.0 °C");
}

XIR_TEST(cores_have_their_own_lines_and_caches) {
  Root root;
  EXPECT(runner::CoreList(root.path()) == "[]");
  EXPECT(runner::CoreFacts(0, root.path()) == R"("cpuinfo": "", "caches": [])");
  const std::string cpu = "sys/devices/system/cpu/cpu";
  root.Write("proc/cpuinfo",
             "processor\t: 0\nCPU part\t: 0xd05\n\nprocessor\t: 1\nCPU part\t: 0xd0b\n");
  root.Write(cpu + "0/topology/core_id", "0");
  root.Write(cpu + "1/topology/core_id", "1");
  root.Write(cpu + "1/cpu_capacity", "1024");
  root.Write(cpu + "1/cpufreq/cpuinfo_max_freq", "2400000");
  root.Write(cpu + "1/cache/index2/level", "2");
  root.Write(cpu + "1/cache/index2/type", "Unified");
  root.Write(cpu + "1/cache/index2/size", "256K");
  EXPECT(runner::CoreList(root.path()) ==
         R"([{"core": 0}, {"core": 1, "frequency": 2400000, "capacity": 1024}])");
  EXPECT(runner::CoreFacts(1, root.path()) ==
         R"("cpuinfo": "processor\u0009: 1\nCPU part\u0009: 0xd0b", )"
         R"("caches": [{"level": 2, "type": "Unified", "size": "256K"}], "frequency": 2400000)");
}

}  // namespace xir::testing
