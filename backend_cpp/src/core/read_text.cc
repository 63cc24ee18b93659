#include "core/read_text.h"

#include <cstdio>
#include <memory>

namespace xir {

std::string ReadText(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  std::string text;
  char block[4096];
  size_t count = 0;
  while (file != nullptr && (count = std::fread(block, 1, sizeof(block), file.get())) > 0) {
    text.append(block, count);
  }
  return text;
}

}  // namespace xir
