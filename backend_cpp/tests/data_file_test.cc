// Weights in .ptd files that stock ExecuTorch wrote, and damaged ones.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <string>

#include "data_generated.h"
#include "golden.h"
#include "testing.h"
#include "xir/library.h"

namespace xir::testing {
namespace {

Result<std::unique_ptr<Method>> LoadWith(const Source& program, std::vector<Source> data) {
  LoadOptions options;
  options.xnnpack_paths = PythonLibraryPaths();
  options.threads = 1;
  options.max_memory = uint64_t{1} << 30;
  options.data = std::move(data);
  XIR_ASSIGN_OR_RETURN(const auto loaded, Program::Load(program, options));
  return loaded->LoadMethod("forward");
}

Result<std::unique_ptr<Method>> LoadExternal(const std::string& name, const Blob& data) {
  const Blob program = ReadGolden(name + ".pte");
  return LoadWith(Source::Copied(program), {Source::Copied(data)});
}

Status Run(const std::string& name, Method* method) {
  runner::Array input = ReadGoldenArray(name + ".input_0.npy");
  XIR_RETURN_IF_ERROR(method->SetInput(0, input.data.data(), input.data.size(), input.shape));
  return method->Execute();
}

void ExpectGolden(const std::string& name, Result<std::unique_ptr<Method>> loaded) {
  if (!loaded.ok()) {
    EXPECT_OK(std::move(loaded).status());
    return;
  }
  EXPECT_OK(Run(name, loaded.value().get()));
  const auto reference = ReadGoldenArray(name + ".output_0.npy");
  const auto* expected = reinterpret_cast<const float*>(reference.data.data());
  const Tensor& output = *loaded.value()->output(0).get<Tensor>();
  EXPECT(output.shape == reference.shape);
  for (int64_t i = 0; i < output.numel(); ++i) {
    EXPECT(std::fabs(output.as<float>()[i] - expected[i]) < 1e-5f);
  }
}

constexpr const char* kPrograms[] = {"stock_external_delegate", "stock_external_portable"};

// The data file with its flatbuffer changed. It grows into a file of its own.
Blob EditData(const Blob& file, const std::function<void(data::FlatTensorT*)>& edit) {
  const auto unpacked = data::UnPackFlatTensor(file.data());
  edit(unpacked.get());
  flatbuffers::FlatBufferBuilder builder;
  data::FinishFlatTensorBuffer(builder, data::CreateFlatTensor(builder, unpacked.get()));
  uint64_t base, size;
  std::memcpy(&base, &file[32], 8);
  std::memcpy(&size, &file[40], 8);
  const auto begin = file.begin() + static_cast<std::ptrdiff_t>(base);
  return WriteDataFile(builder, Blob(begin, begin + static_cast<std::ptrdiff_t>(size)));
}

}  // namespace

XIR_TEST(data_files_of_stock_executorch) {
  for (const std::string name : kPrograms) {
    ExpectGolden(name, LoadExternal(name, ReadGolden(name + ".ptd")));
    ExpectGolden(name, LoadExternal(name, EditData(ReadGolden(name + ".ptd"), [](auto*) {})));
  }
}

XIR_TEST(data_that_is_missing_or_there_twice) {
  for (const std::string name : kPrograms) {
    const Blob program = ReadGolden(name + ".pte");
    const Source data = Source::Path(std::string(XIR_TEST_DATA) + "/" + name + ".ptd");
    EXPECT_ERROR(LoadWith(Source::Copied(program), {}),
                 "apart from it, and no .ptd file was given: ");
    const std::string other_name = name == kPrograms[0] ? kPrograms[1] : kPrograms[0];
    const std::string other = std::string(XIR_TEST_DATA) + "/" + other_name + ".ptd";
    EXPECT_ERROR(LoadWith(Source::Copied(program), {Source::Path(other)}),
                 "are not in '" + other + "': ");
    EXPECT_ERROR(
        LoadWith(Source::Copied(program), {Source::Copied(ReadGolden(other_name + ".ptd"))}),
        "are not in data file 0: ");
    EXPECT_ERROR(LoadWith(Source::Copied(program), {data, data}), "in another data file as well");
    EXPECT_ERROR(LoadWith(Source::Copied(program), {Source::Copied(program)}), "not a .ptd file");
    EXPECT_ERROR(LoadWith(Source::Copied(program), {Source::Path("/none.ptd")}),
                 "data file 0: cannot open '/none.ptd'");
  }
}

XIR_TEST(buffers_begin_with_what_a_data_file_has) {
  const Blob program = EditProgram(ReadGolden("stock_state.pte"), [](program::ProgramT* p) {
    for (const auto& value : p->execution_plan[0]->values) {
      program::TensorT* tensor = value->val.AsTensor();
      if (tensor == nullptr || tensor->extra_tensor_info == nullptr) continue;
      tensor->extra_tensor_info->location = program::TensorDataLocation::External;
      tensor->extra_tensor_info->fully_qualified_name = "count";
    }
  });
  const Blob file = EditData(ReadGolden("stock_external_portable.ptd"), [](data::FlatTensorT* d) {
    d->named_data.resize(1);
    d->named_data[0]->key = "count";
    d->named_data[0]->tensor_layout.reset();
    d->segments[d->named_data[0]->segment_index]->size = 12;
  });
  auto method = LoadWith(Source::Copied(program), {Source::Copied(file)});
  EXPECT_OK(method.ok() ? Status() : std::move(method).status());
  if (!method.ok()) return;
  State& state = *method.value()->state();
  EXPECT(state.buffers().size() == 1 && state.buffers()[0].name == "count");
  float before[3], after[3], zeros[3] = {};
  EXPECT_OK(state.Read("count", before, sizeof(before)));
  EXPECT(before[0] != 5);
  const Shape& shape = method.value()->input(0).get<Tensor>()->shape;
  EXPECT_OK(method.value()->SetInput(0, zeros, sizeof(zeros), shape));
  EXPECT_OK(method.value()->Execute());
  EXPECT_OK(state.Read("count", after, sizeof(after)));
  for (int i = 0; i < 3; ++i) EXPECT(after[i] == before[i] + 1);
  EXPECT_ERROR(LoadWith(Source::Copied(program), {}), "no .ptd file was given: ");
}

XIR_TEST(data_files_are_verified) {
  const std::string name = "stock_external_portable";
  const Blob file = ReadGolden(name + ".ptd");
  const auto load = [&](const std::function<void(data::FlatTensorT*)>& edit) {
    return LoadExternal(name, EditData(file, edit));
  };
  using Data = data::FlatTensorT;
  EXPECT_ERROR(load([](Data* d) { d->version = 3; }), "data version 3");
  EXPECT_ERROR(load([](Data* d) { d->named_data[0]->segment_index = 99; }), "segment 99 does not");
  EXPECT_ERROR(load([](Data* d) { d->segments[0]->offset = UINT64_MAX; }), "leaves the");
  EXPECT_ERROR(load([](Data* d) { d->segments[0]->size = uint64_t{1} << 40; }), "leaves the");
  EXPECT_ERROR(load([](Data* d) { d->named_data[0]->key.clear(); }), "has no key");
  EXPECT_ERROR(load([](Data* d) { d->named_data[1]->key = d->named_data[0]->key; }), "as well");
  EXPECT_ERROR(load([](Data* d) { d->named_data[0]->tensor_layout->sizes[0] = 1 << 30; }),
               "and its layout takes");
  EXPECT_ERROR(load([](Data* d) { d->named_data[0]->tensor_layout->sizes[0] = -1; }), "negative");
  const auto resize = [&](const std::vector<int32_t>& sizes) {
    return load([&](Data* d) {
      d->named_data[0]->tensor_layout->sizes = sizes;
      auto& order = d->named_data[0]->tensor_layout->dim_order;
      order.resize(sizes.size());
      std::iota(order.begin(), order.end(), uint8_t{0});
    });
  };
  EXPECT_ERROR(resize({INT32_MAX, INT32_MAX, INT32_MAX}), "its size in bytes overflows");
  EXPECT_ERROR(load([](Data* d) { d->named_data[0]->tensor_layout->dim_order.assign(2, 0); }),
               "the dimension order is no permutation");
  EXPECT_ERROR(resize({1}), "has another type or shape");
  EXPECT_ERROR(load([](Data* d) {
                 auto& order = d->named_data[0]->tensor_layout->dim_order;
                 std::reverse(order.begin(), order.end());
               }),
               "has another type or shape");
  EXPECT_ERROR(load([](Data* d) { d->segments.clear(); }), "segment 0 does not exist");
  EXPECT_ERROR(load([](Data* d) { d->named_data[0]->tensor_layout->sizes[0] -= 1; }),
               "has another type or shape");
  EXPECT_ERROR(load([](Data* d) { d->named_data[0]->tensor_layout->scalar_type = 3; }),
               "has another type or shape");
  EXPECT_ERROR(load([](Data* d) { d->named_data[0]->tensor_layout->scalar_type = 99; }),
               "element type 99 is unknown");
  EXPECT_ERROR(load([](Data* d) { d->named_data[0]->tensor_layout->dim_order.clear(); }),
               "with a dimension order of 0");
  // Without a layout, the size alone is known.
  const auto shrink = [](Data* d) {
    for (const auto& entry : d->named_data) entry->tensor_layout.reset();
    for (const auto& segment : d->segments) segment->size = 4;
  };
  EXPECT_ERROR(load(shrink), "has 4 bytes, not");
  const auto shift = [](Data* d) {
    for (const auto& entry : d->named_data) entry->tensor_layout.reset();
    for (const auto& segment : d->segments) segment->offset -= segment->offset > 0 ? 2 : 0;
  };
  EXPECT_ERROR(load(shift), "is not aligned to its elements");
}

XIR_TEST(keys_of_data_files_are_not_shared_without_end) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<data::NamedData>> entries;
  for (const auto& key : NestedStrings(&b, 3000)) {
    entries.push_back(data::CreateNamedData(b, key, /*segment_index=*/0));
  }
  const auto segments = b.CreateVector(std::vector{data::CreateDataSegment(b, 0, 4)});
  data::FinishFlatTensorBuffer(
      b, data::CreateFlatTensor(b, /*version=*/0, segments, b.CreateVector(entries)));
  EXPECT_ERROR(LoadExternal("stock_external_portable", WriteDataFile(b, Blob(4))),
               "so much of the file is shared");
}

