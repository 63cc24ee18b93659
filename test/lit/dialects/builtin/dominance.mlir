// What dominance allows.
// RUN: xir-opt %s --allow-unregistered-dialect | filecheck %s

// CHECK-LABEL: func.func @diamond
func.func @diamond(%x: i32) -> i32 {
  %y = "test.op"(%x) : (i32) -> i32
  "test.br"() [^a, ^b] : () -> ()
^a:
  %z = "test.op"(%y) : (i32) -> i32
  "test.br"() [^join] : () -> ()
^b:
  "test.br"() [^join] : () -> ()
^join:
  // CHECK: func.return %y
  func.return %y : i32
}

// The blocks need not be in the order of dominance, and a loop comes back.
// CHECK-LABEL: func.func @out_of_order
func.func @out_of_order(%x: i32) -> i32 {
  "test.br"() [^first] : () -> ()
^second:
  %use = "test.op"(%def) : (i32) -> i32
  "test.br"() [^first, ^end] : () -> ()
^first:
  %def = "test.op"(%x) : (i32) -> i32
  "test.br"() [^second] : () -> ()
^end:
  // CHECK: func.return %use
  func.return %use : i32
}

// Nothing reaches the last block, so nothing in it can go wrong.
// CHECK-LABEL: func.func @unreachable
func.func @unreachable(%x: i32) -> i32 {
  func.return %x : i32
^nowhere:
  %a = "test.op"(%b) : (i32) -> i32
  %b = "test.op"(%a) : (i32) -> i32
  func.return %b : i32
}

// CHECK-LABEL: func.func @nested
func.func @nested(%x: i32) -> i32 {
  "test.region"() ({
    // CHECK: "test.op"(%x)
    %y = "test.op"(%x) : (i32) -> i32
  }) : () -> ()
  func.return %x : i32
}
