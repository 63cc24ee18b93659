#include "masks/schedule.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace masks {
namespace {

using xir::Shape;

constexpr size_t kNoLoop = SIZE_MAX;
// Registers that a loop keeps for numbers, so that programs of many do not take them all.
constexpr size_t kMaxUniform = 32;

bool IsComputed(const Value& value) {
  return value.kind == Value::Kind::kComputed && value.operation != Operation::kReshape;
}

// Puts each value into the first loop of its shape that comes after what it reads from memory.
class LoopBuilder {
 public:
  LoopBuilder(const Program& program, Schedule* schedule)
      : program_(program), schedule_(*schedule), loop_of_(program.values.size(), kNoLoop) {}

  void Run() {
    const size_t count = program_.values.size();
    schedule_.owners.resize(count);
    schedule_.stored.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const Value& value = program_.values[i];
      const bool is_reshape = value.kind == Value::Kind::kComputed && !IsComputed(value);
      schedule_.owners[i] = is_reshape ? schedule_.owners[value.operands[0]] : i;
      if (IsComputed(value)) {
        Place(i);
        if (value.result != kNone) schedule_.stored[i] = true;
      } else {
        if (value.result != kNone) schedule_.copied_results.push_back(i);
        if (is_reshape) Store(i);
      }
    }
  }

 private:
  // A value that is read from memory.
  void Store(size_t value) {
    const size_t owner = schedule_.owners[value];
    if (IsComputed(program_.values[owner])) schedule_.stored[owner] = true;
  }

  // Whether a loop of this shape may read the value where it is computed.
  bool InRegister(size_t operand, const Shape& shape) const {
    return schedule_.owners[operand] == operand && IsComputed(program_.values[operand]) &&
           schedule_.shapes[operand] == shape;
  }

  void Place(size_t index) {
    const Value& value = program_.values[index];
    const Shape& shape = schedule_.shapes[index];
    size_t first = 0;
    for (size_t i = 0; i < value.num_operands(); ++i) {
      const size_t loop = loop_of_[schedule_.owners[value.operands[i]]];
      if (loop == kNoLoop) continue;
      first = std::max(first, InRegister(value.operands[i], shape) ? loop : loop + 1);
    }
    std::vector<Loop>& loops = schedule_.loops;
    size_t at = first;
    while (at < loops.size() && loops[at].shape != shape) ++at;
    if (at == loops.size()) loops.emplace_back().shape = shape;
    loops[at].values.push_back(index);
    loop_of_[index] = at;
    for (size_t i = 0; i < value.num_operands(); ++i) {
      if (loop_of_[value.operands[i]] != at) Store(value.operands[i]);
    }
  }

  const Program& program_;
  Schedule& schedule_;
  std::vector<size_t> loop_of_;
};

// How a value of `from` is read by a loop of `shape`.
void FillSteps(const Shape& from, const Shape& shape, Load* load) {
  size_t step = 1;
  std::vector<size_t> steps(shape.rank);
  for (size_t i = 0; i < from.rank; ++i) {  // from the last dimension
    const auto size = static_cast<size_t>(from[from.rank - 1 - i]);
    if (size != 1) steps[shape.rank - 1 - i] = step;
    step *= size;
  }
  for (size_t i = 0; i < shape.rank; ++i) {
    const auto size = static_cast<size_t>(shape[i]);
    if (size == 1) continue;
    const bool joins = !load->sizes.empty() && load->steps.back() == steps[i] * size;
    if (joins) {
      load->sizes.back() *= size;
      load->steps.back() = steps[i];
    } else {
      load->sizes.push_back(size);
      load->steps.push_back(steps[i]);
    }
  }
  load->uniform = from.numel() == 1;
}

// Makes the steps of one loop, with registers that are used again once their value was last read.
class StepBuilder {
 public:
  StepBuilder(const Program& program, const Schedule& schedule, Loop* loop)
      : program_(program), schedule_(schedule), loop_(*loop) {}

  void Run() {
    for (size_t position = 0; position < loop_.values.size(); ++position) {
      const Value& value = program_.values[loop_.values[position]];
      places_[loop_.values[position]] = {};
      for (size_t i = 0; i < value.num_operands(); ++i) last_use_[value.operands[i]] = position;
    }
    for (size_t position = 0; position < loop_.values.size(); ++position) Add(position);
  }

 private:
  void Add(size_t position) {
    const size_t index = loop_.values[position];
    const Value& value = program_.values[index];
    Step step;
    step.function = FunctionOf(program_, value);
    for (size_t i = 0; i < value.num_operands(); ++i) step.operands[i] = Fetch(value.operands[i]);
    // Never an operand's register: elements of another size would be overwritten unread.
    step.result = schedule_.stored[index] ? Place{Place::Kind::kMemory, index}
                                          : Place{Place::Kind::kRegister, NewRegister()};
    for (size_t i = 0; i < value.num_operands(); ++i) {
      if (last_use_[value.operands[i]] == position) Release(value.operands[i]);
    }
    places_[index] = step.result;
    loop_.steps.push_back(step);
    if (last_use_.find(index) == last_use_.end()) Release(index);
  }

  Place Fetch(size_t value) {
    const auto known = places_.find(value);
    if (known != places_.end() && known->second.kind != Place::Kind::kNone) return known->second;
    const Shape& shape = schedule_.shapes[value];
    if (shape == loop_.shape) return places_[value] = {Place::Kind::kMemory, value};
    Load load;
    load.value = value;
    FillSteps(shape, loop_.shape, &load);
    load.uniform = load.uniform && num_uniform_ < kMaxUniform;
    if (load.uniform) {
      ++num_uniform_;
      load.to = loop_.num_registers++;
    } else {
      load.to = NewRegister();
      Step step;
      step.load = loop_.loads.size();
      loop_.steps.push_back(step);
    }
    const Place place{Place::Kind::kRegister, load.to};
    if (load.uniform) kept_.push_back(value);
    loop_.loads.push_back(std::move(load));
    return places_[value] = place;
  }

  void Release(size_t value) {
    Place& place = places_[value];
    const bool kept = std::find(kept_.begin(), kept_.end(), value) != kept_.end();
    if (place.kind == Place::Kind::kRegister && !kept) free_.push_back(place.index);
    if (!kept) place = {};  // an operand that stands twice is released once
  }

  size_t NewRegister() {
    if (free_.empty()) return loop_.num_registers++;
    const size_t index = free_.back();
    free_.pop_back();
    return index;
  }

  const Program& program_;
  const Schedule& schedule_;
  Loop& loop_;
  std::unordered_map<size_t, Place> places_;
  std::unordered_map<size_t, size_t> last_use_;  // position of the value that reads it last
  std::vector<size_t> free_;
  std::vector<size_t> kept_;
  size_t num_uniform_ = 0;
};

}  // namespace

xir::Result<Schedule> MakeSchedule(const Program& program, std::vector<Shape> shapes) {
  Schedule schedule;
  schedule.shapes = std::move(shapes);
  for (size_t i = 0; i < program.values.size(); ++i) {
    XIR_RETURN_IF_ERROR(program.InferShape(i, &schedule.shapes).In("value " + std::to_string(i)));
  }
  LoopBuilder(program, &schedule).Run();
  for (Loop& loop : schedule.loops) StepBuilder(program, schedule, &loop).Run();
  return schedule;
}

}  // namespace masks
