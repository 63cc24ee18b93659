# Cross-compiles for 64-bit Arm on Linux with Debian's and Ubuntu's g++-aarch64-linux-gnu, and runs what it made with
# qemu-user, on a processor that has everything qemu knows of (FP16 arithmetic, dot products, SVE):
#
#   cmake -B build/arm --toolchain backend_cpp/cmake/aarch64-linux-gnu.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu;-cpu;max)

# Programs run here, on the host: flatc, Python, qemu.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
