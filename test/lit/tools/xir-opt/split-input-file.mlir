// RUN: not xir-opt %s --split-input-file 2>&1 | filecheck %s

// An error in one part is reported with its line in the file, and the other parts are processed.
// CHECK: split-input-file.mlir:16:3: error: 'func.return' op Expected arguments
// CHECK: func.func @first
// CHECK: // -----
// CHECK-NEXT: // -----
// CHECK: func.func @third
func.func @first() {
  func.return
}

// -----

func.func @second() -> i32 {
  func.return
}

// -----

func.func @third() {
  func.return
}
