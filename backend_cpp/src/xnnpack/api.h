// XNNPACK's C API, as far as this backend calls it.
//
// With XIR_LINK_XNNPACK it is XNNPACK's own header. Otherwise no XNNPACK is needed to build: the
// facts are ours (api_facts.h, api_functions.h), and every function is an inline call through a
// table that loader.cc fills with dlsym. All other code calls plain xnn_*.
#pragma once

#include "xnnpack/api_functions.h"

#ifdef XIR_LINK_XNNPACK
#include <pthreadpool.h>
#include <xnnpack.h>

// A cast to other parameters than the header's does not compile. Without the header, a call with
// the wrong ones would go unnoticed.
#define XIR_COMPARE(result, name, parameters, arguments) \
  static_assert(sizeof(static_cast<result(*) parameters>(&name)) > 0);
XIR_XNNPACK_FUNCTIONS(XIR_COMPARE)
#undef XIR_COMPARE

// Where a function of XNNPACK's is.
#define XIR_XNNPACK_ADDRESS(name) (&::name)
#else

#define XIR_XNNPACK_ADDRESS(name) (::xir::g_xnnpack.name)

#include "xnnpack/api_facts.h"

namespace xir {

// One pointer a function; all set once LoadXnnpack has succeeded.
struct XnnpackFunctions {
#define XIR_DECLARE_POINTER(result, name, parameters, arguments) result(*name) parameters = nullptr;
  XIR_XNNPACK_FUNCTIONS(XIR_DECLARE_POINTER)
#undef XIR_DECLARE_POINTER
};
extern XnnpackFunctions g_xnnpack;

}  // namespace xir

// C++ linkage on purpose: were these the C symbols themselves, the library's own calls could bind
// to them.
#define XIR_DEFINE_CALL(result, name, parameters, arguments) \
  inline result name parameters { return ::xir::g_xnnpack.name arguments; }
XIR_XNNPACK_FUNCTIONS(XIR_DEFINE_CALL)
#undef XIR_DEFINE_CALL

#endif  // XIR_LINK_XNNPACK
