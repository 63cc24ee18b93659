#include "library_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>

namespace xir::testing {
namespace {

// Of a library's dynamic section, elf(5). The linker has made its addresses absolute.
struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * calls = nullptr;
  size_t calls_size = 0;
};

Dynamic ReadDynamic(const link_map& library) {
  Dynamic dynamic;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        dynamic.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
        break;
      case DT_STRTAB:
        dynamic.names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
        break;
      case DT_JMPREL:
        dynamic.calls = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        dynamic.calls_size = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return dynamic;
}

}  // namespace

bool RedirectCalls(const void* inside, const char* name, void* to) {
  Dl_info object;
  void* found = nullptr;
  if (dladdr1(inside, &object, &found, RTLD_DL_LINKMAP) == 0) return false;
  const auto& library = *static_cast<const link_map*>(found);
  const Dynamic dynamic = ReadDynamic(library);
  bool redirected = false;
  for (size_t i = 0; i < dynamic.calls_size / sizeof(ElfW(Rela)); ++i) {
    const ElfW(Rela)& call = dynamic.calls[i];
    const ElfW(Sym)& symbol = dynamic.symbols[ELF64_R_SYM(call.r_info)];
    if (std::strcmp(dynamic.names + symbol.st_name, name) != 0) continue;
    std::memcpy(reinterpret_cast<void*>(library.l_addr + call.r_offset), &to, sizeof(to));
    redirected = true;
  }
  return redirected;
}

}  // namespace xir::testing
