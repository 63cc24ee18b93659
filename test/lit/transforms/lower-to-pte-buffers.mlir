// RUN: xir-opt %s --lower-to-pte --split-input-file --verify-diagnostics | filecheck %s

// What replaces slices is written in place: nothing reads the old value any more.
// CHECK-LABEL:  pte.execution_plan @in_place
// CHECK:          %[[K:.*]] = pte.tensor tensor<8x4xf32> data dense_resource<k> : tensor<8x4xf32> {extra_tensor_info = #pte.extra_tensor_info<"cache.k", 0, 0, 0, 0>}
// CHECK:          pte.chain {
// CHECK-NEXT:       pte.kernel_call "aten::index_put_" (%[[K]], %{{.*}}, %[[X:.*]], %{{.*}}, %[[K]])
// CHECK-NEXT:       pte.kernel_call "aten::index_put_" (%[[K]], %{{.*}}, %[[X]], %{{.*}}, %[[K]])
// CHECK-NEXT:       pte.kernel_call "aten::abs.out" (%[[K]], %[[Y:.*]], %[[Y]])
// CHECK-NEXT:     }
// CHECK-NEXT:     pte.signature inputs (%[[X]], %{{.*}}) outputs (%[[Y]])
func.func @in_place(%x: tensor<1x4xf32>, %at: tensor<1xi64>, %then: tensor<1xi64>) -> tensor<8x4xf32> {
  %k = edge.mutable_buffer "cache.k" dense_resource<k> : tensor<8x4xf32>
  %0 = edge.index_put(%k, [%at], %x) : (tensor<8x4xf32>, tensor<1xi64>, tensor<1x4xf32>) -> tensor<8x4xf32>
  %1 = edge.index_put(%0, [%then], %x) : (tensor<8x4xf32>, tensor<1xi64>, tensor<1x4xf32>) -> tensor<8x4xf32>
  edge.update_buffer %k, %1 : tensor<8x4xf32>
  %y = edge.abs(%1) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}

