// RUN: xir-opt %s --raise-from-pte --split-input-file --verify-diagnostics | filecheck %s

// Kernels become ops, and a delegate its graph.
// CHECK-LABEL: func.func @forward(%{{.*}}: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-SAME:    xir.in_spec = "T2#1#0(T1#1($),D0())"
// CHECK: %[[ABS:.*]] = edge.abs(%[[X:.*]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[NEG:.*]] = xnnpack.subgraph(%[[ABS]]) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK: %[[SUM:.*]] = edge.add.Tensor(%[[NEG]], %[[X]]) {alpha = 2 : i64}
// CHECK-NEXT: func.return %[[SUM]], %[[NEG]]
pte.program {
  pte.execution_plan @forward arenas [0, 64] attributes {encoded_inp_str = "T2#1#0(T1#1($),D0())"} {
    pte.delegate @forward_0 "XnnpackBackend" {
    ^bb0(%a: tensor<4xf32>):
      %b = xnnpack.subgraph(%a) : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb1(%c: tensor<4xf32>):
        %d = xnnpack.unary negate %c {debug_handle = 3 : i32} : tensor<4xf32> -> tensor<4xf32>
        xnnpack.yield %d : tensor<4xf32>
      }
      pte.yield %b : tensor<4xf32>
    }
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %0 = pte.tensor tensor<4xf32> planned <1, 16>
    %1 = pte.tensor tensor<4xf32> planned <1, 32>
    %two = pte.int 2
    %2 = pte.tensor tensor<4xf32> planned <1, 16>
    pte.chain {
      pte.kernel_call "aten::abs.out" (%x, %0, %0)
      pte.delegate_call @forward_0 (%0, %1)
      pte.kernel_call "aten::add.out" (%1, %x, %two, %2, %2)
    }
    pte.signature inputs (%x) outputs (%2, %1)
  }
}

// -----

// The same bytes under another name are a view, which no instruction makes.
// CHECK-LABEL: func.func @view
// CHECK: %[[ABS:.*]] = edge.abs
// CHECK-NEXT: %[[VIEW:.*]] = edge.view(%[[ABS]]) {size = array<i64: 2, 2>}
// CHECK-NEXT: edge.neg(%[[VIEW]]) : (tensor<2x2xf32>) -> tensor<2x2xf32>
pte.program {
  pte.execution_plan @view arenas [0, 64] {
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %0 = pte.tensor tensor<4xf32> planned <1, 16>
    %1 = pte.tensor tensor<2x2xf32> planned <1, 16>
    %2 = pte.tensor tensor<2x2xf32> planned <1, 32>
    pte.chain {
      pte.kernel_call "aten::abs.out" (%x, %0, %0)
      pte.kernel_call "aten::neg.out" (%1, %2, %2)
    }
    pte.signature inputs (%x) outputs (%2)
  }
}

// -----

