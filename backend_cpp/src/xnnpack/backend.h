#pragma once

#include "xir/delegate.h"
#include "xnnpack/packed_store.h"
#include "xnnpack/shared_weights.h"

namespace xir {

// XNNPACK: delegates are graphs of ExecuTorch's schema (xir/schema/xnnpack.fbs).
class XnnBackend final : public Backend {
 public:
  explicit XnnBackend(const BackendOptions& options)
      : options_(options),
        packed_(options.packed_weights, options.packed_weights_limit, options.source) {}

  // Finds and binds XNNPACK behind the first graph that is verified.
  Result<std::unique_ptr<const DelegatePlan>> Prepare(const DelegateData& data) override;
  Result<std::vector<std::unique_ptr<Delegate>>> Instantiate(Span<const PlannedDelegate> delegates,
                                                             bool profile) override;
  PackedFileState packed_file() const override { return packed_.state(); }
  size_t packed_bytes() const override { return shared_.nbytes(); }

 private:
  const BackendOptions options_;
  SharedWeights shared_;
  PackedStore packed_;
};

}  // namespace xir
