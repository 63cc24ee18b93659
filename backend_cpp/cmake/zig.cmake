# Cross-compiles with zig (pip install ziglang), which has the headers of several systems, to see that the runtime compiles
# there (make cross-check):
#
#   cmake -B build/cross/aarch64-macos --toolchain backend_cpp/cmake/zig.cmake -DXIR_ZIG=…/ziglang/zig -DXIR_TARGET=aarch64-macos
#
# It has no headers of Android, whose C library is bionic: of Linux systems it has those of glibc and musl.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES XIR_ZIG XIR_TARGET)
if(XIR_TARGET MATCHES "macos")
  set(CMAKE_SYSTEM_NAME Darwin)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${XIR_TARGET}")
set(CMAKE_CXX_COMPILER ${XIR_ZIG} c++)
set(CMAKE_CXX_COMPILER_TARGET ${XIR_TARGET})
# The host's ar knows one system's objects alone.
set(CMAKE_USER_MAKE_RULES_OVERRIDE_CXX ${CMAKE_CURRENT_LIST_DIR}/zig_archives.cmake)
set(CMAKE_OSX_SYSROOT "")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
