# Which portable kernels are compiled:
#
#   -DXIR_KERNELS=all                                              each of them, the default
#   -DXIR_KERNELS="$(xir-translate --needed-kernels a.pte b.pte)"  those that these files call; none if it is empty
#
# Writes ${XIR_GENERATED_DIR}/selected_kernels.h, which the tables of kernels read.
set(XIR_KERNELS all CACHE STRING "The portable kernels to build, a list of names; all of them by default")
set(names_file ${XIR_SCHEMA_DIR}/portable_kernels.txt)
file(STRINGS ${names_file} left_out REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${names_file})

if("${XIR_KERNELS}" STREQUAL all)
  set(all true)
  set(left_out "")
else()
  set(all false)
  set(selected ${XIR_KERNELS})
  foreach(name IN LISTS selected)
    if(NOT name IN_LIST left_out)
      message(FATAL_ERROR "XIR_KERNELS: the runtime has no kernel '${name}'; xir/schema/portable_kernels.txt lists those "
                          "that it has, and xir-translate --needed-kernels FILE.pte those that a file calls. Kernels of "
                          "an application or a library are not listed.")
    endif()
  endforeach()
  list(REMOVE_ITEM left_out "" ${selected})
endif()

set(text "// The kernels of this build. Written by cmake/kernels.cmake.\n#pragma once\n\n#include <string_view>\n\n")
string(APPEND text "namespace xir::kernels {\n\ninline constexpr bool kAllKernels = ${all};\n")
string(APPEND text "inline constexpr std::string_view kSelectedKernels[] = {\n    \"\",\n")
foreach(name IN LISTS selected)
  string(APPEND text "    \"${name}\",\n")
endforeach()
string(APPEND text "};\n// The others, each in a line of its own.\ninline constexpr char kLeftOutKernels[] =\n    \"\\n\"\n")
foreach(name IN LISTS left_out)
  string(APPEND text "    \"${name}\\n\"\n")
endforeach()
string(APPEND text "    \"\";\n\n}  // namespace xir::kernels\n")
file(CONFIGURE OUTPUT ${XIR_GENERATED_DIR}/selected_kernels.h CONTENT "${text}" @ONLY)