// A buffer with a name, and one that is read before anything is written to it.
// CHECK-LABEL: func.func @state
// CHECK: %[[NAMED:.*]] = edge.mutable_buffer "count" dense<1.000000e+00> : tensor<4xf32>
// CHECK: %[[UNNAMED:.*]] = edge.mutable_buffer "state_buffer_2_16" dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[SUM:.*]] = edge.add.Tensor(%[[NAMED]], %[[UNNAMED]])
// CHECK-NEXT: edge.update_buffer %[[NAMED]], %[[SUM]]
// CHECK-NEXT: edge.update_buffer %[[UNNAMED]], %[[SUM]]
pte.program {
  pte.execution_plan @state arenas [0, 64, 64] {
    %count = pte.tensor tensor<4xf32> planned <2, 0> data dense<1.0> : tensor<4xf32> {extra_tensor_info = #pte.extra_tensor_info<"count", 0, 0, 0, 0>}
    %last = pte.tensor tensor<4xf32> planned <2, 16>
    %one = pte.int 1
    %no = pte.bool false
    %sum = pte.tensor tensor<4xf32> planned <1, 0>
    pte.chain {
      pte.kernel_call "aten::add.out" (%count, %last, %one, %sum, %sum)
      pte.kernel_call "aten::copy_" (%count, %sum, %no, %count)
      pte.kernel_call "aten::copy_" (%last, %sum, %no, %last)
    }
    pte.signature inputs () outputs (%sum)
  }
}

// -----

// A kernel without an op is called as before.
// CHECK-LABEL: func.func @opaque
// CHECK: edge.opaque "aten::fmax(Tensor a0, Tensor a1) -> Tensor" -> "aten::fmax.out"
pte.program {
  pte.execution_plan @opaque arenas [0, 64] {
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %0 = pte.tensor tensor<4xf32> planned <1, 16>
    pte.chain {
      pte.kernel_call "aten::fmax.out" (%x, %x, %0, %0)
    }
    pte.signature inputs (%x) outputs (%0)
  }
}

// -----

// An image in channels-last memory: a function's argument is what memory has.
// CHECK-LABEL: func.func @channels_last(%{{.*}}: tensor<1x2x2x3xf32> {xir.dim_order = array<i64: 0, 2, 3, 1>}) -> tensor<1x3x2x2xf32>
// CHECK: %[[SEEN:.*]] = edge.permute(%{{.*}}) {dims = array<i64: 0, 3, 1, 2>}
// CHECK-NEXT: func.return %[[SEEN]]
pte.program {
  pte.execution_plan @channels_last arenas [0, 112] {
    %x = pte.tensor tensor<1x3x2x2xf32> planned <1, 0> {dim_order = array<i64: 0, 2, 3, 1>}
    %no = pte.bool false
    %dims = pte.null
    %0 = pte.tensor tensor<1x3x2x2xf32> planned <1, 48>
    pte.chain {
      pte.kernel_call "dim_order_ops::_to_dim_order_copy.out" (%x, %no, %dims, %0, %0)
    }
    pte.signature inputs (%x) outputs (%0)
  }
}

// -----

// The same of an output: a function's result is what memory has.
// CHECK-LABEL: func.func @channels_last_out(%{{.*}}: tensor<1x3x2x2xf32>) -> (tensor<1x2x2x3xf32> {xir.dim_order = array<i64: 0, 2, 3, 1>}, tensor<1x3x2x2xf32>)
// CHECK: %[[MEMORY:.*]] = edge.permute(%[[X:.*]]) {dims = array<i64: 0, 2, 3, 1>}
// CHECK-NEXT: func.return %[[MEMORY]], %[[X]]
pte.program {
  pte.execution_plan @channels_last_out arenas [0, 160] {
    %x = pte.tensor tensor<1x3x2x2xf32> planned <1, 0>
    %no = pte.bool false
    %dims = pte.null
    %0 = pte.tensor tensor<1x3x2x2xf32> planned <1, 48> {dim_order = array<i64: 0, 2, 3, 1>}
    %1 = pte.tensor tensor<1x3x2x2xf32> planned <1, 96>
    pte.chain {
      pte.kernel_call "dim_order_ops::_to_dim_order_copy.out" (%x, %no, %dims, %0, %0)
      pte.kernel_call "dim_order_ops::_to_dim_order_copy.out" (%0, %no, %dims, %1, %1)
    }
    pte.signature inputs (%x) outputs (%0, %1)
  }
}

// -----

// A method that answers what the file has, and one that jumps, keep their places.
// CHECK-LABEL: pte.program
// CHECK: pte.execution_plan @length
// CHECK: func.func @work
// CHECK: pte.program
// CHECK: pte.execution_plan @jumps
pte.program {
  pte.execution_plan @length arenas [0] {
    %0 = pte.int 7
    pte.chain {
    }
    pte.signature inputs () outputs (%0)
  }
  pte.execution_plan @work arenas [0, 64] {
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %0 = pte.tensor tensor<4xf32> planned <1, 16>
    pte.chain {
      pte.kernel_call "aten::abs.out" (%x, %0, %0)
    }
    pte.signature inputs (%x) outputs (%0)
  }
  pte.execution_plan @jumps arenas [0, 64] {
    %x = pte.tensor tensor<i1> planned <1, 0>
    pte.chain {
      // expected-remark@+1 {{raise-from-pte: method jumps stays as it is: it branches or loops}}
      pte.jump_false %x to 1 : !pte.tensor
    }
    pte.signature inputs (%x) outputs (%x)
  }
}

// -----

pte.program {
  pte.execution_plan @overwritten arenas [0, 64] {
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %0 = pte.tensor tensor<4xf32> planned <1, 16>
    %1 = pte.tensor tensor<4xf32> planned <1, 24>
    %2 = pte.tensor tensor<4xf32> planned <1, 40>
    pte.chain {
      pte.kernel_call "aten::abs.out" (%x, %0, %0)
      pte.kernel_call "aten::abs.out" (%x, %1, %1)
      // expected-remark@+1 {{method overwritten stays as it is: it reads memory that another tensor has overwritten in part}}
      pte.kernel_call "aten::neg.out" (%0, %2, %2)
    }
    pte.signature inputs (%x) outputs (%2)
  }
}

// -----

pte.program {
  pte.execution_plan @open arenas [0, 64] {
    // expected-remark@-1 {{method open stays as it is: the sizes of a tensor are open, and have no bounds}}
    %x = pte.tensor tensor<4xf32> planned <1, 0> {shape_dynamism = 2 : i32}
    pte.chain {
    }
    pte.signature inputs (%x) outputs (%x)
  }
}

// -----

pte.program {
  pte.execution_plan @cache arenas [0, 64] {
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %0 = pte.tensor tensor<4xf32> planned <1, 16>
    pte.chain {
      // expected-remark@+1 {{method cache stays as it is: own::update_cache.out may change what it is given, and is no op of the edge dialect}}
      pte.kernel_call "own::update_cache.out" (%x, %x, %0, %0)
    }
    pte.signature inputs (%x) outputs (%0)
  }
}

// -----

pte.program {
  pte.execution_plan @input arenas [0, 64] {
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %0 = pte.tensor tensor<4xf32> planned <1, 16>
    %no = pte.bool false
    pte.chain {
      pte.kernel_call "aten::abs.out" (%x, %0, %0)
      // expected-remark@+1 {{method input stays as it is: it changes an input}}
      pte.kernel_call "aten::copy_" (%x, %0, %no, %x)
    }
    pte.signature inputs (%x) outputs (%0)
  }
}

// -----

pte.program {
  pte.execution_plan @constant arenas [0, 64] {
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %c = pte.tensor tensor<4xf32> data dense<1.0> : tensor<4xf32>
    pte.chain {
      // expected-remark@+1 {{method constant stays as it is: it changes a constant}}
      pte.kernel_call "aten::abs.out" (%x, %c, %c)
    }
    pte.signature inputs (%x) outputs (%c)
  }
}

// -----

// Memory without a name that two methods have: ExecuTorch may give both the same.
pte.program {
  pte.execution_plan @one arenas [0, 64, 16] {
    %last = pte.tensor tensor<4xf32> planned <2, 0>
    %0 = pte.tensor tensor<4xf32> planned <1, 0>
    pte.chain {
      // expected-remark@+1 {{method one stays as it is: it keeps a tensor without a name in memory that methods may share}}
      pte.kernel_call "aten::abs.out" (%last, %0, %0)
    }
    pte.signature inputs () outputs (%0)
  }
  pte.execution_plan @two arenas [0, 64, 16] {
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %last = pte.tensor tensor<4xf32> planned <2, 0>
    %no = pte.bool false
    pte.chain {
      pte.kernel_call "aten::copy_" (%last, %x, %no, %last)
    }
    pte.signature inputs (%x) outputs (%x)
  }
}

// -----

// ExecuTorch's batch norm of one sample without running statistics, an instance norm, is a group norm.
// CHECK-LABEL: func.func @instance_norm(
// CHECK:         edge.native_group_norm(%{{.*}}, none, none) {C = 3 : i64, HxW = 20 : i64, N = 1 : i64, eps = 1.000000e-05 : f64, group = 3 : i64}
pte.program {
  pte.execution_plan @instance_norm arenas [0, 1024] {
    %x = pte.tensor tensor<1x3x4x5xf32> planned <1, 0>
    %y = pte.tensor tensor<1x3x4x5xf32> planned <1, 240>
    %mean = pte.tensor tensor<3xf32> planned <1, 480>
    %rstd = pte.tensor tensor<3xf32> planned <1, 496>
    %none = pte.null
    %yes = pte.bool true
    %momentum = pte.double 1.000000e-01
    %eps = pte.double 1.000000e-05
    pte.chain {
      pte.kernel_call "aten::_native_batch_norm_legit.no_stats_out" (%x, %none, %none, %yes, %momentum, %eps, %y, %mean, %rstd)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}

// -----

// Of several samples it is none.
pte.program {
  pte.execution_plan @batch_norm arenas [0, 2048] {
    %x = pte.tensor tensor<2x3x4x5xf32> planned <1, 0>
    %y = pte.tensor tensor<2x3x4x5xf32> planned <1, 480>
    %mean = pte.tensor tensor<3xf32> planned <1, 960>
    %rstd = pte.tensor tensor<3xf32> planned <1, 976>
    %none = pte.null
    %yes = pte.bool true
    %momentum = pte.double 1.000000e-01
    %eps = pte.double 1.000000e-05
    pte.chain {
      // expected-remark@+1 {{method batch_norm stays as it is: aten::_native_batch_norm_legit.no_stats_out may change what it is given, and is no op of the edge dialect}}
      pte.kernel_call "aten::_native_batch_norm_legit.no_stats_out" (%x, %none, %none, %yes, %momentum, %eps, %y, %mean, %rstd)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}

// -----

// What a plan returns in any case is the element of a constant, also of a number that callers give.
// CHECK-LABEL: func.func @numbers(
// CHECK-SAME:    -> (i64, i1, f64, i64)
// CHECK:         %[[A:.*]] = edge.constant dense<7> : tensor<i64>
// CHECK-NEXT:    %[[I:.*]] = edge._local_scalar_dense(%[[A]]) : (tensor<i64>) -> i64
// CHECK:         %[[T:.*]] = edge._local_scalar_dense(%{{.*}}) : (tensor<i1>) -> i1
// CHECK:         %[[F:.*]] = edge._local_scalar_dense(%{{.*}}) : (tensor<f64>) -> f64
// CHECK:         func.return %[[I]], %[[T]], %[[F]], %{{.*}}
pte.program {
  pte.execution_plan @numbers arenas [0, 64] {
    %x = pte.tensor tensor<4xf32> planned <1, 0>
    %given = pte.int 3
    %seven = pte.int 7
    %yes = pte.bool true
    %half = pte.double 5.000000e-01
    pte.chain {
    }
    pte.signature inputs (%x, %given) outputs (%seven, %yes, %half, %given)
  }
}

// -----

// ExecuTorch copies into the orders that tensors have, and into channels last.
pte.program {
  pte.execution_plan @columns arenas [0, 64] {
    %x = pte.tensor tensor<2x3xf32> planned <1, 0>
    // expected-remark@+1 {{method columns stays as it is: no kernel copies an output into the order [1, 0]}}
    %y = pte.tensor tensor<2x3xf32> planned <1, 32> {dim_order = array<i64: 1, 0>}
    pte.chain {
      pte.kernel_call "aten::abs.out" (%x, %y, %y)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}
