// RUN: xir-opt %s --raise-from-pte --split-input-file --verify-diagnostics | filecheck %s

// Of sizes with bounds, those that nothing fixes are open, and the others follow from them.
// CHECK-LABEL: func.func @rows(%{{.*}}: tensor<?x4xf32> {xir.dim_names = ["s0_0", ""], xir.max_shape = array<i64: 9, 4>}) -> tensor<?x2x3xf32>
// CHECK: %[[ROWS:.*]] = edge.sym_size.int
// CHECK: xnnpack.fully_connected {{.*}} : (tensor<?x4xf32>, tensor<6x4xf32>) -> tensor<?x6xf32>
// CHECK: edge.view(%{{.*}})[%[[ROWS]]] {{.*}} : (tensor<?x6xf32>, i64) -> tensor<?x2x3xf32>
pte.program {
  pte.execution_plan @rows arenas [0, 1024] {
    pte.delegate @rows_0 "XnnpackBackend" {
    ^bb0(%0: tensor<9x4xf32>):
      %1 = xnnpack.subgraph(%0) : (tensor<9x4xf32>) -> tensor<9x6xf32> {
      ^bb0(%2: tensor<9x4xf32>):
        %3 = xnnpack.constant dense<1.0> : tensor<6x4xf32>
        %4 = xnnpack.fully_connected %2, %3 : (tensor<9x4xf32>, tensor<6x4xf32>) -> tensor<9x6xf32>
        xnnpack.yield %4 : tensor<9x6xf32>
      }
      pte.yield %1 : tensor<9x6xf32>
    }
    %x = pte.tensor tensor<9x4xf32> planned <1, 0> {shape_dynamism = 1 : i32}
    %y = pte.tensor tensor<9x6xf32> planned <1, 256> {shape_dynamism = 1 : i32}
    %z = pte.tensor tensor<9x2x3xf32> planned <1, 512> {shape_dynamism = 1 : i32}
    %zero = pte.int 0
    %rows = pte.int 0
    %two = pte.int 2
    %rest = pte.int -1
    %sizes = pte.int_list [%rows, %two, %rest]
    pte.chain {
      pte.kernel_call "aten::sym_size.int" (%x, %zero, %rows)
      pte.delegate_call @rows_0 (%x, %y)
      pte.kernel_call "executorch_prim::et_view.default" (%y, %sizes, %z)
    }
    pte.signature inputs (%x) outputs (%z)
  }
}

// -----

// A kernel that writes to a cache gives what the cache holds afterwards; attention has the sizes of its queries, and a
// slice from a position on the bounds that the file has.
// CHECK-LABEL: func.func @decode
// CHECK: %[[AT:.*]] = edge._local_scalar_dense
// CHECK: edge.slice.Tensor{{.*}} xir.max_shapes = [array<i64: 8>]{{.*}} -> tensor<?xf32>
// CHECK: %[[CACHE:.*]] = edge.mutable_buffer "decode_buffer_1_1024"
// CHECK: %[[NEW:.*]], %{{.*}} = edge.opaque "llama::update_cache(Tensor a0, Tensor(a!) a1, SymInt a2) -> (Tensor(a!), Tensor)" -> "llama::update_cache.out" (%{{.*}}, %[[CACHE]])[%[[AT]]]
// CHECK: edge.opaque "llama::custom_sdpa({{.*}} -> "llama::custom_sdpa.out" (%{{.*}}, %[[NEW]], %[[NEW]])[%[[AT]]] {{.*}}xir.dim_names = {{\[\[}}"", "s0_1", "s0_2", "s0_3"]]{{.*}} -> tensor<1x?x?x?xf32>
// CHECK: edge.update_buffer %[[CACHE]], %[[NEW]]
pte.program {
  pte.execution_plan @decode arenas [0, 4096] {
    %x = pte.tensor tensor<1x8x2x4xf32> planned <1, 0> {shape_dynamism = 1 : i32}
    %position = pte.tensor tensor<1xi64> planned <1, 512>
    %k = pte.tensor tensor<1x16x2x4xf32> planned <1, 1024>
    %none = pte.tensor tensor<1xf32> planned <1, 528>
    %y = pte.tensor tensor<1x8x2x4xf32> planned <1, 2048> {shape_dynamism = 1 : i32}
    %table = pte.tensor tensor<16xf32> data dense<1.0> : tensor<16xf32>
    %angles = pte.tensor tensor<8xf32> planned <1, 3072> {shape_dynamism = 1 : i32}
    %at = pte.int 0
    %dim = pte.int 1
    %first = pte.int 0
    %one = pte.int 1
    %count = pte.int 0
    %end = pte.int 0
    %mask = pte.null
    %drop = pte.double 0.0
    %causal = pte.bool true
    %scale = pte.null
    pte.chain {
      pte.kernel_call "aten::_local_scalar_dense" (%position, %at)
      pte.kernel_call "aten::sym_size.int" (%x, %dim, %count)
      pte.kernel_call "executorch_prim::add.Scalar" (%at, %count, %end)
      pte.kernel_call "aten::slice_copy.Tensor_out" (%table, %first, %at, %end, %one, %angles, %angles)
      pte.kernel_call "llama::update_cache.out" (%x, %k, %at, %none, %none)
      pte.kernel_call "llama::custom_sdpa.out" (%x, %k, %k, %at, %mask, %drop, %causal, %scale, %y, %y)
    }
    pte.signature inputs (%x, %position) outputs (%y, %angles)
  }
}

