// RUN: xir-opt %s --lower-to-pte --split-input-file --verify-diagnostics | filecheck %s

// Both branches compute into the result; what one only hands on is copied.
// Written by scripts/update_lit.py:
// CHECK-LABEL: pte.execution_plan @choice attributes {encoded_inp_str = "T2#2#0(T2#1#1($,$),D0())", encoded_out_str = "T1#1($)"} {
// CHECK-NEXT:    %[[V0:.*]] = pte.tensor tensor<i1>
// CHECK-NEXT:    %[[V1:.*]] = pte.tensor tensor<4xf32>
// CHECK-NEXT:    %[[V2:.*]] = pte.tensor tensor<4xf32>
// CHECK-NEXT:    %[[V3:.*]] = pte.bool false
// CHECK-NEXT:    %[[V4:.*]] = pte.null
// CHECK-NEXT:    pte.chain {
// CHECK-NEXT:      pte.jump_false %[[V0]] to 3 : !pte.tensor
// CHECK-NEXT:      pte.kernel_call "aten::abs.out" (%[[V1]], %[[V2]], %[[V2]])
// CHECK-NEXT:      pte.jump_false %[[V3]] to 4 : !pte.bool
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V1]], %[[V4]], %[[V2]], %[[V2]])
// CHECK-NEXT:    }
// CHECK-NEXT:    pte.signature inputs (%[[V0]], %[[V1]]) outputs (%[[V2]])
// CHECK-NEXT:  }
func.func @choice(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.cond %p then @yes else @no(%x) : tensor<i1>, (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @yes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @no(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// -----

// A row is written in the loop's memory, the two others change places: one of them goes aside.
// Written by scripts/update_lit.py:
// CHECK-LABEL: pte.execution_plan @loop attributes {encoded_inp_str = "T2#4#0(T4#1#1#1#1($,$,$,$),D0())", encoded_out_str = "T2#1#1($,$)"} {
// CHECK-NEXT:    %[[V0:.*]] = pte.tensor tensor<1xi64>
// CHECK-NEXT:    %[[V1:.*]] = pte.tensor tensor<1x4xf32>
// CHECK-NEXT:    %[[V2:.*]] = pte.tensor tensor<1x4xf32>
// CHECK-NEXT:    %[[V3:.*]] = pte.tensor tensor<8x4xf32>
// CHECK-NEXT:    %[[V4:.*]] = pte.tensor tensor<1xi64>
// CHECK-NEXT:    %[[V5:.*]] = pte.tensor tensor<1x4xf32>
// CHECK-NEXT:    %[[V6:.*]] = pte.tensor tensor<1x4xf32>
// CHECK-NEXT:    %[[V7:.*]] = pte.tensor tensor<8x4xf32>
// CHECK-NEXT:    %[[V8:.*]] = pte.null
// CHECK-NEXT:    %[[V9:.*]] = pte.int 8
// CHECK-NEXT:    %[[V10:.*]] = pte.tensor tensor<1xi1>
// CHECK-NEXT:    %[[V11:.*]] = pte.optional_tensor_list (%[[V4]]) present array<i1: true>
// CHECK-NEXT:    %[[V12:.*]] = pte.bool false
// CHECK-NEXT:    %[[V13:.*]] = pte.int 1
// CHECK-NEXT:    %[[V14:.*]] = pte.tensor tensor<1xi64>
// CHECK-NEXT:    %[[V15:.*]] = pte.tensor tensor<1x4xf32>
// CHECK-NEXT:    %[[V16:.*]] = pte.tensor tensor<1x4xf32>
// CHECK-NEXT:    pte.chain {
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V0]], %[[V8]], %[[V4]], %[[V4]])
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V1]], %[[V8]], %[[V5]], %[[V5]])
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V2]], %[[V8]], %[[V6]], %[[V6]])
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V3]], %[[V8]], %[[V7]], %[[V7]])
// CHECK-NEXT:      pte.kernel_call "aten::lt.Scalar_out" (%[[V4]], %[[V9]], %[[V10]], %[[V10]])
// CHECK-NEXT:      pte.jump_false %[[V10]] to 14 : !pte.tensor
// CHECK-NEXT:      pte.kernel_call "aten::index_put_" (%[[V7]], %[[V11]], %[[V5]], %[[V12]], %[[V7]])
// CHECK-NEXT:      pte.kernel_call "aten::add.Scalar_out" (%[[V4]], %[[V13]], %[[V13]], %[[V14]], %[[V14]])
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V6]], %[[V8]], %[[V15]], %[[V15]])
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V5]], %[[V8]], %[[V16]], %[[V16]])
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V14]], %[[V8]], %[[V4]], %[[V4]])
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V15]], %[[V8]], %[[V5]], %[[V5]])
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V16]], %[[V8]], %[[V6]], %[[V6]])
// CHECK-NEXT:      pte.jump_false %[[V12]] to 4 : !pte.bool
// CHECK-NEXT:    }
// CHECK-NEXT:    pte.signature inputs (%[[V0]], %[[V1]], %[[V2]], %[[V3]]) outputs (%[[V5]], %[[V7]])
// CHECK-NEXT:  }
func.func @loop(%i: tensor<1xi64>, %a: tensor<1x4xf32>, %b: tensor<1x4xf32>, %rows: tensor<8x4xf32>)
    -> (tensor<1x4xf32>, tensor<8x4xf32>) {
  %0, %1, %2, %3 = edge.while_loop while @goes_on do @step(%i, %a, %b, %rows) with()
    : (tensor<1xi64>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<8x4xf32>), ()
      -> (tensor<1xi64>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<8x4xf32>)
  func.return %1, %3 : tensor<1x4xf32>, tensor<8x4xf32>
}
func.func private @goes_on(%i: tensor<1xi64>, %a: tensor<1x4xf32>, %b: tensor<1x4xf32>, %rows: tensor<8x4xf32>)
    -> tensor<1xi1> {
  %0 = edge.lt.Scalar(%i) {other = 8 : i64} : (tensor<1xi64>) -> tensor<1xi1>
  func.return %0 : tensor<1xi1>
}
func.func private @step(%i: tensor<1xi64>, %a: tensor<1x4xf32>, %b: tensor<1x4xf32>, %rows: tensor<8x4xf32>)
    -> (tensor<1xi64>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<8x4xf32>) {
  %0 = edge.index_put(%rows, [%i], %a) : (tensor<8x4xf32>, tensor<1xi64>, tensor<1x4xf32>) -> tensor<8x4xf32>
  %1 = edge.add.Scalar(%i) {other = 1 : i64} : (tensor<1xi64>) -> tensor<1xi64>
  func.return %1, %b, %a, %0 : tensor<1xi64>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<8x4xf32>
}

