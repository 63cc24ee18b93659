#include "draw_calls.h"

#include <utility>

#include "graph_values.h"
#include "kernels/registry.h"

namespace xir::fuzz {
namespace {

void CallDelegate(DrawnProgram* p, const BuiltGraph& built) {
  program::DelegateCallT call;
  call.delegate_index = p->Index(p->plan().delegates.size() - 1);
  const bool dynamic = p->OneIn(3);
  for (const ExternalTensor& external : built.externals) {
    Sizes sizes(external.dims.begin(), external.dims.end());
    std::vector<uint8_t> order;
    for (size_t i = 0; i < sizes.size(); ++i) order.push_back(static_cast<uint8_t>(i));
    if (sizes.size() == 4 && p->OneIn(2)) {
      order = {0, 2, 3, 1};
      sizes = {sizes[0], sizes[3], sizes[1], sizes[2]};
    }
    const Place place =
        external.output || (p->odd() && p->OneIn(4)) ? Place::kPlanned : Place::kInput;
    ScalarType type = ScalarTypeOf(external.datatype);
    if (p->Odd()) type = p->draws().Of(kTypes);
    const int32_t index = p->AddTensor(type, sizes, place, dynamic, order);
    call.args.push_back(index);
    if (external.output) p->plan().outputs.push_back(index);
  }
  if (p->Odd() && !call.args.empty()) call.args.pop_back();
  p->AddInstruction(std::move(call));
}

}  // namespace

void AddKernelCall(DrawnProgram* p, std::string_view name) {
  const TypedKernel& kernel = *FindPortableKernel(name);
  p->NewLook();
  program::KernelCallT call = p->CallOf(name);
  std::vector<int32_t> written;
  for (const std::string_view kind : kernel.parameters) {
    call.args.push_back(Argument(p, kind));
    if (kind == "a tensor to write" || kind == "a list of tensors to write") {
      written.push_back(call.args.back());
    }
  }
  p->plan().outputs.insert(p->plan().outputs.end(), p->results().begin(), p->results().end());
  p->results().clear();
  if (p->Odd() && !call.args.empty()) call.args.pop_back();
  // ExecuTorch repeats the results behind the arguments.
  if (!p->odd() || p->OneIn(2)) call.args.insert(call.args.end(), written.begin(), written.end());
  if (p->Odd()) call.args.push_back(p->AddNone());
  p->AddInstruction(std::move(call));
}

void AddDelegate(DrawnProgram* p) {
  const bool odd = p->odd() && p->OneIn(2), weights = p->odd() && p->OneIn(2);
  AddDelegate(p, BuildGraph(&p->draws(), odd, weights));
}

void AddDelegate(DrawnProgram* p, const BuiltGraph& built) {
  auto delegate = std::make_unique<program::BackendDelegateT>();
  delegate->id = p->Odd() ? "CoreML" : "XnnpackBackend";
  delegate->processed = p->AddDelegateData(built.blob);
  p->plan().delegates.push_back(std::move(delegate));
  for (uint64_t calls = p->odd() && p->OneIn(4) ? 2 : 1; calls > 0; --calls) CallDelegate(p, built);
}

void AddMove(DrawnProgram* p) {
  if (p->plan().values.empty()) return;
  program::MoveCallT move;
  const bool tensors = !p->tensors().empty() && !p->OneIn(4);
  const auto any = [&] {
    return tensors ? p->tensors()[p->draws().Below(p->tensors().size())]
                   : static_cast<int32_t>(p->draws().Below(p->plan().values.size()));
  };
  move.move_from = any();
  move.move_to = any();
  if (!tensors && p->OneIn(2)) {
    move.move_from = p->AddInt();
    move.move_to = p->AddInt();
  }
  p->AddInstruction(move);
}

void AddJump(DrawnProgram* p) {
  program::JumpFalseCallT jump;
  jump.cond_value_index = p->OneIn(2) || p->tensors().empty() ? p->AddBool() : AnyTensor(p, false);
  jump.destination_instruction = p->Index(p->draws().Below(p->chain().instructions.size() + 3));
  p->AddInstruction(jump);
}

void AddFree(DrawnProgram* p) {
  program::FreeCallT free;
  free.value_index = p->tensors().empty() ? 0 : p->tensors()[p->draws().Below(p->tensors().size())];
  p->AddInstruction(free);
}

void AddFrames(DrawnProgram* p) {
  std::string name(1 + p->draws().Below(p->OneIn(4) ? 2000 : 20), 'm');
  for (size_t i = 0; i < p->chain().instructions.size(); ++i) {
    auto list = std::make_unique<program::FrameListT>();
    auto frame = std::make_unique<program::FrameT>();
    frame->filename = name;
    frame->lineno = static_cast<int32_t>(i);
    list->items.push_back(std::move(frame));
    p->chain().stacktrace.push_back(std::move(list));
  }
}

}  // namespace xir::fuzz