// -----

// A tensor that no instruction has given its sizes is as large as it gets.
pte.program {
  pte.execution_plan @renamed arenas [0, 64] {
    %x = pte.tensor tensor<4xf32> planned <1, 0> {shape_dynamism = 1 : i32}
    %y = pte.tensor tensor<2x2xf32> planned <1, 0> {shape_dynamism = 1 : i32}
    %z = pte.tensor tensor<2x2xf32> planned <1, 16> {shape_dynamism = 1 : i32}
    pte.chain {
      // expected-remark@+1 {{method renamed stays as it is: it reads memory under another name, whose sizes are open}}
      pte.kernel_call "aten::abs.out" (%y, %z, %z)
    }
    pte.signature inputs (%x) outputs (%z)
  }
}

// -----

pte.program {
  pte.execution_plan @kept arenas [0, 64] {
    // expected-remark@+1 {{method kept stays as it is: the sizes of a mutable buffer are open}}
    %x = pte.tensor tensor<4xf32> planned <1, 0> {shape_dynamism = 1 : i32, extra_tensor_info = #pte.extra_tensor_info<"k", 0, 0, 0, 0>}
    %y = pte.tensor tensor<4xf32> planned <1, 16> {shape_dynamism = 1 : i32}
    pte.chain {
      pte.kernel_call "aten::abs.out" (%x, %y, %y)
    }
    pte.signature inputs () outputs (%y)
  }
}

// -----

// What is larger than the file has memory for.
pte.program {
  pte.execution_plan @larger arenas [0, 256] {
    %x = pte.tensor tensor<4x3xf32> planned <1, 0> {shape_dynamism = 1 : i32}
    %y = pte.tensor tensor<2x3xf32> planned <1, 64> {shape_dynamism = 1 : i32}
    %constant = pte.tensor tensor<4x3xf32> data dense<1.0> : tensor<4x3xf32>
    %alpha = pte.int 1
    pte.chain {
      // expected-remark@+1 {{method larger stays as it is: it computes sizes [4, 3] where the file has at most [2, 3]}}
      pte.kernel_call "aten::add.out" (%x, %constant, %alpha, %y, %y)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}

// -----

pte.program {
  pte.execution_plan @unfit arenas [0, 256] {
    %x = pte.tensor tensor<4x3xf32> planned <1, 0> {shape_dynamism = 1 : i32}
    %y = pte.tensor tensor<4x3xf32> planned <1, 64> {shape_dynamism = 1 : i32}
    %a = pte.tensor tensor<4x3xf32> data dense<1.0> : tensor<4x3xf32>
    %b = pte.tensor tensor<4x2xf32> data dense<1.0> : tensor<4x2xf32>
    %alpha = pte.int 1
    pte.chain {
      // expected-remark@+1 {{method unfit stays as it is: its sizes do not fit together: shapes 4x3 and 4x2 do not broadcast}}
      pte.kernel_call "aten::add.out" (%a, %b, %alpha, %y, %y)
    }
    pte.signature inputs (%x) outputs (%y)
  }
}
