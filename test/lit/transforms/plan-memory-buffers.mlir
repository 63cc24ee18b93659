// RUN: xir-opt %s --plan-memory --split-input-file --verify-diagnostics | filecheck %s

// Mutable buffers have an arena of their own, none shares bytes with another, and each has one place in all plans.
// CHECK-LABEL:  pte.execution_plan @first arenas [0, 32, 64] {
// CHECK:          %k = pte.tensor tensor<5xf32> planned <2, 0> {extra
// CHECK-NEXT:     %{{.*}} = pte.tensor tensor<i64> planned <2, 32> data dense<7> : tensor<i64> {extra
// CHECK-LABEL:  pte.execution_plan @second arenas [0, 0, 64] {
// CHECK:          %{{.*}} = pte.tensor tensor<i64> planned <2, 32> data dense<7> : tensor<i64> {extra
// CHECK-NEXT:     %{{.*}} = pte.tensor tensor<2xf32> planned <2, 48> {extra
// CHECK-LABEL:  pte.execution_plan @without arenas [0, 16] {
pte.program {
  pte.execution_plan @first {
    %x = pte.tensor tensor<4xf32>
    %y = pte.tensor tensor<4xf32>
    %k = pte.tensor tensor<5xf32> {extra_tensor_info = #pte.extra_tensor_info<"k", 0, 0, 0, 0>}
    %n = pte.tensor tensor<i64> data dense<7> : tensor<i64> {extra_tensor_info = #pte.extra_tensor_info<"n", 0, 0, 0, 0>}
    pte.chain {
      pte.kernel_call "my::a.out" (%x, %k, %y, %y)
      pte.kernel_call "my::b.out" (%n, %n)
    }
    pte.signature inputs (%x) outputs (%y)
  }
  pte.execution_plan @second {
    %n = pte.tensor tensor<i64> data dense<7> : tensor<i64> {extra_tensor_info = #pte.extra_tensor_info<"n", 0, 0, 0, 0>}
    %m = pte.tensor tensor<2xf32> {extra_tensor_info = #pte.extra_tensor_info<"m", 0, 0, 0, 0>}
    pte.chain {
      pte.kernel_call "my::b.out" (%n, %m, %m)
    }
    pte.signature inputs () outputs ()
  }
  pte.execution_plan @without {
    %x = pte.tensor tensor<4xf32>
    pte.chain {
    }
    pte.signature inputs (%x) outputs (%x)
  }
}

// -----

pte.program {
  pte.execution_plan @first {
    %n = pte.tensor tensor<i64> data dense<7> : tensor<i64> {extra_tensor_info = #pte.extra_tensor_info<"n", 0, 0, 0, 0>}
    pte.chain {
    }
    pte.signature inputs () outputs ()
  }
  pte.execution_plan @second {
    // expected-error @+1 {{the mutable buffer 'n' has another type or initial value elsewhere}}
    %n = pte.tensor tensor<i64> data dense<8> : tensor<i64> {extra_tensor_info = #pte.extra_tensor_info<"n", 0, 0, 0, 0>}
    pte.chain {
    }
    pte.signature inputs () outputs ()
  }
}
