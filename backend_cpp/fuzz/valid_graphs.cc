// xir_fuzz_graphs N
//
// Draws N graphs that a compiler could have written. It is an error if the verifier refuses one for
// anything but its types, or takes no graph with a node of some kind: the shapes that the fuzzer
// gives to results are those that XNNPACK derives, by the verifier, which test_node_shapes.py holds
// to a table of cases.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <set>
#include <string>

#include "graph_builder.h"
#include "program/description.h"
#include "verify/verify_graph.h"

namespace {

using xir::graph::XNodeUnion;

// What the draws do not look at, beside types: what has to be a constant or used.
constexpr const char* kOfTypes[] = {"XNNPACK does not compute it from",
                                    "integers are not bounded",
                                    "the filter has the zero point",
                                    "have bits that it does not",
                                    "the graph has no values or no nodes",
                                    "is not a constant",
                                    "a filter in 4 bits",
                                    "nothing uses result",
                                    "bytes, constant"};

bool IsOfTypes(const std::string& message) {
  return std::any_of(std::begin(kOfTypes), std::end(kOfTypes),
                     [&](const char* each) { return message.find(each) != std::string::npos; });
}

xir::fuzz::BuiltGraph Draw(uint64_t seed) {
  std::mt19937_64 random(seed);
  xir::fuzz::Blob bytes(64 + random() % 1024);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() >> 56);
  xir::fuzz::Draws draws(xir::Bytes(bytes.data(), bytes.size()));
  return xir::fuzz::BuildGraph(&draws, /*odd=*/false, /*weights=*/seed % 2 == 0);
}

// Those that ExecuTorch knows, but for attention, which the runtime does not have.
bool IsDrawn(XNodeUnion kind) {
  return kind != XNodeUnion::NONE && kind != XNodeUnion::XNNScaledDotProductAttention &&
         kind < xir::fuzz::kFirstOwnKind;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t count = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (count == 0) {
    std::fprintf(stderr, "usage: xir_fuzz_graphs N\n");
    return 2;
  }
  std::set<XNodeUnion> missing;
  for (const XNodeUnion kind : xir::graph::EnumValuesXNodeUnion()) {
    if (IsDrawn(kind)) missing.insert(kind);
  }
  size_t taken = 0, wrong = 0;
  for (uint64_t seed = 0; seed < count; ++seed) {
    const xir::fuzz::BuiltGraph built = Draw(seed);
    xir::WorkBudget budget(built.blob.size());
    auto verified = xir::VerifyGraph(xir::Bytes(built.blob.data(), built.blob.size()),
                                     xir::ProgramDescription(), {uint64_t{1} << 30}, &budget);
    if (!verified.ok()) {
      const std::string message = std::move(verified).status().message();
      if (IsOfTypes(message)) continue;
      std::printf("graph %llu: %s\n", static_cast<unsigned long long>(seed), message.c_str());
      ++wrong;
      continue;
    }
    ++taken;
    for (const auto* node : *verified.value().graph->xnodes()) {
      missing.erase(node->xnode_union_type());
    }
  }
  for (const XNodeUnion kind : missing) {
    std::printf("no graph with %s\n", xir::graph::EnumNameXNodeUnion(kind));
  }
  std::printf("%llu graphs: %zu taken, %zu refused for more than types\n",
              static_cast<unsigned long long>(count), taken, wrong);
  return wrong == 0 && missing.empty() ? 0 : 1;
}
