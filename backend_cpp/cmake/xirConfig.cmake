# Found by find_package(xir); defines xir::runtime.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/xirTargets.cmake)
