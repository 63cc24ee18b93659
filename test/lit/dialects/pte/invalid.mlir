// RUN: xir-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{segment_alignment must be a power of two, it is 100}}
pte.program attributes {segment_alignment = 100 : i64} {
  pte.named_data "a" dense_resource<a> : tensor<1xi8>
}

// -----

// expected-error @+1 {{'builtin.module' does not belong into a program}}
pte.program {
  builtin.module {
  }
}

// -----

// expected-error @+1 {{named data must have distinct keys}}
pte.program {
  pte.named_data "a" dense_resource<a> : tensor<1xi8>
  pte.named_data "a" dense_resource<b> : tensor<1xi8>
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{'pte.null' op ends a block but is no terminator}}
    %0 = pte.null
  }
}

// -----

pte.program {
  // expected-error @+1 {{the first arena stands for the constants and has the size 0}}
  pte.execution_plan @forward arenas [64] {
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  // expected-error @+1 {{a tensor is planned in arena 2, the plan has 1}}
  pte.execution_plan @forward arenas [0, 64] {
    %0 = pte.tensor tensor<4xf32> planned <2, 0>
    pte.signature inputs (%0) outputs ()
  }
}

// -----

pte.program {
  // expected-error @+1 {{a tensor of 16 bytes at offset 56 reaches beyond arena 1 of 64 bytes}}
  pte.execution_plan @forward arenas [0, 64] {
    %0 = pte.tensor tensor<4xf32> planned <1, 56>
    pte.signature inputs (%0) outputs ()
  }
}

// -----

pte.program {
  // expected-error @+1 {{there is no delegate @graph}}
  pte.execution_plan @forward {
    %0 = pte.tensor tensor<4xf32>
    pte.chain {
      pte.delegate_call @graph (%0)
    }
    pte.signature inputs (%0) outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    %0 = pte.tensor tensor<4xf32>
    // expected-error @+1 {{'pte.null' is not an instruction}}
    pte.chain {
      %1 = pte.null
    }
    pte.signature inputs (%0) outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    %0 = pte.bool true
    // expected-error @+1 {{a jump to instruction 2 leaves the chain, which has 1}}
    pte.chain {
      pte.jump_false %0 to 2 : !pte.bool
    }
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    %0 = pte.bool true
    pte.chain {
      // expected-error @+1 {{there is no instruction number -1}}
      pte.jump_false %0 to -1 : !pte.bool
    }
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    pte.chain {
      // expected-error @+1 {{%0 is used before it is declared}}
      pte.kernel_call "aten::abs.out" (%0)
    }
    %0 = pte.tensor tensor<4xf32>
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{a program cannot hold elements of type i24}}
    %0 = pte.tensor tensor<4xi24>
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{unknown element type 'QInt9', expected one of QInt8,}}
    %0 = pte.tensor tensor<4x!pte.scalar<QInt9>>
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{the shape must be static; a dynamic one is given by its upper bound}}
    %0 = pte.tensor tensor<?xf32>
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{the runtime takes tensors of rank 16 at most, this one has rank 17}}
    %0 = pte.tensor tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{dim_order [0, 0] is not a permutation of the 2 dimensions}}
    %0 = pte.tensor tensor<2x3xf32> {dim_order = array<i64: 0, 0>}
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{data must have the shape of memory, 3x2}}
    %0 = pte.tensor tensor<2x3xf32> data dense_resource<w> : tensor<2x3xf32> {dim_order = array<i64: 1, 0>}
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{data and tensor must have one element type}}
    %0 = pte.tensor tensor<2xf32> data dense_resource<w> : tensor<2xi32>
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{memory ids count from 1, found 0}}
    %0 = pte.tensor tensor<2xf32> planned <0, 16>
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{the offset -16 is not an unsigned 64-bit number}}
    %0 = pte.tensor tensor<2xf32> planned <1, -16>
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    %0 = pte.tensor tensor<2xf32>
    // expected-error @+1 {{2 elements are present, 1 are given}}
    %1 = pte.optional_tensor_list (%0) present array<i1: true, true>
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    %0 = pte.tensor tensor<2xf32>
    // expected-error @+1 {{Expected attribute !pte.int but got !pte.tensor}}
    %1 = "pte.int_list"(%0) : (!pte.tensor) -> !pte.int_list
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{a delegate has either a region or processed bytes}}
    pte.delegate @empty "XnnpackBackend"
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{a delegate's region holds one backend's graph, then pte.yield}}
    pte.delegate @graph "XnnpackBackend" {
    ^bb0(%0: tensor<4xf32>):
      pte.yield %0 : tensor<4xf32>
    }
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{the graph must take the block's arguments in order}}
    pte.delegate @graph "XnnpackBackend" {
    ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
      %2 = xnnpack.subgraph(%1, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%3: tensor<4xf32>, %4: tensor<4xf32>):
        %5 = xnnpack.binary add %3, %4 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
        xnnpack.yield %5 : tensor<4xf32>
      }
      pte.yield %2 : tensor<4xf32>
    }
    pte.signature inputs () outputs ()
  }
}

// -----

pte.program {
  pte.execution_plan @forward {
    // expected-error @+1 {{the graph's results must be yielded in order}}
    pte.delegate @graph "XnnpackBackend" {
    ^bb0(%0: tensor<4xf32>):
      %1, %2 = xnnpack.subgraph(%0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      ^bb0(%3: tensor<4xf32>):
        %4 = xnnpack.unary abs %3 : tensor<4xf32> -> tensor<4xf32>
        %5 = xnnpack.unary exp %3 : tensor<4xf32> -> tensor<4xf32>
        xnnpack.yield %4, %5 : tensor<4xf32>, tensor<4xf32>
      }
      pte.yield %2, %1 : tensor<4xf32>, tensor<4xf32>
    }
    pte.signature inputs () outputs ()
  }
}

// -----

// expected-error @+1 {{'pte.program' op is a symbol table, whose region must have exactly one block}}
pte.program {
  pte.execution_plan @forward {
    pte.signature inputs () outputs ()
  }
^bb1:
}

// -----

pte.program {
  // expected-error @+1 {{argument out of range}}
  pte.execution_plan @forward arenas [18446744073709551616, 64] {
    pte.signature inputs () outputs ()
  }
}