// -----

// A body may compute in the loop's memory what it carries, but not where it reads that at the end.
// Written by scripts/update_lit.py:
// CHECK-LABEL: pte.execution_plan @carried attributes {encoded_inp_str = "T2#2#0(T2#1#1($,$),D0())", encoded_out_str = "T1#1($)"} {
// CHECK-NEXT:    %[[V0:.*]] = pte.tensor tensor<4xf32>
// CHECK-NEXT:    %[[V1:.*]] = pte.tensor tensor<4xf32>
// CHECK-NEXT:    %[[V2:.*]] = pte.tensor tensor<4xf32>
// CHECK-NEXT:    %[[V3:.*]] = pte.tensor tensor<4xf32>
// CHECK-NEXT:    %[[V4:.*]] = pte.null
// CHECK-NEXT:    %[[V5:.*]] = pte.tensor tensor<i1>
// CHECK-NEXT:    %[[V6:.*]] = pte.tensor tensor<4xf32>
// CHECK-NEXT:    %[[V7:.*]] = pte.bool false
// CHECK-NEXT:    pte.chain {
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V0]], %[[V4]], %[[V2]], %[[V2]])
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V1]], %[[V4]], %[[V3]], %[[V3]])
// CHECK-NEXT:      pte.kernel_call "aten::any.all_out" (%[[V2]], %[[V5]], %[[V5]])
// CHECK-NEXT:      pte.jump_false %[[V5]] to 8 : !pte.tensor
// CHECK-NEXT:      pte.kernel_call "aten::abs.out" (%[[V3]], %[[V6]], %[[V6]])
// CHECK-NEXT:      pte.kernel_call "aten::neg.out" (%[[V2]], %[[V3]], %[[V3]])
// CHECK-NEXT:      pte.kernel_call "aten::clone.out" (%[[V6]], %[[V4]], %[[V2]], %[[V2]])
// CHECK-NEXT:      pte.jump_false %[[V7]] to 2 : !pte.bool
// CHECK-NEXT:    }
// CHECK-NEXT:    pte.signature inputs (%[[V0]], %[[V1]]) outputs (%[[V2]])
// CHECK-NEXT:  }
func.func @carried(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0, %1 = edge.while_loop while @goes_on do @step(%x, %y) with()
    : (tensor<4xf32>, tensor<4xf32>), () -> (tensor<4xf32>, tensor<4xf32>)
  func.return %0 : tensor<4xf32>
}
func.func private @goes_on(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<i1> {
  %0 = edge.any(%x) : (tensor<4xf32>) -> tensor<i1>
  func.return %0 : tensor<i1>
}
func.func private @step(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = edge.abs(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{there is no function to lower}}
builtin.module {
  func.func private @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
    func.return %x : tensor<4xf32>
  }
}
