# Compiles for glibc 2.28, which wheels tagged manylinux_2_28 may expect: zig brings that glibc's interface, the machine's
# g++ its libstdc++. libstdc++ is linked statically, since older systems lack what a new g++'s headers call; libgcc_s is
# not, because exceptions of kernel libraries pass through our frames and must be unwound by one library.
#
#   cmake -B build/old --toolchain backend_cpp/cmake/manylinux/toolchain.cmake -DXIR_ZIG=zig -DXIR_PROCESSOR=aarch64
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES XIR_ZIG XIR_PROCESSOR)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${XIR_PROCESSOR})
set(CMAKE_CXX_COMPILER ${XIR_ZIG} c++)
set(CMAKE_CXX_COMPILER_TARGET ${XIR_PROCESSOR}-linux-gnu.2.28)
set(gxx ${XIR_PROCESSOR}-linux-gnu-g++)
find_program(CMAKE_AR ${XIR_PROCESSOR}-linux-gnu-ar REQUIRED)
find_program(CMAKE_RANLIB ${XIR_PROCESSOR}-linux-gnu-ranlib REQUIRED)
find_program(CMAKE_STRIP ${XIR_PROCESSOR}-linux-gnu-strip REQUIRED)

foreach(library libstdc++.a libgcc_s.so.1)
  execute_process(COMMAND ${gxx} -print-file-name=${library} OUTPUT_VARIABLE found
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  # A library of a newer system may need a newer glibc; the one of the user's system is what will be loaded.
  string(APPEND CMAKE_CXX_STANDARD_LIBRARIES " ${found}")
endforeach()
string(APPEND CMAKE_CXX_STANDARD_LIBRARIES " -Wl,--allow-shlib-undefined")

# The folders of C++ headers, in the order in which g++ searches them: before those of C.
execute_process(COMMAND ${gxx} -xc++ -E -v /dev/null ERROR_VARIABLE said OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n [^\n]*/c\\+\\+/[^\n]*" folders "${said}")
set(CMAKE_CXX_FLAGS_INIT "-g0 -nostdinc++ -I${CMAKE_CURRENT_LIST_DIR}/include")
foreach(folder ${folders})
  string(STRIP ${folder} folder)
  string(APPEND CMAKE_CXX_FLAGS_INIT " -I${folder}")
endforeach()
set(XIR_OLDER_GLIBC ${CMAKE_CURRENT_LIST_DIR}/older_glibc.cc)
set(CMAKE_EXE_LINKER_FLAGS_INIT -nostdlib++)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -nostdlib++)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -nostdlib++)

# Programs run here, on the host: flatc, Python.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
