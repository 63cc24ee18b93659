// What systems do each in their own way. One file of this folder is compiled: linux.cc, for Android
// too, or apple.cc; no other source asks which system it is for.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "xir/span.h"

namespace xir::platform {

// Processors that this process may run on, at least 1.
size_t AvailableCores();

// Keeps this thread, and those that it starts, on one core; false where that cannot be.
bool PinToCore(size_t core);

// Where the program that runs lies; "" if the system does not tell.
std::string ExecutablePath();

// When a file was last written, and when its inode last changed.
timespec ModifiedAt(const struct stat& info);
timespec ChangedAt(const struct stat& info);

// Advises the system to use large pages for this memory, where there is such advice.
void AdviseLargePages(void* memory, size_t size);

// What the system draws anew at each start; "" if it does not tell.
std::string BootId();

// What names the build of the loaded library or program that `address` lies in: its build ID, or
// else its code. Empty if none has the address.
Bytes FindBuild(const void* address);

// On processors other than x86: features, vector lengths, and models of cores.
std::vector<uint32_t> ProcessorWords();

}  // namespace xir::platform
