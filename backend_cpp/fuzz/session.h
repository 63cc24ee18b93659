// A method as an application uses it, and as none should.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "draws.h"
#include "guarded_memory.h"
#include "xir/program.h"

namespace xir::fuzz {

class Session {
 public:
  // `nbytes` is what the method plans and the file has.
  Session(Method* method, Draws* draws, size_t file_size, uint64_t nbytes)
      : method_(*method), draws_(*draws), file_size_(file_size), method_bytes_(nbytes) {}

  // One execution; whether it succeeded.
  bool Run();

 private:
  bool Execute();
  // The profile, its texts, and what kernels take besides.
  bool RunProfiled();
  void SetInputs();
  // Numbers were fixed when the program was made.
  void SetNumber(size_t index);
  void SetTensor(size_t index, const Tensor& tensor, const Shape& shape);
  // A shape above the bound, or memory that is too small for it, or none.
  void SetWrongly(size_t index, const Tensor& tensor);
  uint8_t* Lend(size_t size, size_t alignment, DType dtype);
  // Of very many inputs some lie in one memory.
  GuardedMemory& NewMemory(size_t size, size_t alignment);
  // Reads, writes and resets what the method keeps.
  void UseBuffers();
  // What is written to a buffer is read back, unless another instance runs in between: none does.
  void Overwrite(const BufferInfo& buffer, const GuardedMemory& memory);
  // Memory for an output, often less than its largest shape takes, which stays bound.
  void BindOutput();
  // Reading every byte lets a sanitizer, or a guard, see where the results are.
  void ReadOutputs();

  Method& method_;
  Draws& draws_;
  const size_t file_size_;
  const uint64_t method_bytes_;
  uint64_t input_bytes_ = 0;
  std::vector<GuardedMemory> lent_;
  std::deque<GuardedMemory> bound_;  // to outputs
};

}  // namespace xir::fuzz
