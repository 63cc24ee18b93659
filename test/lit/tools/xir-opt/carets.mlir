// Where a diagnostic points is shown with its line, in each part of a split file.
// RUN: not xir-opt %s --split-input-file 2>&1 | filecheck %s

func.func @fine() {
  func.return
}

// -----

func.func @wrong(%x: i32) -> i64 {
  func.return %x : i32
}

// CHECK:      carets.mlir:11:3: error: 'func.return' op
// CHECK-NEXT: {{^  func.return %x : i32$}}
// CHECK-NEXT: {{^  \^$}}
