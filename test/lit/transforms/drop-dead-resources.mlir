// RUN: xir-opt %s --drop-dead-resources --print-resources --allow-unregistered-dialect | filecheck %s
// RUN: xir-opt %s --canonicalize --drop-dead-resources --print-resources --allow-unregistered-dialect | filecheck %s --check-prefix=CLEAN

// CHECK: builtin: {
// CHECK-NEXT: in_a_dictionary:
// CHECK-NEXT: in_an_array:
// CHECK-NEXT: used_by_dead_op:
// CHECK-NEXT: }
// CLEAN: builtin: {
// CLEAN-NEXT: in_a_dictionary:
// CLEAN-NEXT: in_an_array:
// CLEAN-NEXT: }
func.func @f() {
  %0 = edge.constant dense_resource<used_by_dead_op> : tensor<1xi8>
  "test.op"() {a = [dense_resource<in_an_array> : tensor<1xi8>]} : () -> ()
  "test.op"() {a = {b = dense_resource<in_a_dictionary> : tensor<1xi8>}} : () -> ()
  func.return
}

{-#
  dialect_resources: {
    builtin: {
      used_by_dead_op: "0x0100000001",
      in_an_array: "0x0100000002",
      in_a_dictionary: "0x0100000003",
      dead: "0x0100000004"
    }
  }
#-}
