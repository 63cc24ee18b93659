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

// A jump forward leaves out what it leaves out: the branches share memory.
// CHECK-LABEL:  pte.execution_plan @branches arenas [0, 32] {
// CHECK:          %a = pte.tensor tensor<4xf32> planned <1, 0>
// CHECK-NEXT:     %b = pte.tensor tensor<4xf32> planned <1, 0>
// CHECK-NEXT:     %c = pte.tensor tensor<4xf32> planned <1, 16>
pte.program {
  pte.execution_plan @branches {
    %p = pte.bool true
    %false = pte.bool false
    %a = pte.tensor tensor<4xf32>
    %b = pte.tensor tensor<4xf32>
    %c = pte.tensor tensor<4xf32>
    pte.chain {
      pte.jump_false %p to 4 : !pte.bool
      pte.kernel_call "my::a.out" (%a, %a)
      pte.kernel_call "my::b.out" (%a, %c, %c)
      pte.jump_false %false to 6 : !pte.bool
      pte.kernel_call "my::c.out" (%b, %b)
      pte.kernel_call "my::b.out" (%b, %c, %c)
      pte.kernel_call "my::d.out" (%c, %c)
    }
    pte.signature inputs () outputs ()
  }
}

// -----

// In a loop, what is written and read within a step shares memory. What comes from before it, from the step before, or
// is read behind it, lives as long as the loop.
// CHECK-LABEL:  pte.execution_plan @loop arenas [0, 64] {
// CHECK:          %before = pte.tensor tensor<4xf32> planned <1, [[BEFORE:[0-9]+]]>
// CHECK-NEXT:     %once = pte.tensor tensor<4xf32> planned <1, [[ONCE:[0-9]+]]>
// CHECK-NEXT:     %then = pte.tensor tensor<4xf32> planned <1, [[ONCE]]>
// CHECK-NEXT:     %last = pte.tensor tensor<4xf32> planned
// CHECK-NEXT:     %behind = pte.tensor tensor<4xf32> planned
pte.program {
  pte.execution_plan @loop {
    %p = pte.bool true
    %before = pte.tensor tensor<4xf32>
    %once = pte.tensor tensor<4xf32>
    %then = pte.tensor tensor<4xf32>
    %last = pte.tensor tensor<4xf32>
    %behind = pte.tensor tensor<4xf32>
    pte.chain {
      pte.kernel_call "my::a.out" (%before, %before)
      pte.kernel_call "my::b.out" (%before, %once, %once)
      pte.kernel_call "my::b.out" (%last, %once, %once)
      pte.kernel_call "my::b.out" (%before, %then, %then)
      pte.kernel_call "my::b.out" (%then, %last, %last)
      pte.kernel_call "my::b.out" (%last, %behind, %behind)
      pte.jump_false %p to 1 : !pte.bool
      pte.kernel_call "my::c.out" (%behind, %behind)
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
