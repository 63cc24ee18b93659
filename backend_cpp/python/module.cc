// xir.runtime._native: the C++ API for Python, on NumPy arrays. The exception is the only thing
// that Python adds; the runtime below does not throw.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "check_graph.h"
#include "errors.h"
#include "kernels/registry.h"
#include "method.h"
#include "profile.h"
#include "program.h"
#include "state.h"
#include "xir/random.h"

PYBIND11_MODULE(_native, m) {
  m.doc() = "The C++ runtime; use xir.runtime.";
  xir::python::AddErrors(&m);
  xir::python::AddState(&m);
  xir::python::AddProfile(&m);
  xir::python::AddMethod(&m);
  xir::python::AddProgram(&m);
  xir::python::AddCheckGraph(&m);
  m.def("portable_kernels", &xir::PortableKernelNames);
  m.def("manual_seed", &xir::SeedRandom, pybind11::arg("seed"));
}
