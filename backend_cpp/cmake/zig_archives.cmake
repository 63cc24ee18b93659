# How zig makes static libraries; read after what CMake knows of the system.
set(CMAKE_CXX_ARCHIVE_CREATE "${XIR_ZIG} ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "${XIR_ZIG} ar q <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "${XIR_ZIG} ranlib <TARGET>")
