# Installs the library into a folder of its own, builds the example against what is there, and runs it:
#   cmake -DBUILD=<build> -DEXAMPLE=<source> -DMODEL=<file> -DWORK=<folder> -DFLAGS=<C++ flags> -DCOMPILER=<path>
#         -DFIND_LIBRARY=<xir_find_library> -P this
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component library)
run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${FIND_LIBRARY})
string(STRIP "${output}" library)
run(${WORK}/build/classify ${MODEL} ${library})
if(NOT output MATCHES "^class [0-9]+: ")
  message(FATAL_ERROR "unexpected: ${output}")
endif()

execute_process(COMMAND ${WORK}/build/classify ${WORK}/none.pte ${library} RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status EQUAL 1 OR NOT output MATCHES "classify: error: .*none.pte")
  message(FATAL_ERROR "unexpected: ${status} ${output}")
endif()

# An application finds no library by itself, also where one lies beside it.
execute_process(COMMAND ${WORK}/build/classify ${MODEL} ${WORK} RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status EQUAL 1 OR NOT output MATCHES "XNNPACK was not found")
  message(FATAL_ERROR "unexpected: ${status} ${output}")
endif()
