// Where an execution spent its time, and which part of the model that was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "xir/span.h"

namespace xir {

// A place in the model's source, as the compiler wrote it into the file; empty and 0 are unknown.
struct Origin {
  std::string file;
  uint32_t line = 0;   // counted from 1
  std::string module;  // path of the module instance: "features.0.1"
  std::string op;      // ATen operator: "aten::conv2d"
  std::string name;    // of the node in the exported graph
};

// One thing that an execution did: it called a kernel or a delegate, or XNNPACK ran an operator of
// a delegate. The operators of a delegate follow its call and lie within its time.
struct ProfileEvent {
  enum class Kind { kKernel, kDelegate, kOperator };
  static constexpr size_t kNone = SIZE_MAX;

  Kind kind = Kind::kKernel;
  std::string name;  // the kernel's or XNNPACK's; "delegate 0" for a call of one
  std::string
      microkernel;         // what kind of microkernel an operator runs, where XNNPACK tells: "GEMM"
  size_t instruction = 0;  // of the method's chain
  size_t delegate = kNone;  // the delegate that is called, or that the operator is part of
  size_t node = kNone;      // the node of the delegate's graph that the operator computes. XNNPACK
                            // fuses, drops and inserts some; kNone where that leaves a doubt
  double start = 0;         // microseconds from the beginning of the execution
  double duration = 0;      // microseconds. XNNPACK counts whole ones, rounded down
  uint64_t result_bytes = 0;    // what it writes; an operator at the graph's largest shapes
  uint64_t constant_bytes = 0;  // weights that it reads, as the file has them
  std::vector<Origin> origins;  // several where ops were fused
};

// One execution.
struct Profile {
  std::string method;
  double duration = 0;  // microseconds by the wall clock
  std::vector<ProfileEvent> events;
};

struct ProfileTableOptions {
  bool by_time = true;  // else in the order of execution
  size_t width = 120;   // of a line, in characters
};

// Tables for people: each operator with its share of the time, then the totals by type of operator
// and by module. Times are means over the executions, which are of one method.
std::string ProfileTable(Span<const Profile> executions, const ProfileTableOptions& options);

// A trace in Chrome's JSON format, which Perfetto (ui.perfetto.dev) opens.
std::string ProfileTrace(Span<const Profile> executions);

// An ETDump, which ExecuTorch's Inspector reads: its bytes, times in nanoseconds.
std::string ProfileEtdump(Span<const Profile> executions);

}  // namespace xir
