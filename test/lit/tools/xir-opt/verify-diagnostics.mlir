// Every kind of expectation, met.
// RUN: xir-opt %s --split-input-file --verify-diagnostics

// expected-error @above {{does not exist}} is no expectation: text follows it.
func.func @clean() {
  func.return
}

// -----

// expected-error @+2 {{'func.return' op Expected arguments}}

func.func @counted() -> i32 { func.return }

// -----

// expected-error @below {{'func.return' op Expected arguments}}
func.func @below() -> i32 { func.return }

// -----

func.func @above() -> i32 { func.return }
// expected-error @above {{'func.return' op Expected arguments}}

// -----

func.func @minus() -> i32 { func.return }

// expected-error @-2 {{op Expected}}

// -----

func.func @same_line() -> i32 { func.return } // expected-error {{'func.return'}}

// -----

// expected-error-re @+1 {{'{{[a-z]+}}.return' op Expected arguments {{.*}} got []}}
func.func @regex() -> i32 { func.return }

// -----

func.func @notes(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{does not dominate}}
  %1 = edge.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @+1 {{operand defined here}}
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// expected-error @unknown {{'func.return' op}}
func.func @elsewhere() -> i32 {
  func.return loc(unknown)
}
