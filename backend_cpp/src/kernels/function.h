// Function objects for elementwise kernels, a line each.
#pragma once

#define XIR_UNARY_FUNCTION(Name, expression) \
  struct Name {                              \
    template <typename T>                    \
    auto operator()(T x) const {             \
      return expression;                     \
    }                                        \
  }

#define XIR_BINARY_FUNCTION(Name, expression) \
  struct Name {                               \
    template <typename T>                     \
    auto operator()(T a, T b) const {         \
      return expression;                      \
    }                                         \
  }
