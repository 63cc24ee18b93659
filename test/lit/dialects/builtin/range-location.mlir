// A range of a file, as newer versions of MLIR write it, is its start.
// RUN: xir-opt %s --mlir-print-debuginfo | filecheck %s

// CHECK: func.return loc("a.py":1:2)
func.func @line() {
  func.return loc("a.py":1:2 to :9)
}
// CHECK: func.return loc("a.py":1:2)
func.func @lines() {
  func.return loc("a.py":1:2 to 3:4)
}
