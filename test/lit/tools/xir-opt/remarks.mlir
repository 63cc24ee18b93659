// What passes did, missed and found, by filter, as diagnostics and in files.

// RUN: xir-opt --partition-xnnpack --fuse-conv-relu --propagate-layout %s --remarks-filter='.*' 2>&1 >/dev/null | filecheck %s --check-prefix=ALL
// RUN: xir-opt --partition-xnnpack --fuse-conv-relu %s --remarks-filter-passed=fuse-conv-relu 2>&1 >/dev/null | filecheck %s --check-prefix=PASSED
// RUN: xir-opt --partition-xnnpack --fuse-conv-relu %s 2>&1 >/dev/null | filecheck %s --check-prefix=UNASKED
// RUN: xir-opt --partition-xnnpack --fuse-conv-relu %s --remarks-output-file=%t.yaml --remarks-filter-missed='.*' -o %t.mlir && filecheck %s --input-file=%t.yaml --check-prefix=YAML
// RUN: xir-opt --partition-xnnpack --fuse-conv-relu %s --remarks-filter='fuse.*' --remark-format=json --remarks-output-file=- -o %t.mlir | filecheck %s --check-prefix=JSON
// RUN: not xir-opt %s --remarks-filter='(' 2>&1 | filecheck %s --check-prefix=WRONG

// ALL:      remarks.mlir:30:8: remark: [Missed] not-delegated | Category:partition-xnnpack | Function=forward | Backend=xnnpack, BytesMoved=2048, Op=edge.cumsum, Reason="no rule lowers it to XNNPACK", Remark="edge.cumsum not delegated"
// ALL:      remark: [Passed] delegated | Category:partition-xnnpack | Function=forward | BytesInAndOut={{[0-9]+}}, Nodes={{[0-9]+}}, Ops=3, Remark="delegated to xnnpack"
// ALL:      remarks.mlir:28:8: remark: [Passed] fuse-clamp | Category:fuse-conv-relu | Function=forward | Op=xnnpack.clamp, Remark="clamp(move(node))
// ALL:      remarks.mlir:29:8: remark: [Missed] fuse-clamp | Category:fuse-conv-relu | Function=forward | BytesMoved=2048, Reason="the result of xnnpack.conv2d is used without the bounds as well", Remark="xnnpack.clamp is a node of its own"
// ALL:      remark: [Analysis] transpose | Category:propagate-layout | Function=forward | BytesMoved=1536, Remark="transposes tensor<1x3x8x8xf32> between the input of the subgraph and xnnpack.conv2d"

// PASSED-NOT: Missed
// PASSED:     [Passed] fuse-clamp
// PASSED-NOT: remark

// UNASKED-NOT: fuse-conv-relu
// UNASKED:     remarks.mlir:30:8: remark: partition-xnnpack: edge.cumsum not delegated: no rule lowers it to XNNPACK
// UNASKED-NOT: fuse-conv-relu

func.func @forward(%x: tensor<1x3x8x8xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %w = edge.constant dense<0.5> : tensor<4x3x3x3xf32>
  %0 = edge.conv2d(%x, %w, none) {padding = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  // The first bounds are taken, and read by others: the second stay.
  %1 = edge.relu(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = edge.hardtanh(%1) {min_val = 0.0 : f64, max_val = 6.0 : f64} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = edge.cumsum(%1) {dim = 1 : i64} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %2, %3 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}

// YAML:      --- !Missed
// YAML-NEXT: Pass:            partition-xnnpack
// YAML-NEXT: Name:            not-delegated
// YAML-NEXT: DebugLoc:        { File: {{.*}}remarks.mlir{{'?}}, Line: 30, Column: 8 }
// YAML-NEXT: Function:        forward
// YAML-NEXT: Args:
// YAML-NEXT:   - Remark:          edge.cumsum not delegated
// YAML-NEXT:   - Reason:          no rule lowers it to XNNPACK
// YAML-NEXT:   - Op:              edge.cumsum
// YAML-NEXT:   - Backend:         xnnpack
// YAML-NEXT:   - BytesMoved:      '2048'
// YAML-NEXT: ...
// YAML-NEXT: --- !Missed
// YAML-NEXT: Pass:            fuse-conv-relu

// JSON:      "kind": "passed",
// JSON-NEXT: "pass": "fuse-conv-relu",
// JSON-NEXT: "name": "fuse-clamp",
// JSON-NEXT: "function": "forward",
// JSON:      "kind": "missed",
// JSON:      "reason": "the result of xnnpack.conv2d is used without the bounds as well",

// WRONG: xir-opt: error: --remarks-filter: '(' is no regular expression