{-#
  dialect_resources: { builtin: { k: "0x08000000" } }
#-}

// -----

// The old value is read later: the new one has memory of its own, and is copied when all is done.
// CHECK-LABEL:  pte.execution_plan @read_later
// CHECK:          %[[K:.*]] = pte.tensor tensor<2x2xf32> data
// CHECK:          pte.chain {
// CHECK-NEXT:       pte.kernel_call "aten::index_put.out" (%[[K]], %{{.*}}, %{{.*}}, %{{.*}}, %[[NEW:.*]], %[[NEW]])
// CHECK-NEXT:       pte.kernel_call "aten::abs.out" (%[[K]], %[[Y:.*]], %[[Y]])
// CHECK-NEXT:       pte.kernel_call "aten::copy_" (%[[K]], %[[NEW]], %{{.*}}, %[[K]])
func.func @read_later(%x: tensor<1x2xf32>, %at: tensor<1xi64>) -> tensor<2x2xf32> {
  %k = edge.mutable_buffer "k" dense<1.0> : tensor<2x2xf32>
  %0 = edge.index_put(%k, [%at], %x) : (tensor<2x2xf32>, tensor<1xi64>, tensor<1x2xf32>) -> tensor<2x2xf32>
  edge.update_buffer %k, %0 : tensor<2x2xf32>
  %y = edge.abs(%k) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}

// -----

// ExecuTorch's index_put_ takes one vector of positions and whole slices: not a sum, and no value for several places.
// CHECK-LABEL:  pte.execution_plan @not_in_place
// CHECK:            pte.kernel_call "aten::index_put.out" (%[[A:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[SUM:.*]], %[[SUM]])
// CHECK-NEXT:       pte.kernel_call "aten::index_put.out" (%[[B:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[NEW:.*]], %[[NEW]])
// CHECK-NEXT:       pte.kernel_call "aten::copy_" (%[[A]], %[[SUM]], %{{.*}}, %[[A]])
// CHECK-NEXT:       pte.kernel_call "aten::copy_" (%[[B]], %[[NEW]], %{{.*}}, %[[B]])
func.func @not_in_place(%x: tensor<1x2xf32>, %y: tensor<2xf32>, %at: tensor<1xi64>) {
  %a = edge.mutable_buffer "a" dense<1.0> : tensor<2x2xf32>
  %b = edge.mutable_buffer "b" dense<1.0> : tensor<2x2xf32>
  %0 = edge.index_put(%a, [%at], %x) {accumulate = true} : (tensor<2x2xf32>, tensor<1xi64>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %1 = edge.index_put(%b, [%at], %y) : (tensor<2x2xf32>, tensor<1xi64>, tensor<2xf32>) -> tensor<2x2xf32>
  edge.update_buffer %a, %0 : tensor<2x2xf32>
  edge.update_buffer %b, %1 : tensor<2x2xf32>
  func.return
}

// -----

// An op that writes its whole result writes it where the buffer is, once that was read.
// CHECK-LABEL:  pte.execution_plan @shifted
// CHECK:          %[[PAST:.*]] = pte.tensor tensor<2xf32> data
// CHECK:          pte.chain {
// CHECK-NEXT:       pte.kernel_call "aten::cat.out" (%{{.*}}, %{{.*}}, %[[SEEN:.*]], %[[SEEN]])
// CHECK-NEXT:       pte.kernel_call "aten::slice_copy.Tensor_out" (%[[SEEN]], {{.*}}, %[[PAST]], %[[PAST]])
// CHECK-NEXT:     }
// CHECK-NEXT:     pte.signature inputs (%{{.*}}) outputs (%[[SEEN]])
func.func @shifted(%x: tensor<3xf32>) -> tensor<5xf32> {
  %past = edge.mutable_buffer "past" dense<1.0> : tensor<2xf32>
  %seen = edge.cat([%past, %x]) : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %last = edge.slice.Tensor(%seen) {start = -2 : i64} : (tensor<5xf32>) -> tensor<2xf32>
  edge.update_buffer %past, %last : tensor<2xf32>
  func.return %seen : tensor<5xf32>
}

// -----

// What an op reads of the buffer it does not overwrite meanwhile.
// CHECK-LABEL:  pte.execution_plan @counted
// CHECK:            pte.kernel_call "aten::add.Scalar_out" (%[[N:.*]], %{{.*}}, %{{.*}}, %[[NEXT:.*]], %[[NEXT]])
// CHECK-NEXT:       pte.kernel_call "aten::copy_" (%[[N]], %[[NEXT]], %{{.*}}, %[[N]])
func.func @counted() -> tensor<i64> {
  %n = edge.mutable_buffer "n" dense<0> : tensor<i64>
  %next = edge.add.Scalar(%n) {other = 1 : i64} : (tensor<i64>) -> tensor<i64>
  edge.update_buffer %n, %next : tensor<i64>
  func.return %next : tensor<i64>
}

// -----

// The caller gets no memory of a buffer, and buffers may trade values: what is read late goes aside first.
// CHECK-LABEL:  pte.execution_plan @traded
// CHECK:          %[[A:.*]] = pte.tensor tensor<2xf32> data dense<1.000000e+00> : tensor<2xf32>
// CHECK:          %[[B:.*]] = pte.tensor tensor<2xf32> data dense<2.000000e+00> : tensor<2xf32>
// CHECK:          pte.chain {
// CHECK-NEXT:       pte.kernel_call "aten::clone.out" (%[[A]], %{{.*}}, %[[OUT:.*]], %[[OUT]])
// CHECK-NEXT:       pte.kernel_call "aten::clone.out" (%[[B]], %{{.*}}, %[[OLD_B:.*]], %[[OLD_B]])
// CHECK-NEXT:       pte.kernel_call "aten::clone.out" (%[[A]], %{{.*}}, %[[OLD_A:.*]], %[[OLD_A]])
// CHECK-NEXT:       pte.kernel_call "aten::copy_" (%[[A]], %[[OLD_B]], %{{.*}}, %[[A]])
// CHECK-NEXT:       pte.kernel_call "aten::copy_" (%[[B]], %[[OLD_A]], %{{.*}}, %[[B]])
// CHECK-NEXT:     }
// CHECK-NEXT:     pte.signature inputs () outputs (%[[OUT]])
func.func @traded() -> tensor<2xf32> {
  %a = edge.mutable_buffer "a" dense<1.0> : tensor<2xf32>
  %b = edge.mutable_buffer "b" dense<2.0> : tensor<2xf32>
  edge.update_buffer %a, %b : tensor<2xf32>
  edge.update_buffer %b, %a : tensor<2xf32>
  func.return %a : tensor<2xf32>
}

// -----

// One value for two buffers is computed in the memory of the first; a buffer that stays what it is needs nothing.
// CHECK-LABEL:  pte.execution_plan @both
// CHECK:            pte.kernel_call "aten::abs.out" (%{{.*}}, %[[A:.*]], %[[A]])
// CHECK-NEXT:       pte.kernel_call "aten::copy_" (%[[B:.*]], %[[A]], %{{.*}}, %[[B]])
// CHECK-NEXT:     }
func.func @both(%x: tensor<2xf32>) {
  %a = edge.mutable_buffer "a" dense<1.0> : tensor<2xf32>
  %b = edge.mutable_buffer "b" dense<2.0> : tensor<2xf32>
  %c = edge.mutable_buffer "c" dense<3.0> : tensor<2xf32>
  %0 = edge.abs(%x) : (tensor<2xf32>) -> tensor<2xf32>
  edge.update_buffer %a, %0 : tensor<2xf32>
  edge.update_buffer %b, %0 : tensor<2xf32>
  edge.update_buffer %c, %c : tensor<2xf32>
  func.return
}

// -----

// A large buffer of zeros is not stored.
// CHECK-LABEL:  pte.execution_plan @zeros
// CHECK-NEXT:     %{{.*}} = pte.tensor tensor<1024xf32> data dense<0.000000e+00> : tensor<1024xf32> {extra
// CHECK-NEXT:     %{{.*}} = pte.tensor tensor<1025xf32> {extra
// CHECK-NEXT:     %{{.*}} = pte.tensor tensor<1025xf32> data dense<-0.000000e+00> : tensor<1025xf32> {extra
func.func @zeros() {
  %small = edge.mutable_buffer "small" dense<0.0> : tensor<1024xf32>
  %large = edge.mutable_buffer "large" dense<0.0> : tensor<1025xf32>
  %negative = edge.mutable_buffer "negative" dense<-0.0> : tensor<1025xf32>
  func.return
}

// -----

// Zeros are told from one element, however many there are.
// CHECK-LABEL:  pte.execution_plan @many_zeros
// CHECK:          pte.tensor tensor<2147483647x16xf32> {extra
func.func @many_zeros(%x: tensor<1xf32>) -> tensor<1xf32> {
  %k = edge.mutable_buffer "k" dense<0.0> : tensor<2147483647x16xf32>
  %y = edge.abs(%x) : (tensor<1xf32>) -> tensor<1xf32>
  func.return %y : tensor<1xf32>
}
