# Installs the library into a folder of its own, builds the examples against what is there, and runs them:
#   cmake -DBUILD=<build> -DEXAMPLES=<folder> -DDATA=<models> -DWORK=<folder> -DFLAGS=<compiler flags>
#         -DCXX=<path> -DC=<path> -DFIND_LIBRARY=<xir_find_library> -P this
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text)
  if(NOT output MATCHES "${text}")
    message(FATAL_ERROR "wanted '${text}', got: ${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component library)
foreach(example classify kernels embed)
  run(${CMAKE_COMMAND} -S ${EXAMPLES}/${example} -B ${WORK}/${example} -DCMAKE_PREFIX_PATH=${WORK}/prefix
      -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_C_COMPILER=${C} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_C_FLAGS=${FLAGS})
  run(${CMAKE_COMMAND} --build ${WORK}/${example})
endforeach()

run(${FIND_LIBRARY})
string(STRIP "${output}" library)
run(${WORK}/classify/classify ${DATA}/stock_small.pte ${library})
expect("^class [0-9]+: ")
execute_process(COMMAND ${WORK}/classify/classify ${WORK}/none.pte ${library} RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status EQUAL 1)
  message(FATAL_ERROR "unexpected: ${status} ${output}")
endif()
expect("classify: error: .*none.pte")

# An application finds no library by itself, also where one lies beside it.
execute_process(COMMAND ${WORK}/classify/classify ${DATA}/stock_small.pte ${WORK} RESULT_VARIABLE status
                ERROR_VARIABLE output)
if(NOT status EQUAL 1)
  message(FATAL_ERROR "unexpected: ${status} ${output}")
endif()
expect("XNNPACK was not found")

run(${WORK}/embed/embed_c ${DATA}/stock_portable.pte)
expect("output 0: rank 3, 192 bytes, in place\n.*\nown kernel: 1 calls, the same as the library's\n")
expect("own allocator: used, 0 bytes left\n")
run(${WORK}/embed/embed_cpp ${DATA}/stock_portable.pte)
expect("own kernel: 2 calls, two instances give the same\nown allocator: used, 0 bytes left\n")

# The C interface without CMake, and nothing but it in what the library shows.
file(GLOB library ${WORK}/prefix/lib*/libxir.so)
get_filename_component(folder ${library} DIRECTORY)
file(READ ${folder}/pkgconfig/xir.pc pc)
if(NOT pc MATCHES "prefix=[$]{pcfiledir}/../..")
  message(FATAL_ERROR "unexpected: ${pc}")
endif()
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
run(${C} ${flags} -std=c99 -Wall -Wextra -Werror -D_ISOC11_SOURCE -I${WORK}/prefix/include
    ${EXAMPLES}/embed/main.c -o ${WORK}/plain -L${folder} -lxir -Wl,-rpath,${folder})
run(${WORK}/plain ${DATA}/stock_portable.pte)
run(nm --dynamic --defined-only --extern-only ${library})
string(REGEX MATCHALL "[^\n]+" symbols "${output}")
foreach(symbol ${symbols})
  if(NOT symbol MATCHES " T xir_[a-z_]+$")
    message(FATAL_ERROR "libxir.so shows ${symbol}")
  endif()
endforeach()
