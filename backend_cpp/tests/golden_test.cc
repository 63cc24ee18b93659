// Programs that stock ExecuTorch wrote compute what torch computes.

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "golden.h"
#include "testing.h"

namespace xir::testing {
namespace {

// The largest difference between an output and its reference, over the reference's largest
// magnitude.
double Difference(const Tensor& tensor, const runner::Array& reference) {
  const auto* expected = reinterpret_cast<const float*>(reference.data.data());
  double difference = 0, magnitude = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    difference = std::max<double>(difference, std::fabs(tensor.as<float>()[i] - expected[i]));
    magnitude = std::max<double>(magnitude, std::fabs(expected[i]));
  }
  return difference / magnitude;
}

void CheckGolden(const std::string& name, size_t num_delegates, double tolerance) {
  auto method = LoadForward(ReadGolden(name + ".pte"));
  EXPECT_OK(method.ok() ? Status() : std::move(method).status());
  if (!method.ok()) return;
  Method& forward = *method.value();
  EXPECT(forward.num_delegates() == num_delegates);
  runner::Array input = ReadGoldenArray(name + ".input_0.npy");
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_OK(forward.SetInput(0, input.data.data(), input.data.size(), input.shape));
    EXPECT_OK(forward.Execute());
    for (size_t i = 0; i < forward.num_outputs(); ++i) {
      const auto reference = ReadGoldenArray(name + ".output_" + std::to_string(i) + ".npy");
      const Tensor& output = *forward.output(i).get<Tensor>();
      EXPECT(output.shape == reference.shape);
      EXPECT(output.is_contiguous());
      EXPECT(Difference(output, reference) <= tolerance);
    }
  }
}

}  // namespace

XIR_TEST(golden_small) { CheckGolden("stock_small", 2, 1e-5); }
XIR_TEST(golden_many) { CheckGolden("stock_many", 1, 1e-5); }
XIR_TEST(golden_dynamic) { CheckGolden("stock_dynamic", 1, 1e-5); }
XIR_TEST(golden_portable) { CheckGolden("stock_portable", 0, 1e-5); }
XIR_TEST(golden_q8) { CheckGolden("stock_q8", 1, 1e-5); }
// XNNPACK rounds activations once more than torch's reference does.
XIR_TEST(golden_qd8) { CheckGolden("stock_qd8", 1, 2e-2); }
XIR_TEST(golden_qb4) { CheckGolden("stock_qb4", 1, 2e-2); }

XIR_TEST(dynamic_shapes_in_any_order) {
  auto method = LoadForward(ReadGolden("stock_dynamic.pte"));
  EXPECT(method.ok());
  Method& forward = *method.value();
  const runner::Array full = ReadGoldenArray("stock_dynamic.input_0.npy");
  const runner::Array expected = ReadGoldenArray("stock_dynamic.output_0.npy");
  for (const int64_t rows : {5, 1, 3, 5, 2}) {
    // A copy of its own size, so that a sanitizer sees a read of more rows than there are.
    std::vector<uint8_t> input(full.data.begin(), full.data.begin() + rows * 8 * 4);
    Shape shape = full.shape;
    shape[0] = rows;
    EXPECT_OK(forward.SetInput(0, input.data(), input.size(), shape));
    EXPECT_OK(forward.Execute());
    const Tensor& output = *forward.output(0).get<Tensor>();
    EXPECT(output.shape[0] == rows);
    EXPECT(std::fabs(output.as<float>()[rows * 4 - 1] -
                     reinterpret_cast<const float*>(expected.data.data())[rows * 4 - 1]) < 1e-5f);
  }
  Shape too_large = full.shape;
  too_large[0] = 11;
  std::vector<uint8_t> input(11 * 8 * 4);
  EXPECT_ERROR(forward.SetInput(0, input.data(), input.size(), too_large),
               "has shape [10 at most, 8 at most], and [11, 8] was given");
}

XIR_TEST(inputs_are_checked) {
  auto method = LoadForward(ReadGolden("stock_small.pte"));
  EXPECT(method.ok());
  Method& forward = *method.value();
  runner::Array image = ReadGoldenArray("stock_small.input_0.npy");
  EXPECT_ERROR(forward.Execute(), "input 0 was not given");
  EXPECT_ERROR(forward.SetInput(1, image.data.data(), image.data.size(), image.shape),
               "does not exist");
  EXPECT_ERROR(forward.SetInput(0, image.data.data(), 7, image.shape), "takes 3072 bytes, not 7");
  EXPECT_ERROR(forward.SetInput(0, image.data.data() + 1, image.data.size(), image.shape),
               "not aligned");
  EXPECT_ERROR(forward.SetInput(0, int64_t{3}), "is a tensor, and a int was given");
  Shape other = image.shape;
  other[3] = 8;
  EXPECT_ERROR(forward.SetInput(0, image.data.data(), image.data.size(), other),
               "has shape [1, 3, 16, 16], and [1, 3, 16, 8] was given");
  // What is lent is lent for one execution.
  EXPECT_OK(forward.SetInput(0, image.data.data(), image.data.size(), image.shape));
  EXPECT_OK(forward.Execute());
  EXPECT_ERROR(forward.Execute(), "input 0 was not given");
}

XIR_TEST(methods_are_named) {
  auto program = Program::FromBytes(ReadGolden("stock_portable.pte"), {});
  EXPECT(program.ok());
  EXPECT(program.value()->method_names() == std::vector<std::string>{"forward"});
  EXPECT_ERROR(program.value()->LoadMethod("backward"), "it has: forward");
}

}  // namespace xir::testing
