// RUN: xir-opt %s --plan-memory=memory-plan=exact --split-input-file --verify-diagnostics | filecheck %s
// RUN: xir-opt %s --plan-memory='memory-plan=exact solver-seconds=1' --split-input-file --verify-diagnostics | filecheck %s
// RUN: not xir-opt %s --plan-memory=memory-plan=best 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not xir-opt %s --plan-memory=solver-seconds=0 2>&1 | filecheck %s --check-prefix=SECONDS

// NONE: expected greedy or exact, got 'best'
// SECONDS: solver-seconds is a number above 0, not 0

// In instruction 3, 160 bytes live. Large tensors first, and tensors in the order of time, both need 176.
// CHECK-LABEL:  pte.execution_plan @above arenas [0, 160] {
pte.program {
  // expected-remark @+1 {{plan-memory: the arena takes 160 bytes, the least there is, instead of 176}}
  pte.execution_plan @above {
    %a = pte.tensor tensor<4xf32>
    %b = pte.tensor tensor<16xf32>
    %c = pte.tensor tensor<8xf32>
    %d = pte.tensor tensor<16xf32>
    %e = pte.tensor tensor<12xf32>
    pte.chain {
      pte.kernel_call "my::a.out" (%c, %c)
      pte.kernel_call "my::b.out" (%a, %a)
      pte.kernel_call "my::b.out" (%a, %a)
      pte.kernel_call "my::c.out" (%c, %e, %d)
      pte.kernel_call "my::d.out" (%a, %d, %b)
    }
    pte.signature inputs (%c) outputs ()
  }
}

// -----

// Nothing is asked where the plan is as small as can be.
// CHECK-LABEL:  pte.execution_plan @least arenas [0, 32] {
// CHECK-NEXT:     %x = pte.tensor tensor<4xf32> planned <1, 0>
// CHECK-NEXT:     %y = pte.tensor tensor<4xf32> planned <1, 16>
pte.program {
  pte.execution_plan @least {
    %x = pte.tensor tensor<4xf32>
    %y = pte.tensor tensor<4xf32>
    pte.chain {
      pte.kernel_call "my::a.out" (%x, %y, %y)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}
