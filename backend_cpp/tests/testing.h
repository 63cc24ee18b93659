// A test harness of the few things that these tests need.
#pragma once

#include <string>
#include <string_view>

#include "xir/status.h"

namespace xir::testing {

struct Test {
  Test(const char* name, void (*run)());
  const char* name;
  void (*run)();
  Test* next;
};

// Reports a failed expectation at the line that states it; the test goes on.
void Report(const char* file, int line, const std::string& what);

inline Status ToStatus(Status status) { return status; }
template <typename T>
Status ToStatus(Result<T> result) {
  return std::move(result).status();
}

// Whether a failure's message has `text` in it.
bool FailsWith(const Status& status, std::string_view text);

// What mkstemp and mkdtemp complete, where the system keeps temporary files.
std::string TemporaryPattern(const std::string& name);

}  // namespace xir::testing

#define XIR_TEST(name)                                                \
  static void XirTest_##name();                                       \
  static ::xir::testing::Test xir_test_##name(#name, XirTest_##name); \
  static void XirTest_##name()

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) ::xir::testing::Report(__FILE__, __LINE__, #condition); \
  } while (false)

#define EXPECT_OK(expression)                                                         \
  do {                                                                                \
    const ::xir::Status xir_got = ::xir::testing::ToStatus(expression);               \
    if (!xir_got.ok()) ::xir::testing::Report(__FILE__, __LINE__, xir_got.message()); \
  } while (false)

#define EXPECT_ERROR(expression, text)                                                     \
  do {                                                                                     \
    const ::xir::Status xir_got = ::xir::testing::ToStatus(expression);                    \
    if (!::xir::testing::FailsWith(xir_got, text)) {                                       \
      ::xir::testing::Report(__FILE__, __LINE__,                                           \
                             std::string("wanted an error with '") + (text) + "', got " +  \
                                 (xir_got.ok() ? "none" : "'" + xir_got.message() + "'")); \
    }                                                                                      \
  } while (false)
