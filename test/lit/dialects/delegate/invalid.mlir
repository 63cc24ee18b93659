// RUN: xir-opt %s --split-input-file --verify-diagnostics

func.func @types(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error @+1 {{the yielded values must have the types of the results}}
  %0 = delegate.region "xnnpack" : tensor<5xf32> {
    delegate.yield %x : tensor<4xf32>
  }
  func.return %0 : tensor<5xf32>
}

// -----

func.func @arguments(%x: tensor<4xf32>) {
  // expected-error @+1 {{a region reads values from outside directly, its block has no arguments}}
  delegate.region "xnnpack" {
  ^bb0(%a: tensor<4xf32>):
    delegate.yield
  }
  func.return
}

// -----

func.func @end() {
  // expected-error @+1 {{a region must end with delegate.yield}}
  delegate.region "xnnpack" {
    func.return
  }
  func.return
}

// -----

func.func @alone() {
  // expected-error @+1 {{'delegate.yield' expects parent op 'delegate.region'}}
  delegate.yield
}
