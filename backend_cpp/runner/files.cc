#include "files.h"

#include <cstdio>
#include <memory>

namespace xir::runner {

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

}  // namespace

Result<std::vector<uint8_t>> ReadFile(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return Fail(Code::kNotFound, "cannot open '", path, "'");
  std::vector<uint8_t> bytes;
  uint8_t block[1 << 14];
  while (const size_t count = std::fread(block, 1, sizeof(block), file.get())) {
    bytes.insert(bytes.end(), block, block + count);
  }
  if (std::ferror(file.get()) != 0) return Fail(Code::kNotFound, "cannot read '", path, "'");
  return bytes;
}

Status WriteFile(const std::string& path, std::string_view header, const void* data, size_t size) {
  const std::string temporary = path + ".tmp";
  File file(std::fopen(temporary.c_str(), "wb"));
  const bool written = file != nullptr &&
                       std::fwrite(header.data(), 1, header.size(), file.get()) == header.size() &&
                       std::fwrite(data, 1, size, file.get()) == size;
  const bool closed = file != nullptr && std::fclose(file.release()) == 0;
  if (!written || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    return Fail(Code::kNotFound, "cannot write '", path, "'");
  }
  return {};
}

}  // namespace xir::runner
