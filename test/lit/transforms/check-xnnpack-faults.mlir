// RUN: xir-opt %s --split-input-file --avoid-xnnpack-faults --check-xnnpack --verify-diagnostics

// A number gives the result dimensions that a table of the chain would not have, and no reshape can give them in front
// of it, since two sizes are open: the node is refused, as each graph is that comes without `avoid-xnnpack-faults`.
!q = !quant.uniform<i8:f32, 0.5>
func.func @refused(%x: tensor<?x?xi8> {xir.max_shape = array<i64: 4, 4>}) -> tensor<1x?x?xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<?x?xi8>) -> tensor<1x?x?xi8> {
  ^bb0(%a: tensor<?x?x!q>):
    %c = xnnpack.constant dense<1> : tensor<1x1x1xi8> -> tensor<1x1x1x!q>
    // expected-error @+1 {{XNNPACK computes it wrong: it turns the node into a table, whose result lacks the dimensions that a constant adds}}
    %b = xnnpack.binary add %a, %c : tensor<?x?x!q>, tensor<1x1x1x!q> -> tensor<1x?x?x!q>
    %z = xnnpack.unary abs %b : tensor<1x?x?x!q> -> tensor<1x?x?x!q>
    xnnpack.yield %z : tensor<1x?x?x!q>
  }
  func.return %0 : tensor<1x?x?xi8>
}

// -----

// With one it gets them there.
!q = !quant.uniform<i8:f32, 0.5>
func.func @mended(%x: tensor<?x2xi8> {xir.max_shape = array<i64: 4, 2>}) -> tensor<1x?x2xi8> {
  %0 = xnnpack.subgraph(%x) : (tensor<?x2xi8>) -> tensor<1x?x2xi8> {
  ^bb0(%a: tensor<?x2x!q>):
    %c = xnnpack.constant dense<1> : tensor<1x1x1xi8> -> tensor<1x1x1x!q>
    %b = xnnpack.binary add %a, %c : tensor<?x2x!q>, tensor<1x1x1x!q> -> tensor<1x?x2x!q>
    %z = xnnpack.unary abs %b : tensor<1x?x2x!q> -> tensor<1x?x2x!q>
    xnnpack.yield %z : tensor<1x?x2x!q>
  }
  func.return %0 : tensor<1x?x2xi8>
}
