// RUN: xir-opt %s --plan-memory --split-input-file --verify-diagnostics | filecheck %s

// %a and %y share bytes, and so do %x and %b: neither pair is alive at once. %a and %b are, in instruction 1.
// CHECK-LABEL:  pte.execution_plan @reuse arenas [0, 64] {
// CHECK-NEXT:     %x = pte.tensor tensor<4xf32> planned <1, 32>
// CHECK-NEXT:     %a = pte.tensor tensor<8xf32> planned <1, 0>
// CHECK-NEXT:     %b = pte.tensor tensor<8xf32> planned <1, 32>
// CHECK-NEXT:     %y = pte.tensor tensor<4xf32> planned <1, 0>
pte.program {
  pte.execution_plan @reuse {
    %x = pte.tensor tensor<4xf32>
    %a = pte.tensor tensor<8xf32>
    %b = pte.tensor tensor<8xf32>
    %y = pte.tensor tensor<4xf32>
    pte.chain {
      pte.kernel_call "my::a.out" (%x, %a, %a)
      pte.kernel_call "my::b.out" (%a, %b, %b)
      pte.kernel_call "my::c.out" (%b, %y, %y)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}

// -----

// An input that is read late, and an output that is written early, keep their bytes to themselves.
// CHECK-LABEL:  pte.execution_plan @late_and_early arenas [0, 48] {
// CHECK-NEXT:     %x = pte.tensor tensor<4xf32> planned <1, 0>
// CHECK-NEXT:     %y = pte.tensor tensor<4xf32> planned <1, 16>
// CHECK-NEXT:     %z = pte.tensor tensor<4xf32> planned <1, 32>
pte.program {
  pte.execution_plan @late_and_early {
    %x = pte.tensor tensor<4xf32>
    %y = pte.tensor tensor<4xf32>
    %z = pte.tensor tensor<4xf32>
    pte.chain {
      pte.kernel_call "my::a.out" (%y, %y)
      pte.kernel_call "my::b.out" (%x, %z, %z)
    }
    pte.signature inputs (%x) outputs (%y, %z)
  }
}

// -----

// Offsets are multiples of 16, and a delegate may read 64 bytes past the end of the arena.
// CHECK-LABEL:  pte.execution_plan @delegate arenas [0, 96] {
// CHECK:          %x = pte.tensor tensor<3xi8> planned <1, 0>
// CHECK-NEXT:     %y = pte.tensor tensor<3xi8> planned <1, 16>
pte.program {
  pte.execution_plan @delegate {
    pte.delegate @other "CoreMLBackend" processed dense_resource<blob> : tensor<1xi8>
    %x = pte.tensor tensor<3xi8>
    %y = pte.tensor tensor<3xi8>
    pte.chain {
      pte.delegate_call @other (%x, %y)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}

// -----

// A tensor in a list is named by what names the list: %a lives until the last instruction.
// CHECK-LABEL:  pte.execution_plan @lists arenas [0, 48] {
// CHECK-NEXT:     %a = pte.tensor tensor<4xf32> planned <1, 0>
// CHECK-NEXT:     %b = pte.tensor tensor<4xf32> planned <1, 16>
// CHECK-NEXT:     %c = pte.tensor tensor<4xf32> planned <1, 32>
pte.program {
  pte.execution_plan @lists {
    %a = pte.tensor tensor<4xf32>
    %b = pte.tensor tensor<4xf32>
    %c = pte.tensor tensor<4xf32>
    %list = pte.tensor_list [%a, %b]
    %maybe = pte.optional_tensor_list (%a) present array<i1: true, false>
    pte.chain {
      pte.kernel_call "my::a.out" (%a, %a)
      pte.kernel_call "my::b.out" (%b, %b)
      pte.kernel_call "my::c.out" (%list, %c, %c)
      pte.kernel_call "my::d.out" (%maybe, %c, %c)
    }
    pte.signature inputs () outputs (%c)
  }
}

// -----

// Constants have their bytes, and a tensor that nothing names needs none.
// CHECK-LABEL:  pte.execution_plan @nothing arenas [0] {
// CHECK-NEXT:     %w = pte.tensor tensor<4xf32> data
// CHECK-NEXT:     %unused = pte.tensor tensor<4xf32>{{$}}
pte.program {
  pte.execution_plan @nothing {
    %w = pte.tensor tensor<4xf32> data dense_resource<w> : tensor<4xf32>
    %unused = pte.tensor tensor<4xf32>
    pte.chain {
    }
    pte.signature inputs () outputs (%w)
  }
}

// -----

// With a jump, the order of the text is not the order in time: nothing is shared.
// CHECK-LABEL:  pte.execution_plan @jump arenas [0, 48] {
pte.program {
  pte.execution_plan @jump {
    %true = pte.bool true
    %a = pte.tensor tensor<4xf32>
    %b = pte.tensor tensor<4xf32>
    %c = pte.tensor tensor<4xf32>
    pte.chain {
      pte.kernel_call "my::a.out" (%a, %a)
      pte.kernel_call "my::b.out" (%b, %b)
      pte.kernel_call "my::c.out" (%c, %c)
      pte.jump_false %true to 0 : !pte.bool
    }
    pte.signature inputs () outputs ()
  }
}

// -----

// What is planned stays as it is.
// CHECK-LABEL:  pte.execution_plan @planned arenas [0, 4096] {
// CHECK-NEXT:     %x = pte.tensor tensor<4xf32> planned <1, 1024>
// CHECK-NEXT:     %y = pte.tensor tensor<4xf32>{{$}}
pte.program {
  pte.execution_plan @planned arenas [0, 4096] {
    %x = pte.tensor tensor<4xf32> planned <1, 1024>
    %y = pte.tensor tensor<4xf32>
    pte.chain {
      pte.kernel_call "my::a.out" (%x, %y, %y)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}

// -----

// expected-error @+1 {{there is no pte.program whose memory could be planned; lower-to-pte makes one}}
builtin.module {
}
