// RUN: xir-opt %s --allow-unregistered-dialect --mlir-print-debuginfo | filecheck %s
// RUN: xir-opt %s --allow-unregistered-dialect --mlir-print-debuginfo | xir-opt --allow-unregistered-dialect --mlir-print-debuginfo | filecheck %s
// RUN: xir-opt %s --allow-unregistered-dialect | filecheck %s --check-prefix=PLAIN

#model = loc("model.py":41:0)

// PLAIN-NOT: loc(
// CHECK: func.func @f(%a: i32 loc("{{.*}}locations.mlir":9:14)) -> i32
func.func @f(%a: i32) -> i32 {
  // CHECK: "test.own"(%a) : (i32) -> i32 loc("{{.*}}locations.mlir":11:8)
  %0 = "test.own"(%a) : (i32) -> i32
  // CHECK: "test.named"() : () -> () loc("conv1"("model.py":41:0))
  "test.named"() : () -> () loc("conv1"(#model))
  // CHECK: "test.later"() : () -> () loc(fused<"why">["model.py":41:0, unknown])
  "test.later"() : () -> () loc(#later)
  // CHECK: "test.call"() : () -> () loc(callsite("callee" at "caller.py":1:2))
  "test.call"() : () -> () loc(callsite("callee" at "caller.py":1:2))
  // CHECK: "test.region"() ({
  // CHECK-NEXT: ^bb0(%arg: i32 loc("arg")):
  "test.region"() ({
  ^bb0(%arg: i32 loc("arg")):
    // CHECK-NEXT: "test.inside"() : () -> () loc(unknown)
    "test.inside"() : () -> () loc(unknown)
  }) : () -> ()
  // CHECK: func.return %{{.*}} : i32 loc("{{.*}}locations.mlir":26:3)
  func.return %0 : i32
}

#later = loc(fused<"why">[#model, unknown])
