# Found by find_package(xir); defines xir::runtime, the C++ library, and xir::shared, the C interface.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/xirTargets.cmake)
