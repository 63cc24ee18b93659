// A graph under construction: its values and constants, and the nodes that are added to it.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "draws.h"
#include "graph_builder.h"
#include "graph_values.h"
#include "program_file.h"
#include "xnnpack_generated.h"

namespace xir::fuzz {

using graph::XNodeUnion;

constexpr uint32_t kNone = UINT32_MAX;

class DrawnGraph {
 public:
  // With `odd`, now and then something does not agree.
  DrawnGraph(Draws* draws, bool odd);

  struct Entry {
    uint32_t id = 0;
    XNNDatatype type = XNNDatatype::FP32;
    Dims dims;
    int32_t row_rank = 0;   // of a value quantized at run time
    bool internal = false;  // written by a node
    bool used = false;
  };

  Draws& draws() { return draws_; }
  bool odd() const { return odd_; }

  // Whether the next thing is to be odd; and what is as given unless it is.
  bool Odd() { return odd_ && draws_.OneIn(24); }
  uint64_t OddNumber() { return fuzz::OddNumber(&draws_); }
  uint32_t Id(uint32_t id) { return Odd() ? static_cast<uint32_t>(OddNumber()) : id; }
  uint32_t Flags(uint32_t flags) { return Id(flags); }
  uint32_t Small(uint32_t from, uint32_t below);
  Dims AnyDims(uint64_t rank);
  float AnyScale();

  // The dimension of the channels of the next values that are quantized by channel.
  void set_channel_dim(uint32_t dim) { channel_dim_ = dim; }

  Entry* AddConstant(XNNDatatype type, const Dims& dims);
  Entry* AddExternal(XNNDatatype type, const Dims& dims, bool output);
  // A value that has content; of rank `rank` and float type where one asks for it and there is one.
  Entry* Operand(size_t rank = SIZE_MAX);
  Entry* Result(XNNDatatype type, Dims dims, int32_t row_rank = 1);

  template <typename T>
  void Push(XNodeUnion kind, T node) {
    auto xnode = std::make_unique<graph::XNodeT>();
    xnode->xnode_union.type = kind;
    xnode->xnode_union.value = new T(std::move(node));
    Push(std::move(xnode));
  }

  BuiltGraph Build();

 private:
  // A value of the graph; `constant` is an index into the constants.
  Entry* AddValue(XNNDatatype type, Dims dims, uint32_t constant, uint32_t external, uint32_t flags,
                  int32_t row_rank = 1);
  void Quantize(const Entry& entry, graph::XNNTensorValueT tensor, graph::XValueT* value);
  void FillScales(uint64_t count, graph::PerChannelQuantT* quant);
  uint32_t AddConstantData(const void* data, size_t size);
  void Push(std::unique_ptr<graph::XNodeT> node);
  // Results that no node reads become the graph's, the last one in any case.
  void MarkOutputs();

  Draws& draws_;
  const bool odd_;
  graph::XNNGraphT graph_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<ExternalTensor> externals_;
  Blob constants_;
  uint32_t channel_dim_ = 0;  // of the next value that is quantized by channel
};

}  // namespace xir::fuzz
