# Cross-compiles for 64-bit Arm on Linux with Debian's and Ubuntu's g++-aarch64-linux-gnu, and runs what it made with
# qemu-user, on a processor with FP16 arithmetic, dot products, matrix products of integers and SVE. SME is left out:
# under qemu 7.2 every other column of a product that KleidiAI's kernels for it compute is wrong, and only hardware could
# tell whether that is the emulator.
#
#   cmake -B build/arm --toolchain backend_cpp/cmake/aarch64-linux-gnu.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu;-cpu;max,sme=off)

# Programs run here, on the host: flatc, Python, qemu.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
