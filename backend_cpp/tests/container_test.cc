#include "verify/container.h"

#include <cstring>

#include "golden.h"
#include "testing.h"

namespace xir::testing {
namespace {

Blob WithUint64(Blob file, size_t at, uint64_t value) {
  std::memcpy(file.data() + at, &value, sizeof(value));
  return file;
}

Blob WithUint32(Blob file, size_t at, uint32_t value) {
  std::memcpy(file.data() + at, &value, sizeof(value));
  return file;
}

}  // namespace

XIR_TEST(container_bounds) {
  const Blob file = ReadGolden("stock_small.pte");
  EXPECT_OK(ReadContainer(file));
  EXPECT_ERROR(ReadContainer(Bytes(file.data(), 40)), "too few for a .pte program");
  Blob other = file;
  other[4] = 'X';
  EXPECT_ERROR(ReadContainer(other), "not a .pte program");
  std::memcpy(other.data() + 4, "BP08", 4);
  EXPECT_ERROR(ReadContainer(other), "a bundled program");
  EXPECT_ERROR(ReadContainer(WithUint64(file, 16, file.size() + 1)), "may be truncated");
  EXPECT_ERROR(ReadContainer(WithUint64(file, 16, 8)), "header claims 8 bytes");
  EXPECT_ERROR(ReadContainer(WithUint64(file, 24, file.size() + 1)), "places the segments");
  EXPECT_ERROR(ReadContainer(WithUint64(file, 24, 1)), "places the segments");
  EXPECT_ERROR(ReadContainer(WithUint64(file, 24, UINT64_MAX)), "places the segments");
  EXPECT_ERROR(ReadContainer(WithUint64(file, 32, UINT64_MAX)), "bytes of segments");
  EXPECT_ERROR(ReadContainer(Bytes(file.data(), file.size() - 1)), "may be truncated");
  EXPECT_ERROR(ReadContainer(WithUint32(file, 12, 8)), "claims a length of 8");
  EXPECT_ERROR(ReadContainer(WithUint32(file, 12, UINT32_MAX)), "claims a length of 4294967295");
  // A header that ends before it says how large the segments are.
  const auto shorter = ReadContainer(WithUint32(WithUint64(file, 32, UINT64_MAX), 12, 24));
  EXPECT(shorter.ok() &&
         shorter.value().segments.size() == ReadContainer(file).value().segments.size());
}

XIR_TEST(data_container_bounds) {
  const Blob file = ReadGolden("stock_external_portable.ptd");
  EXPECT_OK(ReadDataContainer(file));
  EXPECT_ERROR(ReadDataContainer(WithUint32(file, 12, 39)), "claims a length of 39");
  EXPECT_ERROR(ReadDataContainer(WithUint64(WithUint64(file, 16, 0), 24, 16)), "[0, +16)");
}

XIR_TEST(container_without_header) {
  Blob file = ReadGolden("stock_small.pte");
  file[8] = 'x';
  const auto container = ReadContainer(file);
  EXPECT(container.ok() && container.value().program.size() == file.size() &&
         container.value().segments.empty());
}

XIR_TEST(delegate_blob_bounds) {
  Blob blob(96, 0);
  std::memcpy(blob.data() + 4, "XH00", 4);
  const auto header = [&](uint32_t graph, uint32_t graph_size, uint32_t data, uint64_t data_size) {
    std::memcpy(blob.data() + 10, &graph, 4);
    std::memcpy(blob.data() + 14, &graph_size, 4);
    std::memcpy(blob.data() + 18, &data, 4);
    std::memcpy(blob.data() + 22, &data_size, 8);
    return ReadDelegateBlob(blob);
  };
  const auto valid = header(32, 32, 64, 32);
  EXPECT(valid.ok() && valid.value().graph.size() == 32 &&
         valid.value().constant_data.size() == 32);
  EXPECT_ERROR(header(32, 65, 97, 0), "places its graph");
  EXPECT_ERROR(header(32, 4, 64, 0), "places its graph");
  EXPECT_ERROR(header(0, 32, 64, 0), "places its graph");
  EXPECT_ERROR(header(UINT32_MAX, UINT32_MAX, 64, 0), "places its graph");
  EXPECT_ERROR(header(32, 32, 48, 8), "places its constants");
  EXPECT_ERROR(header(32, 32, 64, 33), "places its constants");
  EXPECT_ERROR(header(32, 32, 64, UINT64_MAX), "places its constants");
  EXPECT_ERROR(ReadDelegateBlob(Bytes(blob.data(), 20)), "ends within its header");
  blob[4] = 'Y';
  EXPECT(ReadDelegateBlob(blob).value().graph.size() == blob.size());
}

}  // namespace xir::testing
