#pragma once

#include <cstdint>

#include "drawn_graph.h"

namespace xir::fuzz {

// Sizes of a window along one axis.
struct Axis {
  uint32_t before = 0, after = 0, kernel = 1, stride = 1, dilation = 1, adjustment = 0;

  uint32_t extent() const { return (kernel - 1) * dilation + 1; }
  uint32_t Slide(uint32_t size) const {
    const int64_t room = int64_t{size} + before + after - extent();
    return room < 0 || stride == 0 ? 0 : static_cast<uint32_t>(room / stride) + 1;
  }
  uint32_t Spread(uint32_t size) const {
    return stride * (size - 1) + extent() + adjustment - before - after;
  }
};

template <typename T>
void SetPadding(const Axis& rows, const Axis& columns, T* node) {
  node->padding_top = rows.before;
  node->padding_bottom = rows.after;
  node->padding_left = columns.before;
  node->padding_right = columns.after;
}

// A window that fits an axis of `size`, unless it is odd.
Axis AnyAxis(DrawnGraph* g, uint32_t size);

}  // namespace xir::fuzz
