// RUN: xir-opt %s --plan-memory='alloc-inputs=false' | filecheck %s --check-prefix=INPUTS
// RUN: xir-opt %s --plan-memory='alloc-outputs=false' | filecheck %s --check-prefix=OUTPUTS
// RUN: xir-opt %s --plan-memory='alloc-inputs=false alloc-outputs=false' | filecheck %s --check-prefix=BOTH

// INPUTS-LABEL:  pte.execution_plan @forward arenas [0, 32] {
// INPUTS-NEXT:     %x = pte.tensor tensor<4xf32>{{$}}
// INPUTS-NEXT:     %a = pte.tensor tensor<4xf32> planned <1, 0>
// INPUTS-NEXT:     %y = pte.tensor tensor<4xf32> planned <1, 16>
// OUTPUTS-LABEL: pte.execution_plan @forward arenas [0, 32] {
// OUTPUTS-NEXT:    %x = pte.tensor tensor<4xf32> planned <1, 0>
// OUTPUTS-NEXT:    %a = pte.tensor tensor<4xf32> planned <1, 16>
// OUTPUTS-NEXT:    %y = pte.tensor tensor<4xf32>{{$}}
// BOTH-LABEL:    pte.execution_plan @forward arenas [0, 16] {
// BOTH-NEXT:       %x = pte.tensor tensor<4xf32>{{$}}
// BOTH-NEXT:       %a = pte.tensor tensor<4xf32> planned <1, 0>
// BOTH-NEXT:       %y = pte.tensor tensor<4xf32>{{$}}
pte.program {
  pte.execution_plan @forward {
    %x = pte.tensor tensor<4xf32>
    %a = pte.tensor tensor<4xf32>
    %y = pte.tensor tensor<4xf32>
    pte.chain {
      pte.kernel_call "my::a.out" (%x, %a, %a)
      pte.kernel_call "my::b.out" (%a, %y, %y)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}
