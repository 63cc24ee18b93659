#include "files.h"

#include <cstdio>
#include <fstream>

namespace xir::runner {

Result<std::vector<uint8_t>> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Fail(Code::kNotFound, "cannot open '", path, "'");
  const auto size = static_cast<std::streamsize>(file.tellg());
  std::vector<uint8_t> bytes(size > 0 ? static_cast<size_t>(size) : 0);
  file.seekg(0);
  if (size < 0 || !file.read(reinterpret_cast<char*>(bytes.data()), size)) {
    return Fail(Code::kNotFound, "cannot read '", path, "'");
  }
  return bytes;
}

Status WriteFile(const std::string& path, std::string_view header, const void* data, size_t size) {
  const std::string temporary = path + ".tmp";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << header;
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    return Fail(Code::kNotFound, "cannot write '", path, "'");
  }
  return {};
}

}  // namespace xir::runner
