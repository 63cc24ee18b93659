// Portable kernels on small tensors, strides and broadcasts included.

#include <cmath>
#include <vector>

#include "kernels/registry.h"
#include "testing.h"

namespace xir::testing {
namespace {

template <typename T>
constexpr DType kDType = DType::kFloat;
template <>
constexpr DType kDType<int64_t> = DType::kLong;

Shape MakeShape(const std::vector<int64_t>& sizes) {
  Shape shape;
  for (const int64_t size : sizes) shape[shape.rank++] = size;
  return shape;
}

// A tensor with its memory. `order` empty is 0, 1, 2, …
template <typename T>
struct Owned {
  Owned(const std::vector<int64_t>& sizes, std::vector<T> elements, std::vector<uint8_t> order = {})
      : data(std::move(elements)) {
    Tensor tensor;
    tensor.dtype = kDType<T>;
    tensor.shape = tensor.bound = MakeShape(sizes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      tensor.dim_order[i] = order.empty() ? static_cast<uint8_t>(i) : order[i];
    }
    data.resize(static_cast<size_t>(tensor.numel()));
    tensor.data = data.data();
    tensor.capacity = data.size() * sizeof(T);
    value.content = tensor;
  }
  Owned(const Owned&) = delete;

  std::vector<T> data;
  Value value;
};

struct Ints {
  explicit Ints(const std::vector<int64_t>& numbers) : items(numbers.size()) {
    IntList list;
    for (size_t i = 0; i < numbers.size(); ++i) {
      items[i].content = numbers[i];
      list.items.push_back(&items[i]);
    }
    value.content = list;
  }
  std::vector<Value> items;
  Value value;
};

Value Of(int64_t number) { return Value{number}; }
Value Of(double number) { return Value{number}; }
Value Of(bool flag) { return Value{flag}; }
Value Nothing() { return Value{None{}}; }

Status Run(const char* name, std::vector<Value*> args) {
  const TypedKernel* kernel = FindPortableKernel(name);
  if (kernel == nullptr) return Fail(Code::kNotFound, "no kernel ", name);
  auto written = kernel->bind(args);
  if (!written.ok()) return std::move(written).status();
  KernelContext context;
  return kernel->run(context, args);
}

using Floats = std::vector<float>;

}  // namespace

XIR_TEST(kernel_registry) {
  for (const char* name : {"aten::_softmax.out", "aten::view_copy.out", "aten::add.out",
                           "dim_order_ops::_to_dim_order_copy.out", "aten::mm.out"}) {
    EXPECT(FindPortableKernel(name) != nullptr);
  }
  EXPECT(FindPortableKernel("aten::zz.out") == nullptr && FindPortableKernel("") == nullptr);
}

XIR_TEST(kernel_add_broadcasts) {
  Owned<float> a({2, 1, 3}, {1, 2, 3, 4, 5, 6}), b({2, 1}, {10, 20}), out({2, 2, 3}, {});
  Value alpha = Of(2.0);
  EXPECT_OK(Run("aten::add.out", {&a.value, &b.value, &alpha, &out.value, &out.value}));
  EXPECT((out.data == Floats{21, 22, 23, 41, 42, 43, 24, 25, 26, 44, 45, 46}));
  Owned<float> wrong({2, 2, 2}, {});
  EXPECT_ERROR(Run("aten::add.out", {&a.value, &b.value, &alpha, &wrong.value}), "shape is fixed");
  EXPECT_ERROR(Run("aten::add.out", {&a.value, &wrong.value, &alpha, &out.value}), "do not fit");
}

XIR_TEST(kernel_integers_wrap) {
  Owned<int64_t> a({2}, {INT64_MAX, 3}), b({2}, {1, 4}), out({2}, {});
  Value alpha = Of(int64_t{1});
  EXPECT_OK(Run("aten::add.out", {&a.value, &b.value, &alpha, &out.value}));
  EXPECT((out.data == std::vector<int64_t>{INT64_MIN, 7}));
  EXPECT_OK(Run("aten::mul.out", {&a.value, &a.value, &out.value}));
  EXPECT((out.data == std::vector<int64_t>{1, 9}));
  // A float does not become an integer.
  Owned<float> real({2}, {});
  EXPECT_ERROR(Run("aten::mul.out", {&a.value, &real.value, &out.value}), "another dtype");
}

XIR_TEST(kernel_memory_orders) {
  // The same 1x2x1x3 image, channels last and first.
  Owned<float> last({1, 2, 1, 3}, {1, 4, 2, 5, 3, 6}, {0, 2, 3, 1});
  Owned<float> first({1, 2, 1, 3}, {});
  Value none = Nothing();
  EXPECT_OK(Run("aten::clone.out", {&last.value, &none, &first.value}));
  EXPECT((first.data == Floats{1, 2, 3, 4, 5, 6}));
  Owned<float> out({1, 2, 1, 3}, {}, {0, 2, 3, 1});
  EXPECT_OK(Run("aten::mul.out", {&last.value, &first.value, &out.value}));
  EXPECT((out.data == Floats{1, 16, 4, 25, 9, 36}));
  Owned<float> flat({6}, {});
  Ints sizes({-1});
  EXPECT_OK(Run("aten::view_copy.out", {&last.value, &sizes.value, &flat.value}));
  EXPECT(flat.data == first.data);
  EXPECT_OK(Run("aten::view_copy.out", {&first.value, &sizes.value, &flat.value}));
  EXPECT(flat.data == first.data);
}

XIR_TEST(kernel_clamps) {
  Owned<float> in({4}, {-2, 0.5, 3, NAN}), out({4}, {});
  EXPECT_OK(Run("aten::relu.out", {&in.value, &out.value}));
  EXPECT(out.data[0] == 0 && out.data[1] == 0.5f && out.data[2] == 3 && std::isnan(out.data[3]));
  Value low = Of(int64_t{-1}), high = Of(1.0), none = Nothing();
  EXPECT_OK(Run("aten::clamp.out", {&in.value, &none, &high, &out.value}));
  EXPECT(out.data[0] == -2 && out.data[2] == 1);
  EXPECT_OK(Run("aten::hardtanh.out", {&in.value, &low, &high, &out.value}));
  EXPECT(out.data[0] == -1 && out.data[2] == 1);
}

XIR_TEST(kernel_movement) {
  Owned<float> in({2, 3}, {1, 2, 3, 4, 5, 6});
  Owned<float> transposed({3, 2}, {});
  Ints order({1, -2}), twice({0, 0});
  EXPECT_OK(Run("aten::permute_copy.out", {&in.value, &order.value, &transposed.value}));
  EXPECT((transposed.data == Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_ERROR(Run("aten::permute_copy.out", {&in.value, &twice.value, &transposed.value}),
               "no permutation");
  Owned<float> row({3}, {}), cut({2, 2}, {}), joined({2, 5}, {}), wide({2, 2, 3}, {});
  Value zero = Of(int64_t{0}), one = Of(int64_t{1}), minus_one = Of(int64_t{-1}),
        two = Of(int64_t{2}), none = Nothing(), no = Of(false);
  EXPECT_OK(Run("aten::select_copy.int_out", {&in.value, &zero, &minus_one, &row.value}));
  EXPECT((row.data == Floats{4, 5, 6}));
  EXPECT_ERROR(Run("aten::select_copy.int_out", {&in.value, &zero, &two, &row.value}),
               "index 2 of 2");
  EXPECT_OK(Run("aten::slice_copy.Tensor_out", {&in.value, &one, &zero, &none, &two, &cut.value}));
  EXPECT((cut.data == Floats{1, 3, 4, 6}));
  Value list{TensorList{{&in.value, &cut.value}}};
  EXPECT_OK(Run("aten::cat.out", {&list, &one, &joined.value}));
  EXPECT((joined.data == Floats{1, 2, 3, 1, 3, 4, 5, 6, 4, 6}));
  EXPECT_ERROR(Run("aten::cat.out", {&list, &zero, &joined.value}), "do not fit");
  Ints sizes({2, -1, 3});
  EXPECT_OK(Run("aten::expand_copy.out", {&in.value, &sizes.value, &no, &wide.value}));
  EXPECT((wide.data == Floats{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  Owned<float> unsqueezed({2, 3, 1}, {});
  EXPECT_OK(Run("aten::unsqueeze_copy.out", {&in.value, &minus_one, &unsqueezed.value}));
  EXPECT(unsqueezed.data == in.data);
  Ints dims({2, 0});
  Owned<float> squeezed({2, 3}, {});
  EXPECT_OK(Run("aten::squeeze_copy.dims_out", {&unsqueezed.value, &dims.value, &squeezed.value}));
  EXPECT(squeezed.data == in.data);
}

XIR_TEST(kernel_of_maps) {
  const char* const name = "executorch_prim::et_copy_index.tensor";
  Owned<float> out({3, 2}, {0, 0, 0, 0, 7, 7}), element({2}, {5, 6}), longer({3}, {});
  Owned<int64_t> integers({2}, {});
  Value zero = Of(int64_t{0}), one = Of(int64_t{1}), three = Of(int64_t{3}),
        minus_one = Of(int64_t{-1}), huge = Of(int64_t{1} << 40);
  out.value.get<Tensor>()->resizable = true;
  EXPECT_OK(Run(name, {&out.value, &element.value, &one}));
  EXPECT_OK(Run(name, {&out.value, &element.value, &zero}));
  EXPECT((out.value.get<Tensor>()->shape == MakeShape({1, 2})));
  EXPECT((out.data == Floats{5, 6, 5, 6, 7, 7}));
  EXPECT_ERROR(Run(name, {&out.value, &element.value, &minus_one}), "index -1");
  EXPECT_ERROR(Run(name, {&out.value, &element.value, &huge}), "index 1099511627776");
  EXPECT(!Run(name, {&out.value, &element.value, &three}).ok());
  EXPECT_ERROR(Run(name, {&out.value, &longer.value, &zero}), "do not fit");
  EXPECT_ERROR(Run(name, {&out.value, &out.value, &zero}), "another argument");
  EXPECT_ERROR(Run(name, {&element.value, &out.value, &zero}), "an element of rank 2");
  EXPECT_ERROR(Run(name, {&out.value, &integers.value, &zero}), "dtype");
  EXPECT((out.data == Floats{5, 6, 5, 6, 7, 7}));
}

XIR_TEST(kernel_of_choices) {
  const char* const name = "executorch_prim::sym_ite.Scalar";
  Value yes = Of(true), no = Of(false), large = Of(int64_t{1} << 60), half = Of(0.5),
        integer = Of(int64_t{0}), number = Of(0.0);
  EXPECT_OK(Run(name, {&yes, &large, &half, &integer}));
  EXPECT(*integer.get<int64_t>() == int64_t{1} << 60);
  EXPECT_OK(Run(name, {&no, &large, &half, &number}));
  EXPECT(*number.get<double>() == 0.5);
}

XIR_TEST(kernel_reductions) {
  Owned<float> in({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Owned<float> kept({2, 1, 1}, {}), middle({2, 2}, {}), all({}, {});
  Ints last({1, -1}), second({1});
  Value yes = Of(true), no = Of(false), none = Nothing(), one = Of(int64_t{1});
  EXPECT_OK(Run("aten::mean.out", {&in.value, &last.value, &yes, &none, &kept.value}));
  EXPECT((kept.data == Floats{2.5, 6.5}));
  EXPECT_OK(Run("aten::mean.out", {&in.value, &second.value, &no, &none, &middle.value}));
  EXPECT((middle.data == Floats{2, 3, 6, 7}));
  EXPECT_OK(Run("aten::mean.out", {&in.value, &none, &no, &none, &all.value}));
  EXPECT((all.data == Floats{4.5}));
  Ints outside({3});
  EXPECT_ERROR(Run("aten::mean.out", {&in.value, &outside.value, &no, &none, &all.value}),
               "dimension 3");
  Owned<float> softmax({2, 2, 2}, {});
  EXPECT_OK(Run("aten::_softmax.out", {&in.value, &one, &no, &softmax.value}));
  EXPECT(std::fabs(softmax.data[0] - 1 / (1 + std::exp(2.0f))) < 1e-6f);
  EXPECT(std::fabs(softmax.data[0] + softmax.data[2] - 1) < 1e-6f);
}

// Sizes next to a 0 say nothing of how much there is to do.
XIR_TEST(kernels_take_no_time_over_nothing) {
  constexpr int64_t kMany = INT32_MAX;
  Value zero = Of(int64_t{0}), two = Of(int64_t{2}), no = Of(false), yes = Of(true),
        none = Nothing();
  Owned<float> in({kMany, 1, 2, 0}, {}), out({kMany, 1, 2, 0}, {}), least({kMany, 1, 1, 0}, {});
  Owned<int64_t> order({kMany, 1, 2, 0}, {}), place({kMany, 1, 1, 0}, {});
  EXPECT_OK(Run("aten::cumsum.out", {&in.value, &two, &none, &out.value}));
  EXPECT_OK(Run("aten::sort.values", {&in.value, &two, &no, &out.value, &order.value}));
  EXPECT_OK(Run("aten::_softmax.out", {&in.value, &zero, &no, &out.value}));
  EXPECT_OK(Run("aten::max.dim_max", {&in.value, &two, &yes, &least.value, &place.value}));
  Owned<float> image({0, 1, 1, 1}, {}), large({0, 1, kMany, 1}, {});
  Ints size({kMany, 1});
  EXPECT_OK(
      Run("aten::upsample_nearest2d.out", {&image.value, &size.value, &none, &none, &large.value}));
  EXPECT_OK(Run("aten::upsample_bilinear2d.out",
                {&image.value, &size.value, &no, &none, &none, &large.value}));
  Owned<float> images({kMany, 0, 1, 1}, {}), grid({kMany, 0, 1, 2}, {});
  Owned<float> sampled({kMany, 0, 0, 1}, {});
  EXPECT_OK(Run("aten::grid_sampler_2d.out",
                {&images.value, &grid.value, &zero, &zero, &no, &sampled.value}));
}

XIR_TEST(kernel_choices_of_parameters_take_infinities) {
  Owned<float> in({2}, {-INFINITY, 1}), scale({1}, {});
  Owned<int64_t> zero_point({1}, {});
  Value low = Of(int64_t{0}), high = Of(int64_t{255}), eps = Of(1e-6), byte = Of(int64_t{0});
  EXPECT_OK(Run("quantized_decomposed::choose_qparams.Tensor_out",
                {&in.value, &low, &high, &eps, &byte, &scale.value, &zero_point.value}));
  EXPECT(std::isinf(scale.data[0]) && zero_point.data[0] == 0);
}

XIR_TEST(kernel_matrices) {
  Owned<float> a({2, 2}, {1, 2, 3, 4}), b({2, 2}, {5, 6, 7, 8}), bias({2}, {100, 200}),
      out({2, 2}, {});
  EXPECT_OK(Run("aten::mm.out", {&a.value, &b.value, &out.value}));
  EXPECT((out.data == Floats{19, 22, 43, 50}));
  Value beta = Of(0.5), alpha = Of(int64_t{2});
  EXPECT_OK(Run("aten::addmm.out", {&bias.value, &a.value, &b.value, &beta, &alpha, &out.value}));
  EXPECT((out.data == Floats{88, 144, 136, 200}));
}

XIR_TEST(kernel_convolution) {
  // A 1x1x3x3 image, a 2x2 kernel with padding 1 and stride 2, and a bias.
  Owned<float> in({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
      weight({1, 1, 2, 2}, {1, 10, 100, 1000}), bias({1}, {0.5}), out({1, 1, 2, 2}, {});
  Ints stride({2, 2}), padding({1, 1}), dilation({1, 1}), extra({0, 0});
  Value no = Of(false), one = Of(int64_t{1}), zero = Of(int64_t{0});
  EXPECT_OK(Run("aten::convolution.out",
                {&in.value, &weight.value, &bias.value, &stride.value, &padding.value,
                 &dilation.value, &no, &extra.value, &one, &out.value}));
  EXPECT((out.data == Floats{1000.5, 3200.5, 7040.5, 9865.5}));
  EXPECT_ERROR(Run("aten::convolution.out",
                   {&in.value, &weight.value, &bias.value, &extra.value, &padding.value,
                    &dilation.value, &no, &extra.value, &one, &out.value}),
               "stride 0");
  EXPECT_ERROR(Run("aten::convolution.out",
                   {&in.value, &weight.value, &bias.value, &stride.value, &padding.value,
                    &dilation.value, &no, &extra.value, &zero, &out.value}),
               "do not fit");
}

XIR_TEST(kernel_embedding) {
  Owned<float> table({3, 2}, {1, 2, 3, 4, 5, 6}), out({2, 2}, {});
  Owned<int64_t> index({2}, {2, 0});
  Value x = Nothing();
  EXPECT_OK(Run("aten::embedding.out", {&table.value, &index.value, &x, &x, &x, &out.value}));
  EXPECT((out.data == Floats{5, 6, 1, 2}));
  index.data[0] = 3;
  EXPECT_ERROR(Run("aten::embedding.out", {&table.value, &index.value, &x, &x, &x, &out.value}),
               "index 3");
  index.data[0] = -1;
  EXPECT_ERROR(Run("aten::embedding.out", {&table.value, &index.value, &x, &x, &x, &out.value}),
               "index -1");
}

XIR_TEST(scatters_read_no_more_than_there_is) {
  // A tensor of rank 0 stands for a vector of one element: longer or shorter ones do not go with
  // it.
  for (const char* name : {"aten::scatter.src_out", "aten::scatter_add.out"}) {
    Owned<float> self({3}, {1, 2, 3}), out({3}, {});
    Owned<int64_t> place({}, {1}), places({2}, {1, 2});
    Owned<float> nothing({0}, {}), one({}, {5}), two({2}, {5, 6});
    Value dim = Of(int64_t{0});
    EXPECT_ERROR(Run(name, {&self.value, &dim, &place.value, &nothing.value, &out.value}),
                 "do not fit");
    EXPECT_ERROR(Run(name, {&self.value, &dim, &places.value, &one.value, &out.value}),
                 "do not fit");
    EXPECT_OK(Run(name, {&self.value, &dim, &place.value, &two.value, &out.value}));
    EXPECT(out.data[1] == (std::string_view(name) == "aten::scatter_add.out" ? 7 : 5));
  }
  Owned<float> self({3}, {1, 2, 3}), nothing({0}, {}), out({3}, {});
  Owned<int64_t> place({}, {1});
  Value dim = Of(int64_t{0}), sum{std::string("sum")}, include = Of(true);
  EXPECT_ERROR(Run("aten::scatter_reduce.two_out",
                   {&self.value, &dim, &place.value, &nothing.value, &sum, &include, &out.value}),
               "do not fit");
}

}  // namespace xir::testing
