#include "allocation_meter.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <new>

namespace {

std::atomic<int64_t> g_used{0};
std::atomic<int64_t> g_peak{0};

void* Allocate(size_t size) noexcept {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) return nullptr;
  const auto taken = static_cast<int64_t>(malloc_usable_size(memory));
  const int64_t used = g_used.fetch_add(taken, std::memory_order_relaxed) + taken;
  int64_t peak = g_peak.load(std::memory_order_relaxed);
  while (used > peak && !g_peak.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
  return memory;
}

void Release(void* memory) noexcept {
  if (memory == nullptr) return;
  g_used.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

void* AllocateOrEnd(size_t size) {
  void* memory = Allocate(size);
  if (memory == nullptr) std::abort();
  return memory;
}

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

void* operator new(size_t size) { return AllocateOrEnd(size); }
void* operator new[](size_t size) { return AllocateOrEnd(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void operator delete(void* memory) noexcept { Release(memory); }
void operator delete[](void* memory) noexcept { Release(memory); }
void operator delete(void* memory, size_t) noexcept { Release(memory); }
void operator delete[](void* memory, size_t) noexcept { Release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Release(memory); }

namespace xir::fuzz {

AllocationMeter::AllocationMeter()
    : before_(g_used.load(std::memory_order_relaxed)), start_(ThreadSeconds()) {
  g_peak.store(before_, std::memory_order_relaxed);
}

uint64_t AllocationMeter::peak() const {
  return static_cast<uint64_t>(
      std::max<int64_t>(g_peak.load(std::memory_order_relaxed) - before_, 0));
}

double AllocationMeter::seconds() const { return ThreadSeconds() - start_; }

}  // namespace xir::fuzz
