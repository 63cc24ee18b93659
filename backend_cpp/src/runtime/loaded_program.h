#pragma once

#include "core/file_bytes.h"
#include "verify/program_view.h"
#include "xir/program.h"
#include "xnnpack/handles.h"

namespace xir {

// What a program and its methods share.
struct LoadedProgram {
  FileBytes file;
  LoadOptions options;
  size_t threads = 1;
  ProgramView view;
  ThreadPool pool;  // null with one thread
};

}  // namespace xir
