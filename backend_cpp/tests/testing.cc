#include "testing.h"

#include <cstdio>
#include <cstring>
#include <filesystem>

namespace xir::testing {
namespace {

Test* g_tests = nullptr;
int g_failures = 0;

}  // namespace

Test::Test(const char* test_name, void (*test_run)())
    : name(test_name), run(test_run), next(g_tests) {
  g_tests = this;
}

void Report(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  ++g_failures;
}

bool FailsWith(const Status& status, std::string_view text) {
  return !status.ok() && status.message().find(text) != std::string::npos;
}

std::string TemporaryPattern(const std::string& name) {
  return (std::filesystem::temp_directory_path() / (name + "_XXXXXX")).string();
}

}  // namespace xir::testing

// Runs every test, or those whose name contains the argument.
int main(int argc, char** argv) {
  int ran = 0;
  for (auto* test = xir::testing::g_tests; test != nullptr; test = test->next) {
    if (argc > 1 && std::strstr(test->name, argv[1]) == nullptr) continue;
    const int before = xir::testing::g_failures;
    test->run();
    ++ran;
    if (xir::testing::g_failures > before) std::fprintf(stderr, "FAILED %s\n", test->name);
  }
  std::printf("%d tests, %d failed expectations\n", ran, xir::testing::g_failures);
  return ran == 0 || xir::testing::g_failures > 0 ? 1 : 0;
}
