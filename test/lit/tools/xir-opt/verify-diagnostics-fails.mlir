// What is not as expected is an error.
// RUN: not xir-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s
// RUN: not xir-opt %s --split-input-file --verify-diagnostics=only-expected 2>&1 | filecheck %s --check-prefix=ONLY

// ONLY-NOT: unexpected

// CHECK: :10:4: error: expected error "never happens" was not produced
// ONLY: :10:4: error: expected error "never happens" was not produced
// The next line is the target.
// expected-error @+1 {{never happens}}
func.func @clean() {
  func.return
}

// -----

// CHECK-NEXT: :20:3: error: unexpected error: 'func.return' op Expected
func.func @unexpected() -> i32 {
  // Nothing says so.
  func.return
}

// -----

// CHECK-NEXT: :29:34: error: unexpected error: 'func.return' op Expected
// CHECK-NEXT: :28:4: error: expected warning "'func.return' op Expected" was not produced
// ONLY-NEXT: :28:4: error: expected warning "'func.return' op Expected" was not produced
// expected-warning @+1 {{'func.return' op Expected}}
func.func @other_kind() -> i32 { func.return }

// -----

// CHECK-NEXT: :37:34: error: unexpected error: 'func.return' op Expected
// CHECK-NEXT: :36:4: error: expected error "'func.return' op Expected" was not produced
// ONLY-NEXT: :36:4: error: expected error "'func.return' op Expected" was not produced
// expected-error @+2 {{'func.return' op Expected}}
func.func @other_line() -> i32 { func.return }

// -----

// Two expectations need two diagnostics.
// CHECK-NEXT: :45:4: error: expected error "'func.return' op Expected" was not produced
// ONLY-NEXT: :45:4: error: expected error "'func.return' op Expected" was not produced
// expected-error @+2 {{'func.return' op Expected}}
// expected-error @+1 {{'func.return' op Expected}}
func.func @twice() -> i32 { func.return }
