// What the machine's libstdc++ takes from glibc and glibc 2.28 lacks. Weak and hidden: it serves
// the library or program that it is linked into, and gives way to a definition there.
#include <sys/random.h>
#include <sys/single_threaded.h>

#include <cstdint>

#define XIR_OLDER_GLIBC extern "C" __attribute__((weak, visibility("hidden")))

// Since 2.32: lets shared pointers of a program with one thread count without atomics. Here they
// always use them.
XIR_OLDER_GLIBC char __libc_single_threaded = 0;

// Since 2.36, for std::random_device.
XIR_OLDER_GLIBC uint32_t arc4random() {
  uint32_t value = 0;
  if (getrandom(&value, sizeof(value), 0) != sizeof(value)) __builtin_trap();
  return value;
}