// Whatever the bytes are: an answer, and no access outside them, which the sanitizers watch.
XIR_TEST(damaged_data_files) {
  std::mt19937 random(7);
  for (const std::string name : kPrograms) {
    const Blob whole = ReadGolden(name + ".ptd");
    size_t refused = 0;
    for (size_t size = 0; size < whole.size(); size += 5) {
      EXPECT(
          !LoadExternal(name, Blob(whole.begin(), whole.begin() + static_cast<long>(size))).ok());
    }
    for (int round = 0; round < 1000; ++round) {
      Blob damaged = whole;
      // Mostly the header and the flatbuffer, where offsets are.
      const size_t range =
          random() % 8 == 0 ? damaged.size() : std::min<size_t>(900, damaged.size());
      const size_t at = random() % range;
      if (random() % 2 == 0) {
        damaged[at] ^= static_cast<uint8_t>(1u << random() % 8);
      } else {
        const uint32_t word = random() % 2 == 0 ? UINT32_MAX - random() % 16 : random() % 2048;
        std::memcpy(&damaged[at / 4 * 4], &word, sizeof(word));
      }
      auto loaded = LoadExternal(name, damaged);
      if (!loaded.ok()) {
        ++refused;
      } else {
        static_cast<void>(Run(name, loaded.value().get()).ok());
      }
    }
    EXPECT(refused > 100);
  }
}

