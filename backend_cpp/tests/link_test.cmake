# Builds the runner so that it links an XNNPACK, and runs files with it:
#   cmake -DSOURCE=<backend_cpp> -DDATA=<models> -DWORK=<folder> -DCXX=<path>
#         -DGENERATOR=<name> -DRUNNER=<one that loads it> -DFIND_LIBRARY=<xir_find_library> -P this
# The XNNPACK is the wheel's library, behind a header of the tests' own.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${FIND_LIBRARY})
string(STRIP "${output}" library)
get_filename_component(folder ${library} DIRECTORY)
file(MAKE_DIRECTORY ${WORK}/prefix/lib ${WORK}/prefix/include)
file(CREATE_LINK ${library} ${WORK}/prefix/lib/libXNNPACK.so SYMBOLIC)
file(CREATE_LINK ${folder}/libexecutorch_threadpool.so ${WORK}/prefix/lib/libpthreadpool.so SYMBOLIC)
file(COPY ${SOURCE}/tests/linked/xnnpack.h ${SOURCE}/tests/linked/pthreadpool.h DESTINATION ${WORK}/prefix/include)

# As the toolchain file of Android's NDK has it: headers and libraries are looked for in the sysroot alone.
set(sysroot -DCMAKE_FIND_ROOT_PATH=${WORK}/sysroot -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DXIR_BUILD_SHARED=OFF -DXIR_UNITY=ON -DXIR_XNNPACK_ROOT=${WORK}/prefix
    -DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath,${folder} ${sysroot})
run(${CMAKE_COMMAND} --build ${WORK}/build)

# A folder without XNNPACK is named, whatever the system has.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/none -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
                        -DXIR_XNNPACK_ROOT=${WORK}/sysroot
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "XIR_XNNPACK_INCLUDE")
  message(FATAL_ERROR "configured without XNNPACK: ${output}")
endif()

# The library is bound when the program starts: no other is looked for, and the same numbers come out.
foreach(model stock_small stock_q8 stock_qd8 stock_qb4)
  set(arguments --model_path ${DATA}/${model}.pte --inputs ${DATA}/${model}.input_0.npy --iterations 1 --threads 1)
  run(${RUNNER} ${arguments} --output_file ${WORK}/${model}.loaded)
  run(${CMAKE_COMMAND} -E env XIR_XNNPACK_LIBRARY=${WORK}/none.so
      ${WORK}/build/xnn_executor_runner ${arguments} --output_file ${WORK}/${model}.linked)
  run(${CMAKE_COMMAND} -E compare_files ${WORK}/${model}.loaded-0.bin ${WORK}/${model}.linked-0.bin)
endforeach()
