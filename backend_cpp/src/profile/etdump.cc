// Names of events as ExecuTorch's runtime gives them (runtime/executor/method.cpp and
// backends/xnnpack/runtime/profiling/XNNProfiler.cpp of pytorch/executorch).
#include <unordered_map>

#include "etdump_generated.h"
#include "profile/text.h"
#include "xir/profile.h"

namespace xir {
namespace {

using flatbuffers::Offset;

class EtdumpWriter {
 public:
  std::string Write(Span<const Profile> executions) {
    std::vector<Offset<etdump::RunData>> runs;
    double start = 0;
    for (const Profile& execution : executions) {
      runs.push_back(Run(execution, start));
      start += execution.duration;
    }
    const auto list = builder_.CreateVector(runs);
    builder_.FinishSizePrefixed(etdump::CreateETDump(builder_, /*version=*/0, list),
                                etdump::ETDumpIdentifier());
    return std::string(reinterpret_cast<const char*>(builder_.GetBufferPointer()),
                       builder_.GetSize());
  }

 private:
  Offset<etdump::RunData> Run(const Profile& execution, double start) {
    std::vector<Offset<etdump::Event>> events;
    std::unordered_map<std::string, size_t> counts;
    for (const ProfileEvent& event : execution.events) {
      // An operator has a number among its like, as the delegate's ids have to differ.
      std::string id;
      if (event.kind == ProfileEvent::Kind::kOperator) {
        const std::string name = Printable(
            event.microkernel.empty() ? event.name : event.name + " " + event.microkernel);
        id = name + " #" + std::to_string(++counts[name]);
      }
      events.push_back(Add(event, id, start));
    }
    events.push_back(Event("Method::execute", -1, "", "", start, execution.duration));
    const auto list = builder_.CreateVector(events);
    const auto allocators = builder_.CreateVector(std::vector<Offset<etdump::Allocator>>());
    const auto name = builder_.CreateString("Execute");
    return etdump::CreateRunData(builder_, name, /*bundled_input_index=*/-1, allocators, list);
  }

  Offset<etdump::Event> Add(const ProfileEvent& event, const std::string& id, double start) {
    const auto instruction = static_cast<int32_t>(event.instruction);
    start += event.start;
    switch (event.kind) {
      case ProfileEvent::Kind::kKernel:
        return Event(Printable(event.name), instruction, "", "", start, event.duration);
      case ProfileEvent::Kind::kDelegate:
        return Event("DELEGATE_CALL", instruction, "", "", start, event.duration);
      default:
        return Event("", instruction, id, Place(event), start, event.duration);
    }
  }

  // What the compiler knows of an operator: "model.py:41 in features.0.1: conv2d".
  static std::string Place(const ProfileEvent& event) {
    std::string place = LinesOf(event.origins);
    if (const std::string modules = ModulesOf(event.origins); !modules.empty()) {
      place += " in " + modules;
    }
    if (const std::string ops = OpsOf(event.origins); !ops.empty()) place += ": " + ops;
    return place;
  }

  Offset<etdump::Event> Event(const std::string& name, int32_t instruction, const std::string& id,
                              const std::string& metadata, double start, double duration) {
    const auto name_text = builder_.CreateSharedString(name);
    const auto id_text = builder_.CreateSharedString(id);
    const auto metadata_bytes =
        builder_.CreateVector(reinterpret_cast<const uint8_t*>(metadata.data()), metadata.size());
    return etdump::CreateEvent(
        builder_, etdump::CreateProfileEvent(builder_, name_text, /*chain_index=*/0, instruction,
                                             /*delegate_debug_id_int=*/-1, id_text, metadata_bytes,
                                             Nanoseconds(start), Nanoseconds(start + duration)));
  }

  static uint64_t Nanoseconds(double microseconds) {
    return static_cast<uint64_t>(microseconds * 1000 + 0.5);
  }

  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace

std::string ProfileEtdump(Span<const Profile> executions) {
  return EtdumpWriter().Write(executions);
}

}  // namespace xir