XIR_TEST(programs_from_every_source) {
  const std::string name = "stock_external_delegate";
  const auto directory =
      std::filesystem::temp_directory_path() / ("xir_sources_" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  // Both files in one, at offsets that no page begins at, and at one that is not aligned.
  const Blob program = ReadGolden(name + ".pte"), data = ReadGolden(name + ".ptd");
  Blob package(48, 0xAA);
  package.insert(package.end(), program.begin(), program.end());
  const uint64_t data_at = package.size() + 5;
  package.resize(data_at, 0xBB);
  package.insert(package.end(), data.begin(), data.end());
  package.resize(package.size() + 100, 0xCC);
  const std::string path = (directory / "package").string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(package.data()),
             static_cast<std::streamsize>(package.size()));
  const int file = open(path.c_str(), O_RDONLY);
  {
    auto loaded = LoadWith(Source::Descriptor(file, 48, program.size()),
                           {Source::Descriptor(file, data_at, data.size())});
    EXPECT_ERROR(LoadWith(Source::Descriptor(file, 48, package.size()), {}), "leaves the");
    EXPECT_ERROR(LoadWith(Source::Descriptor(file, package.size()), {}), "leaves the");
    EXPECT_ERROR(LoadWith(Source::Descriptor(-1), {}), "cannot read descriptor -1");
    close(file);
    ExpectGolden(name, std::move(loaded));
  }
  // Borrowed memory that begins anywhere, and that ends with its page.
  for (const size_t shift : {0, 16, 1, 8}) {
    Blob memory(shift + program.size());
    std::copy(program.begin(), program.end(), memory.begin() + static_cast<long>(shift));
    const Bytes bytes(memory.data() + shift, program.size());
    ExpectGolden(name, LoadWith(Source::Borrowed(bytes), {Source::Borrowed(data)}));
  }
  std::filesystem::remove_all(directory);
}

}  // namespace xir::testing
