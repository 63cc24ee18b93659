#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "program/description.h"
#include "runtime/run_lock.h"
#include "xir/buffer.h"
#include "xir/program.h"

namespace xir {

struct LoadedProgram;

// The mutable buffers of a method that have a name, in the file's order.
std::vector<BufferInfo> NamedBuffers(const MethodDescription& method);

// The arenas in which the mutable buffers of some methods lie.
class ProgramState final : public State {
 public:
  // `methods` are indices. Fails where they do not agree on what a buffer is or where it lies, or
  // where one plans other values in the place of another's buffer.
  static Result<std::shared_ptr<ProgramState>> Create(std::shared_ptr<const LoadedProgram> program,
                                                      const std::vector<size_t>& methods);

  std::vector<BufferInfo> buffers() const override;
  Status Read(std::string_view name, void* data, size_t nbytes) const override;
  Status Write(std::string_view name, const void* data, size_t nbytes) override;
  void Reset() override;

  const LoadedProgram* program() const { return program_.get(); }
  // Whether it was made for the method of this index, among others.
  bool Serves(size_t method) const;
  // The first of the buffers that overlap a part of an arena; null if none does.
  const TensorDescription* Overlapped(const Place& place) const;
  // Whether some of these bytes are in an arena of its.
  bool Overlaps(const void* data, size_t nbytes) const;
  // Null where no buffer lies in the arena.
  uint8_t* arena(size_t id) const { return id < arenas_.size() ? arenas_[id].get() : nullptr; }
  // Held while an instance runs, whose kernels may read and write the state, and run others.
  RunLock& lock() const { return lock_; }

 private:
  ProgramState(std::shared_ptr<const LoadedProgram> program, std::vector<size_t> methods)
      : program_(std::move(program)), methods_(std::move(methods)) {}
  Status Add(const MethodDescription& method);
  Status Add(const TensorDescription& buffer);
  Status CheckOthers(const MethodDescription& method) const;
  Status Allocate();
  Status ReadBuffer(std::string_view name, void* data, size_t nbytes) const;
  Status WriteBuffer(std::string_view name, const void* data, size_t nbytes);
  uint8_t* MemoryOf(const TensorDescription& buffer) const;
  // The buffer's memory, if it has that name and size.
  Result<uint8_t*> Find(std::string_view name, size_t nbytes) const;

  std::shared_ptr<const LoadedProgram> program_;
  std::vector<size_t> methods_;
  // Those without a name cannot be looked up; they are reset with the others.
  std::vector<const TensorDescription*> buffers_;
  // By name, and by arena and offset those that are not empty.
  std::unordered_map<std::string_view, const TensorDescription*> by_name_;
  std::map<std::pair<uint32_t, uint64_t>, const TensorDescription*> by_place_;
  std::vector<AlignedBuffer> arenas_;  // by id
  std::vector<size_t> arena_sizes_;
  mutable RunLock lock_;
};

}  // namespace xir
