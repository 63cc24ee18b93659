// What a device says of itself: its cores, their caches and clock, and whether it is hot.
#pragma once

#include <cstddef>
#include <string>

namespace xir::runner {

// Of a core: its block of /proc/cpuinfo as `cpuinfo`, its caches as `caches`, its highest frequency
// in kHz as `frequency`. Members of a JSON object; what the system does not tell is left out.
std::string CoreFacts(size_t core, const std::string& root = "");

// An array with an object for each core: its number as `core`, and what of `frequency` and
// `capacity`, the system's figure for its speed, there is.
std::string CoreList(const std::string& root = "");

// "cpu-0-0 at 96.0 of 95.0 °C" for a core's sensor beyond the temperature from which on the system
// slows cores down; "" if there is none. `root` holds `sys`.
std::string HotSensor(const std::string& root = "");

// Nanoseconds of a chain of additions and multiplications, each waiting for the one before: the
// shortest of some runs. It depends on a core's clock and on little else.
double ReferenceNanoseconds();

// Nanoseconds of processor time that this process has taken, or of a clock that runs on.
double ProcessorTime();
double WallTime();

}  // namespace xir::runner
